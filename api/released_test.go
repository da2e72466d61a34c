package api_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refundry/refundry/api"
)

// edit replaces every occurrence of a text of the contract; to = "" removes it.
type edit struct{ from, to string }

// changes of the contract, of which scripts/released has to tell which ones break callers.
var changes = []struct {
	name   string
	edits  []edit
	breaks bool
}{
	{name: "nothing"},
	{name: "a new state, in answers and in the filter",
		edits: []edit{{"CANCELED, REVERSED]", "CANCELED, REVERSED, SETTLED]"}, {"minItems: 1, maxItems: 8,", "minItems: 1, maxItems: 9,"}}},
	{name: "a new reason of a case", edits: []edit{{"acknowledged-after-end, review-requested]", "acknowledged-after-end, review-requested, disputed]"}}},
	{name: "a new reason of PENDING", edits: []edit{{"credentials, excess]", "credentials, excess, calendar]"}}},
	{name: "a new action, also in requests", edits: []edit{{"accept-as-is, revoke-confirmation]\n", "accept-as-is, revoke-confirmation, write-off]\n"}}},
	{name: "a new kind of journal rows", edits: []edit{{"[requested, claim_send,", "[requested, disputed, claim_send,"}}},
	{name: "a new outcome of events", edits: []edit{{"waiting, undecodable]", "waiting, undecodable, deferred]"}}},
	{name: "a new optional member of an answer",
		edits: []edit{{"        channelRefundId: {x-order: 14,", "        settledAt: {x-order: 19, type: string, format: date-time}\n        channelRefundId: {x-order: 14,"}}},
	{name: "a new problem code", edits: []edit{
		{"refund-window-closed, refund-count-exceeded,", "refund-window-closed, refund-disputed, refund-count-exceeded,"},
		{"            refund-count-exceeded: {value:", "            refund-disputed: {value: {code: refund-disputed}}\n            refund-count-exceeded: {value:"}}},
	{name: "a new optional member of a request", edits: []edit{{"        payment: {$ref: '#/components/schemas/PaymentSnapshot'}", "        note: {type: string}\n        payment: {$ref: '#/components/schemas/PaymentSnapshot'}"}}},

	{name: "a member of an answer is removed", breaks: true, edits: []edit{
		{"        channelRefundId: {x-order: 14, type: [string, \"null\"], description: The channel's id of the refund.}\n", ""},
		{"case, failure, channelRefundId, createdAt", "case, failure, createdAt"}}},
	{name: "a state is removed", breaks: true, edits: []edit{{"SUCCESS, FAILED, CANCELED, REVERSED]", "SUCCESS, FAILED, REVERSED]"}}},
	{name: "an action is removed", breaks: true, edits: []edit{{"resend, wait, accept-as-is, revoke-confirmation]\n", "resend, wait, accept-as-is]\n"}}},
	{name: "a new required member of a request", breaks: true, edits: []edit{
		{"required: [refundId, orderId, paymentId, amount, currency]", "required: [refundId, orderId, paymentId, amount, currency, reason]"}}},
	{name: "an operation is removed", breaks: true, edits: []edit{{"  /v1/refunds/{refundId}/check:", "  /v1/refunds/{refundId}/look:"}}},
}

// Callers accept new values and members of answers. What they send and read today stays.
func TestTheReleasedContractCanGrowAndCannotBreak(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			contract := string(api.OpenAPI)
			for _, e := range c.edits {
				changed := strings.ReplaceAll(contract, e.from, e.to)
				if changed == contract {
					t.Fatalf("the contract has no %q", e.from)
				}
				contract = changed
			}
			output, ok := released(t, contract)
			if ok == c.breaks || strings.Contains(output, "callers of the released API would break") != c.breaks {
				t.Errorf("it breaks callers: %t; scripts/released says so: %t\n%s", c.breaks, !ok, output)
			}
		})
	}
}

func TestAnEmptyContractBreaksCallers(t *testing.T) {
	t.Parallel()
	if output, ok := released(t, "openapi: 3.1.0\ninfo: {title: none, version: \"1\"}\npaths: {}\n"); ok {
		t.Errorf("scripts/released takes an empty contract\n%s", output)
	}
}

// released runs scripts/released in a folder of its own, against the present contract as the released one.
func released(t *testing.T, contract string) (output string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "tools/go.mod", "tools/go.sum", "scripts/released"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), text)
	}
	write(t, filepath.Join(dir, "api/released/v0.1.0/openapi.yaml"), api.OpenAPI)
	write(t, filepath.Join(dir, "api/openapi.yaml"), []byte(contract))
	out, err := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "scripts/released")).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err == nil
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
