package plain_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/channel/channeltest"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "s3cret-of-the-account"

// onSimulator returns a subject on the simulator; listed makes the contract recover by list.
func onSimulator(profile string, listed bool) func(*testing.T) channeltest.Subject {
	return func(t *testing.T) channeltest.Subject {
		t.Helper()
		contract, ok := plain.Kind.Contract(profile)
		if !ok {
			t.Fatalf("no profile %s", profile)
		}
		if listed {
			contract.List = contract.Query
		}
		var later atomic.Int64
		sim, err := simulator.New(simulator.Config{
			Dir:      t.TempDir(),
			Accounts: map[string]simulator.Account{"shop": {Profile: simulator.Profile(profile), Secret: secret}},
			Clock:    func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sim.Close() })
		var rewrite atomic.Pointer[func([]byte) []byte]
		server := httptest.NewServer(held(t, rewritten(sim.Handler(), &rewrite)))
		t.Cleanup(server.Close)
		return channeltest.Subject{
			Client: newClient(t, server.URL, contract.Codes), Contract: contract, Account: "shop", Secret: secret,
			Async: profile == plain.NoticeOnly,
			Faults: func(t *testing.T, spec string) {
				t.Helper()
				if err := sim.SetFaults(spec); err != nil {
					t.Fatal(err)
				}
			},
			Effects: func(t *testing.T, number string) []channeltest.Effect {
				t.Helper()
				return effects(t, sim, number)
			},
			Later: func() { later.Add(int64(time.Hour)) },
			Rewrite: func(change func([]byte) []byte) {
				rewrite.Store(&change)
			},
			Reads: []string{"number", "refundId", "channelRefundId", "account", "paymentReference", "status", "amount", "currency", "id", "complete",
				"refunds", "next", "code"},
			NoticeBody: []byte(noticeBody),
			SignNotice: func(body []byte) map[string][]string {
				stamp := strconv.FormatInt(time.Now().Unix(), 10)
				return noticeHeader(stamp, signature(noticeNow, stamp, string(body)))
			},
		}
	}
}

// rewritten changes the bodies of answers while a change is set.
func rewritten(next http.Handler, change *atomic.Pointer[func([]byte) []byte]) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		do := change.Load()
		if do == nil || *do == nil {
			next.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = w.Write((*do)(rec.Body.Bytes()))
	})
}

func effects(t *testing.T, sim *simulator.Simulator, number string) []channeltest.Effect {
	t.Helper()
	w := httptest.NewRecorder()
	sim.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/effects?number="+number, http.NoBody))
	var found []channeltest.Effect
	if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func newClient(t *testing.T, endpoint string, codes refund.CodeTerms) *plain.Client {
	t.Helper()
	tr := channel.NewTransport(channel.TransportConfig{ReadTimeout: 10 * time.Second})
	t.Cleanup(tr.CloseIdleConnections)
	c, err := plain.New(plain.Config{Endpoint: endpoint, Secret: secret, NoticeSecrets: []string{noticeNow}, Codes: codes, HTTP: tr.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, profile := range plain.Kind.Profiles() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			channeltest.Run(t, onSimulator(profile, false))
		})
	}
	t.Run("keyed-queryable with list", func(t *testing.T) {
		t.Parallel()
		channeltest.Run(t, onSimulator(plain.KeyedQueryable, true))
	})
}

// TestProfilesAreTheSimulators compares the names of the profiles with those of the simulator.
func TestProfilesAreTheSimulators(t *testing.T) {
	t.Parallel()
	var theirs []string
	for _, p := range simulator.Profiles() {
		theirs = append(theirs, string(p))
	}
	if !slices.Equal(theirs, plain.Kind.Profiles()) {
		t.Errorf("there are contracts for %v, the simulator has %v", plain.Kind.Profiles(), theirs)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c := newClient(t, server.URL, refund.CodeTerms{})
	if a := c.Refund(attempt(t), ours); a.Kind != refund.NotSent {
		t.Errorf("send: %+v, want not sent", a)
	}
	if a := c.Query(attempt(t), ours); a.Kind != refund.NotSent {
		t.Errorf("query: %+v, want not sent", a)
	}
	if _, complete, a := c.List(attempt(t), ours); a.Kind != refund.NotSent || complete {
		t.Errorf("list: %+v, want not sent", a)
	}
}

// TestOddReferencesReachTheChannel uses payment references with any visible characters.
func TestOddReferencesReachTheChannel(t *testing.T) {
	t.Parallel()
	s := onSimulator(plain.KeyedQueryable, true)(t)
	for i, reference := range []string{"a/b", "a?b=c&d", "a%2Fb", "a#b", "demo:pay_77", "+~@=", strings.Repeat("r", 255)} {
		call := ours
		call.Account, call.PaymentReference, call.Number = "shop", reference, string(rune('a'+i))
		if a := s.Client.Refund(attempt(t), call); a.Kind != refund.Succeeded {
			t.Errorf("%s: %+v", reference, a)
		}
		if lines, complete, a := s.Client.List(attempt(t), call); len(lines) != 1 || !complete || a.Kind != refund.Succeeded {
			t.Errorf("%s: %d lines, %+v", reference, len(lines), a)
		}
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	client := channel.NewTransport(channel.TransportConfig{}).Client()
	for _, endpoint := range []string{"", "127.0.0.1:80", "ftp://a", "http://", "http://u:p4ss@a", "http://a?b=c", "http://a#b", "://"} {
		if _, err := plain.New(plain.Config{Endpoint: endpoint, HTTP: client}); err == nil || strings.Contains(err.Error(), "p4ss") {
			t.Errorf("endpoint %q: %v, want a refusal that does not repeat it", endpoint, err)
		}
	}
	if _, err := plain.New(plain.Config{Endpoint: "http://a"}); err == nil {
		t.Error("a client without the transport was accepted")
	}
}

// TestClientSendsOneRequestPerCall makes two refunds on one connection, of which the second gets no answer. C28.
func TestClientSendsOneRequestPerCall(t *testing.T) {
	t.Parallel()
	s := onSimulator(plain.Blind, false)(t)
	warm, cold := ours, ours
	warm.Account, cold.Account, cold.Number = "shop", "shop", "n2"
	if a := s.Client.Refund(attempt(t), warm); a.Kind != refund.Succeeded {
		t.Fatalf("%+v", a)
	}
	s.Faults(t, "lost-after=1")
	if a := s.Client.Refund(attempt(t), cold); a.Kind != refund.Unknown {
		t.Errorf("%+v, want unknown", a)
	}
	if e := s.Effects(t, "n2"); len(e) != 1 {
		t.Errorf("%d effects, want 1: the request went out more than once", len(e))
	}
}

func TestManyCallsShareTheTransport(t *testing.T) {
	t.Parallel()
	s := onSimulator(plain.KeyedQueryable, false)(t)
	s.Faults(t, "lost-after=0.2,error-before=0.2,seed=3")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				call := ours
				call.Account, call.Number = "shop", string(rune('a'+i))+string(rune('a'+j))
				if a := s.Client.Refund(attempt(t), call); a.Kind != refund.Succeeded && a.Kind != refund.Unknown {
					t.Errorf("%+v", a)
				}
			}
		})
	}
	wg.Wait()
}
