// Command nethttp makes one call with net/http.
package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

func main() {
	var call struct {
		Method, Path, ID, Rest, Type string
		Headers                      map[string]string
		Body                         *string
		Chunks                       bool
	}
	if err := json.Unmarshal([]byte(os.Getenv("CALL")), &call); err != nil {
		panic(err)
	}
	target := os.Getenv("BASE") + call.Path
	if call.ID != "" {
		target += url.PathEscape(call.ID) + call.Rest
	}
	var body io.Reader
	switch {
	case call.Chunks:
		r, w := io.Pipe() // of no known length
		_ = w.Close()
		body = r
	case call.Body != nil:
		body = strings.NewReader(*call.Body)
	}
	req, err := http.NewRequestWithContext(context.Background(), call.Method, target, body)
	if err != nil {
		panic(err)
	}
	for name, value := range call.Headers {
		req.Header.Set(name, value)
	}
	if call.Type != "" {
		req.Header.Set("Content-Type", call.Type)
	}
	if call.Chunks {
		req.TransferEncoding = []string{"chunked"}
	}
	client := http.Client{Timeout: time.Minute}
	res, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
}
