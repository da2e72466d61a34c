package httpapi

import (
	"net/http"

	"github.com/refundry/refundry/internal/http/oapi"
)

// Build describes the running binary. It is set at build time.
type Build struct {
	Version string `json:"version"` // of the release, or of git describe between releases
	Commit  string `json:"commit"`  // full hash
	Go      string `json:"go"`      // toolchain, as "go1.27.3"
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// version answers GET /version. Like livez it checks nothing.
func (s *service) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, oapi.Build{Version: s.build.Version, Commit: s.build.Commit, Go: s.build.Go, Os: s.build.OS, Arch: s.build.Arch})
}
