package plain_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/refund"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// encoded returns a client whose channel answers 200 with this body and Content-Encoding. asked gets the request's Accept-Encoding.
func encoded(t *testing.T, encoding, body string, asked *string) *plain.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", encoding)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return newClient(t, server.URL, refund.CodeTerms{})
}

func TestAGzipAnswerIsReadAndItsEvidenceKeepsWhatCame(t *testing.T) {
	t.Parallel()
	var asked string
	packed := gzipped(t, paid)
	a := encoded(t, "gzip", packed, &asked).Refund(attempt(t), ours)
	if a.Kind != refund.Succeeded || a.ChannelRefundID != "c1" {
		t.Errorf("%+v, want the success that the body reports", a)
	}
	if asked != "identity" {
		t.Errorf("asked for the encoding %q, want identity", asked)
	}
	if !strings.Contains(string(a.Evidence), base64.StdEncoding.EncodeToString([]byte(packed))) || !strings.Contains(string(a.Evidence), `"channelRefundId":"c1"`) {
		t.Errorf("evidence %s, want the bytes that came and what they say", a.Evidence)
	}
}

func TestAnEncodedAnswerThatCannotBeDecodedSaysNothing(t *testing.T) {
	t.Parallel()
	packed := gzipped(t, paid)
	bomb := gzipped(t, strings.Repeat(" ", 64<<20)+paid)
	if len(bomb) > 1<<20 {
		t.Fatalf("the bomb has %d bytes: it must be within the limit of the body", len(bomb))
	}
	for name, c := range map[string]struct{ encoding, body string }{
		"half a stream":        {"gzip", packed[:len(packed)/2]},
		"without its checksum": {"gzip", packed[:len(packed)-8]},
		"no gzip":              {"gzip", paid},
		"more behind it":       {"gzip", packed + "x"},
		"a bomb":               {"gzip", bomb},
		"two encodings":        {"gzip, gzip", gzipped(t, packed)},
		"another encoding":     {"br", paid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked string
			a := encoded(t, c.encoding, c.body, &asked).Refund(attempt(t), ours)
			if a.Kind != refund.Unknown || len(a.Evidence) > 64<<10 {
				t.Errorf("%s with %d bytes of evidence, want UNKNOWN with bounded evidence", a.Kind, len(a.Evidence))
			}
		})
	}
}
