package simulator_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/simulator"
)

const noticeSecret = "whsec-of-the-simulator"

// inbox is a receiver of notices that can refuse them.
type inbox struct {
	t      *testing.T
	mu     sync.Mutex
	refuse int // the first so many get a 503
	got    []got
}

type got struct {
	path, status, id, number string
	genuine, taken           bool
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var v struct{ ID, Number, Status string }
	if err := json.Unmarshal(body, &v); err != nil {
		i.t.Errorf("notice %s: %v", body, err)
	}
	mac := hmac.New(sha256.New, []byte(noticeSecret))
	mac.Write([]byte(r.Header.Get("Plain-Timestamp") + "."))
	mac.Write(body)
	i.mu.Lock()
	defer i.mu.Unlock()
	g := got{path: r.URL.Path, status: v.Status, id: v.ID, number: v.Number,
		genuine: r.Header.Get("Plain-Signature") == "v1="+hex.EncodeToString(mac.Sum(nil)), taken: i.refuse <= 0}
	i.got = append(i.got, g)
	if i.refuse--; !g.taken {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (i *inbox) all() []got {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]got(nil), i.got...)
}

func startWithInbox(t *testing.T) (*fixture, *inbox) {
	t.Helper()
	i := &inbox{t: t}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	b := start(t, simulator.Config{NoticeSecret: noticeSecret})
	if err := b.sim.SetNotices(server.URL + "/of/{account}"); err != nil {
		t.Fatal(err)
	}
	return b, i
}

// TestNoticesAreRepeatedUntilAcknowledged checks that every result is sent, signed, and repeated until a 2xx.
func TestNoticesAreRepeatedUntilAcknowledged(t *testing.T) {
	t.Parallel()
	b, i := startWithInbox(t)
	i.refuse = 2
	b.send("demo", "n1")
	eventually(t, "three tries", func() bool { return len(i.all()) == 3 })
	for n, g := range i.all() {
		if !g.genuine || g.path != "/of/demo" || g.number != "n1" || g.status != "succeeded" || g.id != i.all()[0].id || g.taken != (n == 2) {
			t.Errorf("notice %d: %+v", n, g)
		}
	}
	b.send("demo-blind", "n2")
	b.faults(`{"rules":[{"fault":"notice-lost","number":"n3"}]}`)
	b.send("demo", "n3")
	b.faults(`{"rules":[{"fault":"late-failure"}]}`)
	b.send("demo", "n4")
	eventually(t, "success", func() bool { return len(i.all()) == 4 })
	b.clock.Add(3 * time.Second)
	eventually(t, "return", func() bool { return len(i.all()) == 5 })
	for n, status := range map[int]string{3: "succeeded", 4: "returned"} {
		if g := i.all()[n]; g.number != "n4" || g.status != status {
			t.Errorf("notice %d: %+v, want %s of n4: a blind account and a lost notice send nothing", n, g, status)
		}
	}
}

func TestNoticeFaults(t *testing.T) {
	t.Parallel()
	b, i := startWithInbox(t)
	b.faults(`{"rules":[{"fault":"notice-twice","limit":3},{"fault":"notice-forged"}]}`)
	b.send("demo", "n1")
	eventually(t, "four notices", func() bool { return len(i.all()) == 4 })
	forged := 0
	for _, g := range i.all() {
		if !g.genuine {
			forged++
		}
		if want := map[bool]string{true: "succeeded", false: "failed"}[g.genuine]; g.status != want {
			t.Errorf("%+v, want %s", g, want)
		}
	}
	if forged != 1 {
		t.Errorf("%d forged notices, want 1", forged)
	}
	// The success is late: the return is sent first.
	b.faults(`{"rules":[{"fault":"late-failure","delayMs":1000},{"fault":"notice-late","nth":1,"delayMs":5000}]}`)
	b.send("demo", "n2")
	b.clock.Add(time.Second)
	eventually(t, "the return", func() bool { return len(i.all()) == 5 })
	b.clock.Add(5 * time.Second)
	eventually(t, "the success", func() bool { return len(i.all()) == 6 })
	if all := i.all(); all[4].status != "returned" || all[5].status != "succeeded" {
		t.Errorf("got %s, then %s: want the success late", all[4].status, all[5].status)
	}
}

// TestNoticesAfterARestart checks that notices from just before a restart are sent again.
func TestNoticesAfterARestart(t *testing.T) {
	t.Parallel()
	b, i := startWithInbox(t)
	b.send("demo", "old")
	eventually(t, "the old notice", func() bool { return len(i.all()) == 1 })
	b.clock.Add(time.Hour)
	b.send("demo", "new")
	eventually(t, "the new notice", func() bool { return len(i.all()) == 2 })
	server := httptest.NewServer(i)
	defer server.Close()
	b = b.restart(simulator.Config{NoticeSecret: noticeSecret})
	if err := b.sim.SetNotices(server.URL + "/of/{account}"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new notice again", func() bool { return len(i.all()) == 3 })
	if g := i.all()[2]; g.number != "new" || g.id != i.all()[1].id {
		t.Errorf("repeated: %+v", g)
	}
}
