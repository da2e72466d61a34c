package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// DefaultMaxBody is the largest body of an answer, in bytes, when the caller gives no limit.
const DefaultMaxBody = 1 << 20

// ErrTooLarge is the cause when the body of an answer exceeds its limit. The request was sent, so the error is ErrAmbiguous
// too.
var ErrTooLarge = errors.New("the answer is too large")

var errForeignClient = errors.New("the client does not use the channel transport")

// Reply is a complete answer of a channel, and what is known about the request.
type Reply struct {
	Status int // 0 = no answer
	Header http.Header
	Body   []byte // without its Content-Encoding
	// Received is the body as it came, when a Content-Encoding was removed; nil = it is Body.
	Received []byte
	Sent     bool
	SentAt   time.Time // of the first byte, by the budget's clock
}

// Do makes one call: it sends req at most once, within the budget of ctx (WithBudget), and reads the whole answer, up to
// maxBody bytes (0: DefaultMaxBody). It asks
// for an answer without content encoding, and decodes gzip, which some servers send all the same; the limit holds before and
// after. client is one from Transport.Client, or an SDK's that uses a Transport.
//
// ctx should outlive the lease, since its cancellation discards an answer that may still come. Errors are *CallError, and
// ErrNotSent or ErrAmbiguous under errors.Is; the reply then has what is known.
func Do(ctx context.Context, client *http.Client, req *http.Request, maxBody int64) (Reply, error) {
	if _, ours := client.Transport.(*Transport); !ours {
		closeBody(req)
		return Reply{}, &CallError{Err: errForeignClient}
	}
	if maxBody <= 0 {
		maxBody = DefaultMaxBody
	}
	req = req.WithContext(ctx)
	req.GetBody = nil
	resp, err := client.Do(req) //nolint:gosec // the address is an account's endpoint, set by the operator
	if err != nil {
		e := callError(ctx, err)
		return Reply{Sent: e.Sent, SentAt: e.SentAt}, e
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	sent, at := attemptOf(ctx).end(nil)
	reply := Reply{Status: resp.StatusCode, Header: resp.Header, Body: body, Sent: sent, SentAt: at}
	if err != nil {
		return reply, callError(ctx, err)
	}
	if int64(len(body)) > maxBody {
		reply.Body = body[:maxBody]
		return reply, &CallError{Sent: sent, SentAt: at, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxBody)}
	}
	if err := reply.decode(maxBody); err != nil {
		return reply, &CallError{Sent: sent, SentAt: at, Err: err}
	}
	return reply, nil
}

// callError finds the error of the transport in an error of http.Client, which would add the URL. An error that did not
// come from the transport means that nothing was sent.
func callError(ctx context.Context, err error) *CallError {
	var e *CallError
	if errors.As(err, &e) {
		return e
	}
	if a := attemptOf(ctx); a != nil {
		sent, at := a.end(err)
		return &CallError{Sent: sent, SentAt: at, Err: err}
	}
	return &CallError{Err: err}
}
