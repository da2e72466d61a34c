package simulator_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/refundry/refundry/internal/simulator"
)

func TestKeyedSameNumberIsOneRefund(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	first, second := b.send("demo", "n1"), b.send("demo", "n1")
	if first.status != 200 || first.field("status") != "succeeded" {
		t.Fatalf("first send: %v", first)
	}
	if string(first.body) != string(second.body) {
		t.Errorf("a repeat must answer with the same refund:\n%s\n%s", first.body, second.body)
	}
	if other := b.sendAmount("demo", "n1", "1251"); other.status != 409 || other.field("code") != "number_reused" {
		t.Errorf("other amount under the same number: %v, want 409 number_reused", other)
	}
	effects := b.effects("n1")
	if len(effects) != 1 || effects[0].Requests != 3 || effects[0].Amount != 1250 || effects[0].RefundID != "rf-n1" {
		t.Errorf("effects = %+v, want one of 1250 for rf-n1 after 3 requests", effects)
	}
	if q := b.query("demo", "n1"); string(q.body) != string(first.body) {
		t.Errorf("query answers %s, the send answered %s", q.body, first.body)
	}
	if q := b.query("demo", "n2"); q.status != 404 || q.field("code") != "not_found" {
		t.Errorf("query of an unused number: %v, want 404 not_found", q)
	}
}

func TestBlindTwoSendsAreTwoEffects(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	one, two := b.send("demo-blind", "n1"), b.send("demo-blind", "n1")
	if one.field("channelRefundId") == two.field("channelRefundId") || one.status != 200 || two.status != 200 {
		t.Errorf("two sends: %v and %v, want two refunds", one, two)
	}
	b.wantEffects("n1", 2)
	if q := b.query("demo-blind", "n1"); q.status != 405 || q.field("code") != "query_not_supported" {
		t.Errorf("query: %v, want 405 query_not_supported", q)
	}
	if l := b.do("GET", "/v1/payments/ch_77/refunds?account=demo-blind", nil, ""); l.status != 405 {
		t.Errorf("list: %v, want 405", l)
	}
}

func TestConcurrentSendsAreOneEffect(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() { ids[i] = b.send("demo", "n1").field("channelRefundId") })
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("concurrent sends got the ids %q", ids)
		}
	}
	if e := b.effects("n1"); len(e) != 1 || e[0].Requests != len(ids) {
		t.Errorf("effects = %+v, want one with %d requests", e, len(ids))
	}
}

func TestAccountsAreSeparate(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Accounts: map[string]simulator.Account{
		"shop": {Profile: simulator.KeyedQueryable, Secret: "s3cret"},
	}})
	b.send("demo", "n1")
	auth := func(secret string) answer {
		return b.do("GET", "/v1/refunds/n1?account=shop", http.Header{"Authorization": {secret}}, "")
	}
	if a := auth("Bearer s3cret"); a.status != 404 {
		t.Errorf("a number of another account is visible: %v", a)
	}
	for _, wrong := range []string{"", "Bearer", "Bearer wrong", "s3cret"} {
		if a := auth(wrong); a.status != 401 {
			t.Errorf("Authorization %q: %v, want 401", wrong, a)
		}
	}
	for _, unknown := range []string{"nobody", "demo-nothing", "", "Demo"} {
		if a := b.query(unknown, "n1"); a.status != 400 || a.field("code") != "account_unknown" {
			t.Errorf("account %q: %v, want 400 account_unknown", unknown, a)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	if n, complete := b.list("demo", "ch_77"); n != 0 || !complete {
		t.Errorf("empty payment: %d entries, complete %v", n, complete)
	}
	b.send("demo", "n1")
	b.send("demo", "n2")
	if n, complete := b.list("demo", "ch_77"); n != 2 || !complete {
		t.Errorf("%d entries, complete %v, want 2 and true", n, complete)
	}
	if a := b.do("GET", "/v1/payments/ch%2F77/refunds?account=demo", nil, ""); a.status != 200 {
		t.Errorf("a reference with a slash: %v", a)
	}
}

func TestHostileRequests(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	good := `{"number":"n1","refundId":"r1","account":"demo","paymentReference":"ch_77","amount":5,"currency":"USD"}`
	change := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	bodies := map[string]string{
		"empty": "", "no object": `[]`, "null": `null`, "string": `"x"`, "cut": good[:40], "trailing data": good + "{}",
		"trailing comma": change(`"USD"}`, `"USD",}`), "duplicate field": change(`{`, `{"amount":5,`),
		"unknown field": change(`{`, `{"extra":1,`), "other case": change(`"amount"`, `"Amount"`),
		"amount zero": change(`:5,`, `:0,`), "amount negative": change(`:5,`, `:-5,`), "amount float": change(`:5,`, `:5.0,`),
		"amount exponent": change(`:5,`, `:5e0,`), "amount string": change(`:5,`, `:"5",`), "amount null": change(`:5,`, `:null,`),
		"amount 2^53": change(`:5,`, `:9007199254740992,`), "amount huge": change(`:5,`, `:`+strings.Repeat("9", 400)+`,`),
		"amount missing": change(`"amount":5,`, ``), "currency case": change(`USD`, `usd`), "number empty": change(`"n1"`, `""`),
		"number not ASCII": change(`"n1"`, `"né"`), "number too long": change(`"n1"`, `"`+strings.Repeat("n", 65)+`"`),
		"number is a number": change(`"n1"`, `1`), "reference with space": change(`ch_77`, `ch 77`), "deep": strings.Repeat("[", 20000),
		"invalid UTF-8": change(`"n1"`, "\"n\xff\""), "header differs": change(`"n1"`, `"n2"`),
	}
	for name, body := range bodies {
		a := b.do("POST", "/v1/refunds", http.Header{"Idempotency-Key": {"n1"}}, body)
		if a.status != 400 || a.field("code") != "invalid_request" {
			t.Errorf("%s: %v, want 400 invalid_request", name, a)
		}
	}
	big := `{"number":"` + strings.Repeat("n", 300<<10) + `"}`
	if a := b.do("POST", "/v1/refunds", nil, big); a.status != 413 {
		t.Errorf("oversize: %v, want 413", a)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"PUT", "/v1/refunds", 405}, {"DELETE", "/effects", 405}, {"GET", "/nothing", 404}, {"GET", "/v1/refunds/n%20x?account=demo", 400},
	} {
		if a := b.do(c.method, c.path, nil, ""); a.status != c.status || a.field("code") == "not_found" {
			t.Errorf("%s %s: %v, want %d", c.method, c.path, a, c.status)
		}
	}
	if e := b.effects(""); len(e) != 0 {
		t.Errorf("bad requests made effects: %+v", e)
	}
	if a := b.do("POST", "/v1/refunds", http.Header{"Idempotency-Key": {"n1"}}, change(`:5,`, `:9007199254740991,`)); a.status != 200 {
		t.Errorf("the largest amount: %v, want 200", a)
	}
}

func TestEffectsHaveExactlyTheDocumentedFields(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	b.send("demo", "n1")
	var effects []map[string]any
	if err := json.Unmarshal(b.do("GET", "/effects", nil, "").body, &effects); err != nil || len(effects) != 1 {
		t.Fatalf("effects %v, %v", effects, err)
	}
	var names []string
	for name := range effects[0] {
		names = append(names, name)
	}
	sort.Strings(names)
	want := []string{"account", "amount", "at", "currency", "number", "paymentReference", "refundId", "requests", "status"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("fields %v, want %v", names, want)
	}
	if a := b.do("GET", "/effects?number=n2", nil, ""); string(a.body) != "[]" {
		t.Errorf("no effects: %s, want []", a.body)
	}
}
