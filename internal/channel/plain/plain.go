// Package plain is the client of the plain channel protocol, which api/simulator.yaml describes and internal/simulator
// serves.
//
// An answer proves what the documented statuses and the code lists of the contract say. Unknown are: an answer with another
// status, a code that is in no list of the contract, an answer that cannot be read, and one about another number.
package plain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

// Config configures the client of one account.
type Config struct {
	// Endpoint is the base URL of the channel, http or https, without a query.
	Endpoint string
	// Account is the account's name at the channel; default the name in the call.
	Account string
	// Secret is sent as a bearer token when set.
	Secret string
	// NoticeSecrets verify the account's notices: the current secret and, during an overlap, earlier ones. Without a secret
	// every notice is rejected as forged.
	NoticeSecrets []string
	// Codes of the account's contract.
	Codes refund.CodeTerms
	// HTTP is a client on the channel transport (channel.Transport.Client).
	HTTP *http.Client
	// Clock is used for dates in Retry-After and the age of notices; default time.Now.
	Clock func() time.Time
}

// Client is the client of one account. Its calls need a context from channel.WithBudget; without one nothing is sent.
type Client struct {
	cfg  Config
	base string
}

var (
	_ refund.Channel  = (*Client)(nil)
	_ refund.Notifier = (*Client)(nil)
)

// New checks the configuration and returns a client.
func New(cfg Config) (*Client, error) {
	if !validEndpoint(cfg.Endpoint) {
		// The error does not contain the endpoint, which may have a password.
		return nil, errors.New("plain channel: the endpoint is not a plain http or https URL")
	}
	if cfg.HTTP == nil {
		return nil, errors.New("plain channel: a client with the channel transport is required")
	}
	for _, secret := range cfg.NoticeSecrets {
		if len(secret) < shortestSecret {
			return nil, fmt.Errorf("plain channel: a notice secret has at least %d characters", shortestSecret)
		}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Client{cfg: cfg, base: strings.TrimRight(cfg.Endpoint, "/")}, nil
}

// Refund sends the refund once. The number is the idempotency key.
func (c *Client) Refund(ctx context.Context, call refund.Call) refund.Answer {
	body, err := json.Marshal(sendBody{
		Number: call.Number, RefundID: call.RefundID, Account: c.account(call), PaymentReference: call.PaymentReference,
		Amount: call.Amount, Currency: string(call.Currency),
	})
	if err != nil {
		return unsendable(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/refunds", bytes.NewReader(body))
	if err != nil {
		return unsendable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", call.Number)
	reply, err := c.do(ctx, req)
	if err != nil {
		return channel.Failed(reply, err)
	}
	if reply.Status == http.StatusOK {
		return c.ofRefund(reply, call)
	}
	a := c.ofError(reply)
	// Only a 4xx whose code the contract lists counts as the channel's answer; a 5xx can come from any server on the way. ByCode gives
	// Unknown for every other code: read as a refusal it could permit a second payment, read as a success it could lose the refund.
	if reply.Status >= 400 && reply.Status <= 499 && a.Code != "" {
		a.Kind, a.Rule = channel.ByCode(c.cfg.Codes, a.Code)
	}
	return a
}

// Query asks the channel for the refund with the number of the call.
func (c *Client) Query(ctx context.Context, call refund.Call) refund.Answer {
	reply, err := c.get(ctx, call, "/v1/refunds/"+url.PathEscape(call.Number), "")
	if err != nil {
		return channel.Failed(reply, err)
	}
	if reply.Status == http.StatusOK {
		return c.ofRefund(reply, call)
	}
	a := c.ofError(reply)
	// The 404 of a proxy or of a mistyped endpoint has another code or none.
	if reply.Status == http.StatusNotFound && a.Code == codeNotFound {
		a.Kind, a.Rule = refund.NotFound, "status.not-found"
	}
	return a
}

// get asks a question. after is the cursor of a list's page; "" = the first.
func (c *Client) get(ctx context.Context, call refund.Call, path, after string) (channel.Reply, error) {
	query := url.Values{"account": {c.account(call)}}
	if after != "" {
		query.Set("after", after)
	}
	address := c.base + path + "?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return channel.Reply{}, fmt.Errorf("%w: %w", channel.ErrNotSent, err)
	}
	return c.do(ctx, req)
}

func (c *Client) do(ctx context.Context, req *http.Request) (channel.Reply, error) {
	if c.cfg.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Secret)
	}
	req.Header.Set("Accept", "application/json")
	return channel.Do(ctx, c.cfg.HTTP, req, 0)
}

func (c *Client) account(call refund.Call) string {
	if c.cfg.Account != "" {
		return c.cfg.Account
	}
	return call.Account
}

func unsendable(err error) refund.Answer {
	return channel.Failed(channel.Reply{}, fmt.Errorf("%w: %w", channel.ErrNotSent, err))
}

// ofError returns the answer of a status that has no refund in its body. It is Unknown; Code is that of the body, and the caller
// decides what the code proves.
func (c *Client) ofError(reply channel.Reply) refund.Answer {
	a := unknown(reply, "status.unlisted")
	a.RetryAfter = channel.RetryAfter(reply.Header, c.cfg.Clock())
	a.Denied = reply.Status == http.StatusUnauthorized
	var code *string
	if channel.ReadDocument(reply.Body, channel.TextMember("code", &code)) == nil && code != nil {
		a.Code = *code
	}
	return a
}
