package httpapi

import (
	"fmt"
	"io"
)

// WriteErrorsDoc writes docs/errors.md from the catalog.
func WriteErrorsDoc(w io.Writer) error {
	if _, err := io.WriteString(w, errorsHead); err != nil {
		return err
	}
	for _, c := range Catalog() {
		again := "no"
		if c.Retryable {
			again = "yes"
		}
		_, err := fmt.Fprintf(w, "\n### `%s`\n\nStatus %d. %s.\n\n- Meaning: %s\n- What to do: %s\n- The same request may succeed later: %s\n",
			c.Code, c.Status, c.Title, c.Meaning, c.Action, again)
		if err != nil {
			return err
		}
	}
	return nil
}

const errorsHead = `# Errors

<!-- Written by "go generate ./internal/http"; change internal/http/codes.go instead. -->

Every error is an RFC 9457 document of the type ` + "`application/problem+json`" + `:

` + "```json" + `
{"type":"/problems/refund-parameters-conflict","title":"The refund id is known with other parameters","status":409,
 "code":"refund-parameters-conflict","detail":"A refund with this refundId exists with other parameters.","retryable":false,
 "requestId":"018f6f4e-7c00-7000-8000-000000000001","fields":["amount"]}
` + "```" + `

- Branch on ` + "`code`" + `. Titles and details are for people and may be reworded.
- ` + "`retryable`" + ` says whether the same request, with the same key, may succeed later. ` + "`Retry-After`" + ` says when to try again.
- ` + "`fields`" + ` names the parameters that differ in a conflict. Stored values and balances are never shown.
- ` + "`errors`" + ` lists the faults and their places: ` + "`pointer`" + ` is a JSON Pointer into the body, ` + "`parameter`" + ` and ` + "`header`" + ` are names. Submitted values are never repeated.
- ` + "`requestId`" + ` equals the header ` + "`X-Request-Id`" + ` and identifies the request in the log. A request may set its own, of 1 to 128 characters A–Z a–z 0–9 . _ -.
- ` + "`Idempotency-Replayed: true`" + ` on a 409 or 422 means that the decision was made earlier.

400, 401, 403, 404, 405, 413, 415 and 429 store nothing and leave the Idempotency-Key free. After 500 and 503 the request may or may not be stored:
send it again with the same key, and the answer shows its outcome. A 409 or 422 is the answer to that key for good, except those that are retryable.

The HTTP library answers two kinds of invalid requests in plain text, before our code runs: request lines and headers that are not HTTP (400), and
headers larger than 16 KiB (431).

## Codes
`
