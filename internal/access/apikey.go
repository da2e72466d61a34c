package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Parts of an API key: rfk_<live or test>_<8 base62>_<43 base62>. 43 digits of
// base 62 carry 256 bits, so the secret needs no slow hash and no salt.
const (
	apiKeyWord      = "rfk"
	apiKeyPrefixLen = 8
	apiKeySecretLen = 43
	base62          = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Modes of tenants, and so of their keys.
const (
	ModeLive = "live"
	ModeTest = "test"
)

// ErrAPIKey reports a text that is not a well-formed API key. It never quotes the text, which may be a secret.
var ErrAPIKey = errors.New("refund: not an API key")

// APIKey is a bearer key of an actor. Only Prefix and SecretHash are stored.
// Printing it in any format, logging it and encoding it to text or JSON show
// the prefix and never the secret; Reveal alone gives the whole.
type APIKey struct {
	Mode   string // live or test, equal to the tenant's mode
	Prefix string // 8 characters, finds the row; not secret
	Secret string // 43 characters; shown once, when the key is made
}

// NewAPIKey makes a key from random, which is crypto/rand.Reader outside
// tests. Errors: ErrAPIKey for another mode than live or test; what random
// returns; io.ErrNoProgress when random gives no usable byte for long.
func NewAPIKey(random io.Reader, mode string) (APIKey, error) {
	if mode != ModeLive && mode != ModeTest {
		return APIKey{}, fmt.Errorf("%w: mode is neither live nor test", ErrAPIKey)
	}
	prefix, err := randomBase62(random, apiKeyPrefixLen)
	if err != nil {
		return APIKey{}, fmt.Errorf("refund: API key prefix: %w", err)
	}
	secret, err := randomBase62(random, apiKeySecretLen)
	if err != nil {
		return APIKey{}, fmt.Errorf("refund: API key secret: %w", err)
	}
	return APIKey{Mode: mode, Prefix: prefix, Secret: secret}, nil
}

// randomBase62 draws n digits, each with the same probability: bytes of 248 (4 × 62) and above are skipped. A source with no
// other bytes is broken, and the bound makes it an error.
func randomBase62(random io.Reader, n int) (string, error) {
	out := make([]byte, 0, n)
	buf := make([]byte, 64)
	for range 16 {
		if _, err := io.ReadFull(random, buf); err != nil {
			return "", err
		}
		for _, b := range buf {
			if b >= 4*62 {
				continue
			}
			if out = append(out, base62[b%62]); len(out) == n {
				return string(out), nil
			}
		}
	}
	return "", io.ErrNoProgress
}

// ParseAPIKey splits a key into its parts. It does not check that the key exists: find the row by Prefix and compare
// SecretHash in constant time. Errors: ErrAPIKey.
func ParseAPIKey(s string) (APIKey, error) {
	parts := strings.Split(s, "_")
	if len(parts) != 4 || parts[0] != apiKeyWord {
		return APIKey{}, ErrAPIKey
	}
	k := APIKey{Mode: parts[1], Prefix: parts[2], Secret: parts[3]}
	if k.Mode != ModeLive && k.Mode != ModeTest {
		return APIKey{}, ErrAPIKey
	}
	if len(k.Prefix) != apiKeyPrefixLen || !isBase62(k.Prefix) || len(k.Secret) != apiKeySecretLen || !isBase62(k.Secret) {
		return APIKey{}, ErrAPIKey
	}
	return k, nil
}

func isBase62(s string) bool {
	for i := range len(s) {
		if strings.IndexByte(base62, s[i]) < 0 {
			return false
		}
	}
	return true
}

// SecretHash returns the SHA-256 of the 43 characters of the secret, which is
// what the database keeps.
func (k APIKey) SecretHash() [32]byte { return sha256.Sum256([]byte(k.Secret)) }

// Reveal returns the whole key, for the one time that its owner is shown it.
func (k APIKey) Reveal() string {
	return apiKeyWord + "_" + k.Mode + "_" + k.Prefix + "_" + k.Secret
}

// String returns the key with its secret replaced by "***".
func (k APIKey) String() string {
	return apiKeyWord + "_" + k.Mode + "_" + k.Prefix + "_***"
}

// Format implements fmt.Formatter so that no verb, not even %#v or %d, reaches
// the fields.
func (k APIKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// MarshalText implements encoding.TextMarshaler with the form of String.
func (k APIKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue implements slog.LogValuer: logs show the prefix only.
func (k APIKey) LogValue() slog.Value { return slog.StringValue(k.Prefix) }
