package verify

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/refundry/refundry/internal/refund"
)

// domainEvidence is the first field of a document's statement (docs/bytes.md).
const domainEvidence = "refundry/e2/signature"

// Sign returns the document with its signature by the anchor key: ed25519 over the statement of everything else in it.
func (e Evidence) Sign(key ed25519.PrivateKey) (Evidence, error) {
	e.Signature = nil
	raw, err := json.Marshal(e)
	if err != nil {
		return e, fmt.Errorf("store: the document cannot be encoded: %w", err)
	}
	statement, err := evidenceStatement(raw)
	if err != nil {
		return e, err
	}
	e.Signature = ed25519.Sign(key, statement)
	return e, nil
}

// evidenceStatement returns the bytes to be signed for a document: LP of the domain word and the SHA-256 in hex of its canonical form
// without the member signature. A member that stands twice in one object is an error.
func evidenceStatement(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	text, err := canonicalValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: bytes behind the document", ErrEvidence)
	}
	sum := sha256.Sum256(text)
	return refund.LP(nil, domainEvidence, hex.EncodeToString(sum[:])), nil
}

// deepestDocument bounds the nesting of a document.
const deepestDocument = 100

// canonicalValue reads the next value and returns it in the form of refund.CanonicalJSON, numbers as they are written. The outermost object
// is returned without its signature.
func canonicalValue(d *json.Decoder, depth int) ([]byte, error) {
	if depth > deepestDocument {
		return nil, errors.New("nested too deeply")
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return canonicalObject(d, depth)
	case json.Delim('['):
		out := []byte{'['}
		for d.More() {
			one, err := canonicalValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, one...)
		}
		_, err := d.Token()
		return append(out, ']'), err
	}
	switch v := t.(type) {
	case string:
		return refund.AppendJSONString(nil, v)
	case json.Number:
		return []byte(v.String()), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	}
	return []byte("null"), nil
}

func canonicalObject(d *json.Decoder, depth int) ([]byte, error) {
	type member struct {
		name  string
		value []byte
	}
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := canonicalValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		text, _ := name.(string) // a member's name is always a text
		members = append(members, member{text, value})
	}
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 && members[i-1].name == m.name {
			return nil, fmt.Errorf("member %q stands twice", m.name)
		}
		if depth == 0 && m.name == "signature" {
			continue
		}
		name, err := refund.AppendJSONString(nil, m.name)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), m.value...)
	}
	_, err := d.Token()
	return append(out, '}'), err
}

// checkSignature checks the document's signature with the key that its reader trusts; nil = the signature is not checked.
func (c *evidenceCheck) checkSignature(raw []byte, key ed25519.PublicKey) {
	if key == nil {
		return
	}
	statement, err := evidenceStatement(raw)
	if err != nil || !ed25519.Verify(key, statement, c.doc.Signature) {
		c.found("P8", "document-signature", "the document is not signed by the key given, or it was changed since")
	}
}
