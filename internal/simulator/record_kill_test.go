package simulator_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/refundry/refundry/internal/simulator"
)

const childDir = "SIMULATOR_TEST_CHILD_DIR"

// TestMain runs a simulator when a test starts the test program as a child.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, serveChild(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serveChild(dir string) error {
	sim, err := simulator.New(simulator.Config{Dir: dir, Faults: "lost-before=0.1,seed=5"})
	if err != nil {
		return err
	}
	listener, err := newLoopbackListener()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "http://"+listener.Addr().String())
	return http.Serve(listener, sim.Handler())
}

// TestKillNineKeepsWhatWasAnswered kills a simulator under load. Every answered refund exists afterwards, and no other one.
func TestKillNineKeepsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	answered := map[string]string{} // number → channel refund id
	for round := range 4 {
		killUnderLoad(t, dir, round, answered)
	}
	if len(answered) < 40 {
		t.Fatalf("only %d sends were answered", len(answered))
	}
	b := start(t, simulator.Config{Dir: dir})
	for number, id := range answered {
		b.wantEffects(number, 1)
		if q := b.query("demo", number); q.field("channelRefundId") != id {
			t.Errorf("number %s: %v, was answered with %s", number, q, id)
		}
	}
}

// killUnderLoad starts a child on dir, sends from four goroutines, and kills the child after enough answers.
func killUnderLoad(t *testing.T, dir string, round int, answered map[string]string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("child: %v", err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	enough := make(chan struct{})
	for worker := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				number := fmt.Sprintf("n-%d-%d-%d", round, worker, i)
				id, gone := sendTo(strings.TrimSpace(url), number)
				if gone {
					return
				}
				mu.Lock()
				if id != "" {
					answered[number] = id
					if len(answered) == 15*(round+1) {
						close(enough)
					}
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // reports the kill
	wg.Wait()
}

// sendTo returns the channel refund id; "" for a lost answer; gone when nothing listens any more.
func sendTo(url, number string) (id string, gone bool) {
	body := fmt.Sprintf(`{"number":%q,"refundId":"r","account":"demo","paymentReference":"p","amount":1,"currency":"USD"}`, number)
	req, err := http.NewRequest(http.MethodPost, url+"/v1/refunds", strings.NewReader(body))
	if err != nil {
		return "", true
	}
	req.Header.Set("Idempotency-Key", number)
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", isRefused(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(resp.Body); err != nil {
		return "", false
	}
	return answer{body: raw.Bytes()}.field("channelRefundId"), false
}
