package httpapi_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
)

// Events that the SDKs of CloudEvents make are decoded, in both modes, and the answers are those that the SDKs take for success.
func TestEventsOfSDKsAreDecoded(t *testing.T) {
	t.Parallel()
	w, s := callersServer(t, 20*time.Second)
	sdks := map[string]bool{}
	for _, r := range recordings(t, "sdks") {
		sdks[r.client] = true
		res, body := exchange(t, s, r.bytes, false)
		isEvent("accepted")(t, r, res, body)
		sameRefund(t, r.client+": "+r.name, w)
	}
	if len(sdks) < 4 {
		t.Errorf("recordings of %d SDKs, want those of Go, Java, JavaScript and Python", len(sdks))
	}
	for name, command := range sdkPrograms() {
		t.Run("itself "+name, func(t *testing.T) { sendWithSDK(t, name, command, w, s) })
	}
}

// sdkPrograms are the commands that send one event with an SDK, by the SDK's name: those of the environment variable SDKS, as
// "NAME=COMMAND" in lines. scripts/conformance sets it; without it only recorded events are sent.
func sdkPrograms() map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(os.Getenv("SDKS"), "\n") {
		if name, command, ok := strings.Cut(line, "="); ok {
			out[name] = command
		}
	}
	return out
}

// sendWithSDK lets an SDK send every event of test/callers/events.json.
func sendWithSDK(t *testing.T, name, command string, w *fakeBackend, s *httpapi.Server) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "test", "callers", "events.json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []json.RawMessage
	if err := json.Unmarshal(text, &events); err != nil || len(events) < 7 {
		t.Fatal(err, len(events))
	}
	for _, e := range events {
		var about struct{ Name string }
		if err := json.Unmarshal(e, &about); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "BASE=http://"+s.Addr().String(), "KEY="+writerKey, "CALL="+string(e))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s: %v\n%s", name, about.Name, err, out)
			continue
		}
		sameRefund(t, name+": "+about.Name, w)
	}
}
