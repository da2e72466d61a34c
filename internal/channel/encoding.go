package channel

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

var errEncoding = errors.New("the answer has a content encoding that was not asked for")

// decode removes the Content-Encoding gzip from a complete body. The decoded body has at most maxBody bytes, however small
// it came. Errors: ErrTooLarge; a body that is no whole gzip stream; another encoding. After an error Body is what came.
func (r *Reply) decode(maxBody int64) error {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	switch encoding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip": // RFC 9110, section 8.4.1.3
	default:
		return errEncoding
	}
	if len(r.Body) == 0 {
		return nil
	}
	stream, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return fmt.Errorf("the answer cannot be decoded: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(stream, maxBody+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer cannot be decoded: %w", err)
	case int64(len(plain)) > maxBody:
		return fmt.Errorf("%w: more than %d bytes when decoded", ErrTooLarge, maxBody)
	}
	r.Received, r.Body = r.Body, plain
	return nil
}
