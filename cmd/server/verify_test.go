package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/store/verify"
)

// code returns the exit code of an error.
func code(err error) int {
	var e exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.code
	}
	return 1
}

// TestVerifyAndExportOnARunningService verifies and exports a refund of a running service and verifies the export. Then it
// changes the database directly.
func TestVerifyAndExportOnARunningService(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := newRestoreSite(t, url)
	s.verifyEvery = 20 * time.Millisecond
	stop := s.start(url, true)
	defer func() { stop() }()
	s.ask("rf_1", "demo")
	until(t, time.Minute, "the refund succeeds", func() bool {
		return one[int](t, url, `SELECT count(*) FROM refunds WHERE state = 'SUCCESS'`) == 1
	})
	out, err := run("verify", "--json", "--database-url", url)
	var r verify.Report
	if code(err) != 0 || json.Unmarshal([]byte(out), &r) != nil || !r.OK || len(r.Promises) != 12 || r.Refunds != 1 || r.Rows < 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("verify", "--database-url", url); code(err) != 0 || !strings.Contains(out, "P12") || !strings.Contains(out, "1 refunds") {
		t.Errorf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "rf_1.json")
	if out, err := run("export", "refund", "rf_1", "--tenant", "demo", "--database-url", url, "--out", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("verify", "--file", file); code(err) != 0 {
		t.Errorf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), `"kind":"succeeded"`, `"kind":"successful"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run("verify", "--file", file); code(err) != 1 || !strings.Contains(out, "journal-digest") {
		t.Errorf("%v\n%s", err, out)
	}
	signedDocumentIsProtected(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), `SET session_replication_role = replica; UPDATE refundry.payments SET reserved = reserved + 1`); err != nil {
		t.Fatal(err)
	}
	out, err = run("verify", "--json", "--database-url", url)
	if code(err) != 1 || !strings.Contains(out, `"id":"P3"`) || !strings.Contains(out, `"check":"reserved"`) {
		t.Errorf("a violated promise: %v\n%s", err, out)
	}
	until(t, 2*time.Minute, "the continuous check reports it", func() bool {
		return strings.Contains(s.metrics(), `refundry_invariant_violations{promise="P3"} 1`)
	})
}

// signedDocumentIsProtected exports rf_1 with a signature and changes a value that no check looks at.
func signedDocumentIsProtected(t *testing.T, url string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public := hex.EncodeToString(key.Public().(ed25519.PublicKey))
	secret, file := filepath.Join(t.TempDir(), "seed"), filepath.Join(t.TempDir(), "rf_1.json")
	if err := os.WriteFile(secret, []byte(hex.EncodeToString(key.Seed())), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run("export", "refund", "rf_1", "--tenant", "demo", "--database-url", url, "--anchor-key", "file:"+secret, "--out", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("verify", "--file", file, "--anchor-public-key", public); code(err) != 0 || strings.Contains(out, "not checked") {
		t.Errorf("a signed document: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(raw), `"late":false`, `"late":true`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil || changed == string(raw) {
		t.Fatalf("nothing to change: %v\n%s", err, raw)
	}
	if out, err := run("verify", "--file", file); code(err) != 0 || !strings.Contains(out, "not checked") {
		t.Errorf("without the key the change does not show, and the answer says that nothing was checked: %v\n%s", err, out)
	}
	if out, err := run("verify", "--file", file, "--anchor-public-key", public); code(err) != 1 || !strings.Contains(out, "document-signature") {
		t.Errorf("a changed signed document: %v\n%s", err, out)
	}
}

func (s *restoreSite) metrics() string {
	s.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.app.server.Addr().String()+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var b strings.Builder
	if err := res.Write(&b); err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

func TestVerifyThatCannotRun(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	dir := t.TempDir()
	missing, empty := filepath.Join(dir, "none"), filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify"},
		{"verify", "--database-url", url}, // not migrated
		{"verify", "--database-url", "postgres://nobody@127.0.0.1:1/none"},
		{"verify", "--file", missing},
		{"verify", "--database-url", url, "--anchor-public-key", "abc"},
		{"verify", "--file", empty},
		{"verify", "--no-such-flag"},
		{"verify", "--samples", "many"},
		{"verify", "--samples", "0", "--database-url", url},
		{"verify", "--overdue"},
		{"verify", "extra"},
	} {
		if out, err := run(args...); code(err) != 2 || strings.Contains(err.Error(), "%!") {
			t.Errorf("%v: exit code %d (%v)\n%s", args, code(err), err, out)
		}
	}
}

func TestAnchorKeys(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	secret := write("secret", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(public)
	open := write("public", "PUBLIC KEY", der, err)
	seed := filepath.Join(dir, "seed")
	if err := os.WriteFile(seed, []byte(hex.EncodeToString(private.Seed())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{secret, "file:" + seed} {
		if got, err := readSigningKey(from); err != nil || !got.Equal(private) {
			t.Errorf("%s: %v", from, err)
		}
	}
	for _, from := range []string{open, hex.EncodeToString(public)} {
		if got, err := readPublicKey(from); err != nil || !got.Equal(public) {
			t.Errorf("%s: %v", from, err)
		}
	}
	for _, from := range []string{open, "file:" + filepath.Join(dir, "none"), "env:REFUNDRY_TEST_NONE", "plain", "file:"} {
		if _, err := readSigningKey(from); err == nil {
			t.Errorf("%s was accepted as a signing key", from)
		}
	}
	if _, err := readPublicKey(secret); err == nil {
		t.Error("a private key was accepted as a public one")
	}
}
