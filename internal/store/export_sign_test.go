package store

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/store/verify"
)

// signedDocument is the signed document of a refund with people's decisions, two numbers, lines and anchors.
func signedDocument(t *testing.T) (doc any, raw []byte) {
	t.Helper()
	f := newDamageFixture(t)
	f.anchorer(t).once(t)
	e, err := f.verifier(t).Export(t.Context(), "demo", "doubled_0")
	if err == nil {
		e, err = e.Sign(anchorKey)
	}
	if err != nil {
		t.Fatal(err)
	}
	raw = rawOf(t, e)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc, raw
}

// signatureHolds reports whether the document can be read and its signature fits.
func signatureHolds(raw []byte) bool {
	r, err := verify.CheckEvidence(raw, 100, anchorKey.Public().(ed25519.PublicKey))
	return err == nil && !slices.Contains(foundBy(r), "P8 document-signature")
}

// eachChange calls try with a name while one place of the document is changed: each value replaced, each row or member left out or added.
func eachChange(node any, path string, set func(any), try func(name string)) {
	with := func(name string, changed any) {
		set(changed)
		try(path + " " + name)
		set(node)
	}
	switch n := node.(type) {
	case map[string]any:
		added := maps.Clone(n)
		added["added"] = "x"
		with("with a member more", added)
		for _, name := range slices.Sorted(maps.Keys(n)) {
			less := maps.Clone(n)
			delete(less, name)
			with("without "+name, less)
			eachChange(n[name], path+"/"+name, func(v any) { n[name] = v }, try)
		}
	case []any:
		with("with an element more", append(slices.Clone(n), "x"))
		for i := range n {
			with(fmt.Sprintf("without element %d", i), slices.Delete(slices.Clone(n), i, i+1))
			eachChange(n[i], fmt.Sprintf("%s/%d", path, i), func(v any) { n[i] = v }, try)
		}
	case string:
		with("changed", n+"0")
	case json.Number:
		with("changed", json.Number("1"+strings.TrimPrefix(n.String(), "-")))
	case bool:
		with("changed", !n)
	default:
		with("changed", "x")
	}
}

// No value, row or column of a signed document can be changed, left out or added without its signature failing.
func TestAnyChangeOfASignedDocumentShows(t *testing.T) {
	t.Parallel()
	doc, raw := signedDocument(t)
	if !signatureHolds(raw) {
		t.Fatal("the signature of an unchanged document does not hold")
	}
	root, tried := doc, 0
	eachChange(doc, "", func(v any) { root = v }, func(name string) {
		tried++
		if signatureHolds(rawOf(t, root)) {
			t.Errorf("the signature holds although the document is changed:%s", name)
		}
	})
	if tried < 1000 {
		t.Errorf("%d changes tried, want a document with more values", tried)
	}
	for name, changed := range map[string][]byte{
		"signed by another key": resigned(t, raw),
		"a member twice":        bytes.Replace(raw, []byte(`"tenant":`), []byte(`"tenant":"x","tenant":`), 1),
		"a signature beside":    bytes.Replace(raw, []byte(`"tenant":`), []byte(`"Signature":"00","tenant":`), 1),
		"bytes behind it":       append(bytes.Clone(raw), '0'),
	} {
		if bytes.Equal(changed, raw) || signatureHolds(changed) {
			t.Errorf("%s: the signature holds", name)
		}
	}
}

func resigned(t *testing.T, raw []byte) []byte {
	t.Helper()
	var e verify.Evidence
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	e, err := e.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return rawOf(t, e)
}

// What a signature covers are the document's values, so spaces, the order of members and the way a text is escaped may differ.
func TestASignatureSurvivesAnotherFormOfTheSameDocument(t *testing.T) {
	t.Parallel()
	doc, raw := signedDocument(t)
	indented, err := json.MarshalIndent(doc, "", "  ") // sorts the members and escapes <, > and &
	if err != nil {
		t.Fatal(err)
	}
	escaped := strings.Replace(string(raw), `"demo"`, `"\u0064emo"`, 1)
	for name, form := range map[string][]byte{"indented and sorted": indented, "escaped": []byte(escaped)} {
		if bytes.Equal(form, raw) || !signatureHolds(form) {
			t.Errorf("%s: the signature does not hold", name)
		}
	}
}
