package httpapi_test

import (
	"encoding/json"
	"testing"

	httpapi "github.com/refundry/refundry/internal/http"
)

func TestVersionNeedsNoKey(t *testing.T) {
	t.Parallel()
	want := httpapi.Build{Version: "v0.1.0", Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.27.3", OS: "linux", Arch: "amd64"}
	_, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) { cfg.Build = want })
	r := c.do("GET", "/version", "", "Authorization", "")
	var got httpapi.Build
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 || got != want {
		t.Errorf("%d %s (%v), want %+v", r.status, r.body, err, want)
	}
	if r := c.do("POST", "/version", ""); r.status != 405 || r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q, want 405 and GET, HEAD", r.status, r.header.Get("Allow"))
	}
}
