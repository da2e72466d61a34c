package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/refundry/refundry/internal/simulator"
)

const contractPath = "../../api/simulator.yaml"

// contract loads api/simulator.yaml once.
var contract = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(contractPath)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the tests use other addresses
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// clock is a clock that the tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a simulator behind an HTTP server, with a client that checks every answer with the contract.
type fixture struct {
	t      *testing.T
	sim    *simulator.Simulator
	server *httptest.Server
	clock  *clock
	dir    string
}

func start(t *testing.T, cfg simulator.Config) *fixture {
	t.Helper()
	b := &fixture{t: t, clock: newClock(), dir: cfg.Dir}
	if b.dir == "" {
		b.dir = t.TempDir()
	}
	cfg.Dir, cfg.Clock = b.dir, b.clock.Now
	sim, err := simulator.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	b.sim = sim
	b.server = httptest.NewServer(sim.Handler())
	t.Cleanup(b.stop)
	return b
}

func (b *fixture) stop() {
	_ = b.sim.Close() // first, so that slow answers end
	b.server.Close()
}

// restart closes the simulator and opens its record again, with the same clock.
func (b *fixture) restart(cfg simulator.Config) *fixture {
	b.t.Helper()
	b.stop()
	cfg.Dir = b.dir
	next := start(b.t, cfg)
	next.clock.Add(b.clock.Now().Sub(next.clock.Now()))
	return next
}

// answer is a response; lost means that there was none.
type answer struct {
	status int
	body   []byte
	lost   bool
}

func (a answer) String() string {
	return fmt.Sprintf("status %d lost %v body %s", a.status, a.lost, a.body)
}

// field returns a top-level string of the body.
func (a answer) field(name string) string {
	var m map[string]any
	_ = json.Unmarshal(a.body, &m)
	s, _ := m[name].(string)
	return s
}

func (b *fixture) do(method, path string, header http.Header, body string) answer {
	b.t.Helper()
	req, err := http.NewRequest(method, b.server.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		b.t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	// A transport of its own, so that a broken connection is not used again.
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return answer{lost: true}
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatalf("%s %s: read answer: %v", method, path, err)
	}
	b.check(req, resp, raw)
	return answer{status: resp.StatusCode, body: raw}
}

// check checks the answer with api/simulator.yaml.
func (b *fixture) check(req *http.Request, resp *http.Response, raw []byte) {
	b.t.Helper()
	router, err := contract()
	if err != nil {
		b.t.Fatalf("contract: %v", err)
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		return // the contract does not have the path or method; a test checks its answer
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	}
	input.SetBodyBytes(raw)
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		b.t.Errorf("%s %s: answer %d %s breaks the contract: %v", req.Method, req.URL.Path, resp.StatusCode, raw, err)
	}
}

// send posts a refund of 1250 USD of ch_77.
func (b *fixture) send(account, number string) answer {
	b.t.Helper()
	return b.sendAmount(account, number, "1250")
}

func (b *fixture) sendAmount(account, number, amount string) answer {
	b.t.Helper()
	body := fmt.Sprintf(`{"number":%q,"refundId":%q,"account":%q,"paymentReference":"ch_77","amount":%s,"currency":"USD"}`,
		number, "rf-"+number, account, amount)
	return b.do("POST", "/v1/refunds", http.Header{"Idempotency-Key": {number}}, body)
}

func (b *fixture) query(account, number string) answer {
	b.t.Helper()
	return b.do("GET", "/v1/refunds/"+number+"?account="+account, nil, "")
}

func (b *fixture) list(account, reference string) (refunds int, complete bool) {
	b.t.Helper()
	a := b.do("GET", "/v1/payments/"+reference+"/refunds?account="+account, nil, "")
	var v struct {
		Refunds  []json.RawMessage
		Complete bool
	}
	if err := json.Unmarshal(a.body, &v); err != nil || a.status != 200 {
		b.t.Fatalf("list: %v", a)
	}
	return len(v.Refunds), v.Complete
}

type effect struct {
	Number, RefundID, Account, PaymentReference, Currency, Status string
	Amount                                                        int64
	Requests                                                      int
	At                                                            time.Time
}

func (b *fixture) effects(number string) []effect {
	b.t.Helper()
	a := b.do("GET", "/effects?number="+number, nil, "")
	var v []effect
	if err := json.Unmarshal(a.body, &v); err != nil || a.status != 200 {
		b.t.Fatalf("effects: %v %v", a, err)
	}
	return v
}

// faults sets the rules by POST, which must accept them.
func (b *fixture) faults(body string) {
	b.t.Helper()
	if a := b.do("POST", "/faults", nil, body); a.status != 200 {
		b.t.Fatalf("POST /faults %s: %v", body, a)
	}
}

func (b *fixture) wantEffects(number string, want int) {
	b.t.Helper()
	if got := b.effects(number); len(got) != want {
		b.t.Errorf("number %s has %d effects, want %d: %+v", number, len(got), want, got)
	}
}

func newLoopbackListener() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
