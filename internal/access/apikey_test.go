package access_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/access"
)

func newKey(t *testing.T, mode string) access.APIKey {
	t.Helper()
	k, err := access.NewAPIKey(rand.Reader, mode)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAPIKeyRoundTrip(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{access.ModeLive, access.ModeTest} {
		k := newKey(t, mode)
		if !regexp.MustCompile(`\Arfk_` + mode + `_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}\z`).MatchString(k.Reveal()) {
			t.Errorf("a new %s key has another shape than documented", mode)
		}
		back, err := access.ParseAPIKey(k.Reveal())
		if err != nil || back != k {
			t.Errorf("a new %s key does not read back: %v", mode, err)
		}
		if other := newKey(t, mode); other.Secret == k.Secret || other.Prefix == k.Prefix {
			t.Error("two keys share a part")
		}
	}
}

// No way of printing, logging or encoding a key shows its secret.
func TestAPIKeyNeverLeaks(t *testing.T) {
	t.Parallel()
	k := newKey(t, access.ModeTest)
	holder := struct {
		Key access.APIKey
		Ptr *access.APIKey
	}{k, &k}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		for _, v := range []any{k, &k, holder, []access.APIKey{k}, map[string]access.APIKey{"k": k}} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	fmt.Fprintln(&out, k, k.String(), fmt.Errorf("wrapped: %v", k))
	doc, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(doc)
	for _, h := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(h).Info("key", "key", k, "pointer", &k, "holder", holder, slog.Group("g", "key", k))
	}
	if strings.Contains(out.String(), k.Secret) || strings.Contains(out.String(), fmt.Sprintf("%x", k.Secret)) {
		t.Error("the secret was printed")
	}
	if !strings.Contains(out.String(), k.Prefix) {
		t.Error("the prefix, by which people find a key, is missing")
	}
	if got, want := k.LogValue().String(), k.Prefix; got != want {
		t.Errorf("log value = %v, want %v", got, want)
	}
	if got, want := k.String(), "rfk_test_"+k.Prefix+"_***"; got != want {
		t.Errorf("String = %v, want %v", got, want)
	}
}

func TestParseAPIKeyRefuses(t *testing.T) {
	t.Parallel()
	good := newKey(t, access.ModeLive).Reveal()
	for name, s := range map[string]string{
		"empty": "", "short": good[:len(good)-1], "long": good + "a", "other word": "sk" + good[2:], "upper-case word": "RFK" + good[3:],
		"other mode": strings.Replace(good, "_live_", "_prod_", 1), "no mode": strings.Replace(good, "_live_", "__", 1),
		"space": good[:len(good)-1] + " ", "dash": good[:len(good)-1] + "-", "fifth part": good + "_x", "newline": good + "\n",
		"other script": good[:len(good)-2] + "é", "redacted": "rfk_live_AbCd1234_***",
	} {
		k, err := access.ParseAPIKey(s)
		if !errors.Is(err, access.ErrAPIKey) || k != (access.APIKey{}) {
			t.Errorf("%s: got %v, want ErrAPIKey and no key", name, err)
		}
		if err != nil && s != "" && strings.Contains(err.Error(), s) {
			t.Errorf("%s: the error quotes the text", name)
		}
	}
}

// Bytes that would make some digits likelier are thrown away; a source that
// yields only those, ends or breaks is an error and never a weak key.
func TestNewAPIKeySource(t *testing.T) {
	t.Parallel()
	broken := errors.New("no entropy")
	for name, tc := range map[string]struct {
		source io.Reader
		mode   string
		err    error
	}{
		"only unusable bytes": {constant(0xff), access.ModeTest, io.ErrNoProgress},
		"first unusable byte": {constant(248), access.ModeTest, io.ErrNoProgress},
		"ends":                {bytes.NewReader(make([]byte, 70)), access.ModeTest, io.ErrUnexpectedEOF},
		"empty":               {bytes.NewReader(nil), access.ModeTest, io.EOF},
		"breaks":              {failing{broken}, access.ModeTest, broken},
		"other mode":          {rand.Reader, "prod", access.ErrAPIKey},
		"no mode":             {rand.Reader, "", access.ErrAPIKey},
	} {
		k, err := access.NewAPIKey(tc.source, tc.mode)
		if !errors.Is(err, tc.err) || k != (access.APIKey{}) {
			t.Errorf("%s: got %v, want %v and no key", name, err, tc.err)
		}
	}
	k, err := access.NewAPIKey(constant(247), access.ModeTest)
	if err != nil || k.Prefix != strings.Repeat("z", 8) {
		t.Errorf("247 is the last usable byte and means z: got prefix %s, %v", k.Prefix, err)
	}
}

type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
