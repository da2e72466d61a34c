package plain_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/refund"
)

// fixed returns a client whose channel gives one status and body to every request.
func fixed(t *testing.T, status int, body string) *plain.Client {
	t.Helper()
	contract, _ := plain.Kind.Contract(plain.KeyedQueryable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return newClient(t, server.URL, contract.Codes)
}

var ours = refund.Call{
	Number: "n1", RefundID: "rf_1", Account: "demo", PaymentReference: "ch_77", Amount: 1250, Currency: "USD",
}

const paid = `{"number":"n1","channelRefundId":"c1","paymentReference":"ch_77","status":"succeeded","amount":1250,"currency":"USD"}`

func TestAnswersToASend(t *testing.T) {
	t.Parallel()
	change := func(old, new string) string { return strings.Replace(paid, old, new, 1) }
	for name, c := range map[string]struct {
		status int
		body   string
		kind   refund.FactKind
		check  func(refund.Answer) bool
	}{
		"as asked":           {200, paid, refund.Succeeded, func(a refund.Answer) bool { return a.ChannelRefundID == "c1" && a.Amount == 1250 }},
		"more fields":        {200, change(`{`, `{"new":{},`), refund.Succeeded, nil},
		"other amount":       {200, change(`1250`, `99`), refund.Succeeded, func(a refund.Answer) bool { return a.Amount == 99 }},
		"other currency":     {200, change(`USD`, `EUR`), refund.Succeeded, func(a refund.Answer) bool { return a.Currency == "EUR" }},
		"amount not said":    {200, change(`"amount":1250,`, ``), refund.Succeeded, func(a refund.Answer) bool { return a.Amount == 0 }},
		"id not said":        {200, change(`"channelRefundId":"c1",`, ``), refund.Succeeded, func(a refund.Answer) bool { return a.ChannelRefundID == "" }},
		"payment not said":   {200, change(`"paymentReference":"ch_77",`, ``), refund.Succeeded, nil},
		"pending":            {200, change(`succeeded`, `pending`), refund.Acknowledged, nil},
		"failed":             {200, change(`succeeded`, `failed`), refund.FailedFinal, nil},
		"returned":           {200, change(`succeeded`, `returned`), refund.Reversed, nil},
		"other number":       {200, change(`n1`, `n2`), refund.Unknown, nil},
		"number not said":    {200, change(`"number":"n1",`, ``), refund.Unknown, nil},
		"other payment":      {200, change(`ch_77`, `ch_78`), refund.Unknown, func(a refund.Answer) bool { return a.Names.PaymentReference == "ch_78" }},
		"other refund id":    {200, change(`{`, `{"refundId":"rf_2",`), refund.Unknown, func(a refund.Answer) bool { return a.Names.RefundID == "rf_2" }},
		"other account":      {200, change(`{`, `{"account":"shop",`), refund.Unknown, func(a refund.Answer) bool { return a.Names.Conflict == "account" }},
		"all that is ours":   {200, change(`{`, `{"account":"demo","refundId":"rf_1",`), refund.Succeeded, nil},
		"status twice":       {200, change(`}`, `,"STATUS":"failed"}`), refund.Unknown, nil},
		"new status":         {200, change(`succeeded`, `settled`), refund.Unknown, nil},
		"status not said":    {200, change(`"status":"succeeded",`, ``), refund.Unknown, nil},
		"status in capitals": {200, change(`succeeded`, `SUCCEEDED`), refund.Unknown, nil},
		"amount zero":        {200, change(`1250`, `0`), refund.Unknown, nil},
		"amount negative":    {200, change(`1250`, `-1250`), refund.Unknown, nil},
		"amount a fraction":  {200, change(`1250`, `12.50`), refund.Unknown, nil},
		"amount a string":    {200, change(`1250`, `"1250"`), refund.Unknown, nil},
		"amount over 2^53":   {200, change(`1250`, `9007199254740992`), refund.Unknown, nil},
		"no such currency":   {200, change(`USD`, `USX`), refund.Unknown, nil},
		"id with a space":    {200, change(`"c1"`, `"c 1"`), refund.Unknown, nil},
		"empty":              {200, ``, refund.Unknown, nil},
		"null":               {200, `null`, refund.Unknown, nil},
		"page":               {200, `<html>`, refund.Unknown, nil},
		"cut":                {200, paid[:40], refund.Unknown, nil},
		"twice":              {200, paid + paid, refund.Unknown, nil},
		"a refusal with 200": {200, `{"code":"not_refundable_window"}`, refund.Unknown, nil},
		"created":            {201, paid, refund.Unknown, nil},
		"no content":         {204, ``, refund.Unknown, nil},
		"redirect":           {307, ``, refund.Unknown, nil},
		"refused":            {422, `{"code":"not_refundable_window"}`, refund.RefusedClean, func(a refund.Answer) bool { return a.Code == "not_refundable_window" }},
		"refused by a 500":   {500, `{"code":"not_refundable_window"}`, refund.Unknown, nil},
		"unlisted code":      {422, `{"code":"brand_new"}`, refund.Unknown, func(a refund.Answer) bool { return a.Code == "brand_new" }},
		"4xx page":           {404, `<html>`, refund.Unknown, nil},
		"4xx empty":          {400, ``, refund.Unknown, nil},
		"code not a string":  {422, `{"code":7}`, refund.Unknown, nil},
		"not found":          {404, `{"code":"not_found"}`, refund.Unknown, nil},
		"echo":               {409, `{"code":"already_refunded"}`, refund.RefusedEcho, nil},
		"echo, amount":       {422, `{"code":"amount_too_large"}`, refund.RefusedEcho, nil},
		"rate limited":       {429, `{"code":"rate_limited"}`, refund.Retryable, func(a refund.Answer) bool { return a.RetryAfter == 7*time.Second }},
		"429 of a proxy":     {429, `slow down`, refund.Unknown, nil},
		"unavailable":        {503, `{"code":"unavailable"}`, refund.Unknown, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fixed(t, c.status, c.body).Refund(attempt(t), ours)
			if a.Kind != c.kind || c.check != nil && !c.check(a) {
				t.Errorf("%d %s: %+v (evidence %s), want %s", c.status, c.body, a, a.Evidence, c.kind)
			}
		})
	}
}

func TestAnswersToAQuery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   refund.FactKind
	}{
		"found":                {200, paid, refund.Succeeded},
		"another number":       {200, strings.Replace(paid, "n1", "n2", 1), refund.Unknown},
		"not found":            {404, `{"code":"not_found"}`, refund.NotFound},
		"not found, in a 410":  {410, `{"code":"not_found"}`, refund.Unknown},
		"mistyped endpoint":    {404, `{"code":"no_such_endpoint"}`, refund.Unknown},
		"404 page":             {404, `<html>`, refund.Unknown},
		"404 empty":            {404, ``, refund.Unknown},
		"not supported":        {405, `{"code":"query_not_supported"}`, refund.Unknown},
		"rate limited":         {429, `{"code":"rate_limited"}`, refund.Unknown},
		"a refusal of a send":  {422, `{"code":"not_refundable_window"}`, refund.Unknown},
		"an echo":              {409, `{"code":"already_refunded"}`, refund.Unknown},
		"wrong secret":         {401, `{"code":"unauthorized"}`, refund.Unknown},
		"broken":               {500, `{"code":"not_found"}`, refund.Unknown},
		"success without body": {200, ``, refund.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := fixed(t, c.status, c.body).Query(attempt(t), ours); a.Kind != c.kind {
				t.Errorf("%d %s: %+v, want %s", c.status, c.body, a, c.kind)
			}
		})
	}
}

// TestVouchers checks that a malformed voucher does not invalidate a success, and that only texts are read.
func TestVouchers(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]map[string]string{
		``:                             nil,
		`,"voucher":null`:              nil,
		`,"voucher":"arn"`:             nil,
		`,"voucher":{"arn":""}`:        nil,
		`,"voucher":{"arn":"7","n":5}`: {"arn": "7"},
	} {
		body := strings.TrimSuffix(paid, "}") + raw + "}"
		query := fixed(t, 200, body).Query(attempt(t), ours)
		_, _, list := fixed(t, 200, `{"refunds":[`+body+`],"complete":true}`).List(attempt(t), ours)
		for _, a := range []refund.Answer{query, list} {
			if a.Kind != refund.Succeeded || !maps.Equal(a.Voucher, want) {
				t.Errorf("%s: %s %v, want a success with %v", raw, a.Kind, a.Voucher, want)
			}
		}
	}
}

func TestAnswersToAList(t *testing.T) {
	t.Parallel()
	other := strings.NewReplacer("n1", "n2", "c1", "c2").Replace(paid)
	for name, c := range map[string]struct {
		status   int
		body     string
		lines    int
		complete bool
		kind     refund.FactKind
	}{
		"empty":              {200, `{"refunds":[],"complete":true}`, 0, true, refund.NotFound},
		"ours":               {200, `{"refunds":[` + other + `,` + paid + `],"complete":true}`, 2, true, refund.Succeeded},
		"ours, incomplete":   {200, `{"refunds":[` + paid + `],"complete":false}`, 1, false, refund.Succeeded},
		"not ours":           {200, `{"refunds":[` + other + `],"complete":true}`, 1, true, refund.NotFound},
		"incomplete":         {200, `{"refunds":[` + other + `],"complete":false}`, 1, false, refund.Unknown},
		"complete not said":  {200, `{"refunds":[]}`, 0, false, refund.Unknown},
		"no list":            {200, `{"complete":true}`, 0, false, refund.Unknown},
		"null":               {200, `{"refunds":null,"complete":true}`, 0, false, refund.Unknown},
		"without a number":   {200, `{"refunds":[` + strings.Replace(paid, `"number":"n1",`, ``, 1) + `],"complete":true}`, 1, true, refund.NotFound},
		"unusable line":      {200, `{"refunds":[` + strings.Replace(other, "succeeded", "odd", 1) + `],"complete":true}`, 0, false, refund.Unknown},
		"line without id":    {200, `{"refunds":[` + strings.Replace(other, `"channelRefundId":"c2",`, ``, 1) + `],"complete":true}`, 0, false, refund.Unknown},
		"of another payment": {200, `{"refunds":[` + strings.Replace(paid, "ch_77", "ch_78", 1) + `],"complete":true}`, 1, false, refund.Unknown},
		"not found":          {404, `{"code":"not_found"}`, 0, false, refund.Unknown},
		"broken":             {500, `{"refunds":[],"complete":true}`, 0, false, refund.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, complete, a := fixed(t, c.status, c.body).List(attempt(t), ours)
			if len(lines) != c.lines || complete != c.complete || a.Kind != c.kind {
				t.Errorf("%d lines, complete %v, %+v, want %d, %v, %s", len(lines), complete, a, c.lines, c.complete, c.kind)
			}
		})
	}
}

// TestA401RefusesTheCredentialsWhateverItsBody: of each call, so that the account's alarm does not depend on a code.
func TestA401RefusesTheCredentialsWhateverItsBody(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{401: true, 403: false, 422: false, 500: false} {
		for _, body := range []string{`{"code":"unauthorized"}`, `{"code":"brand_new"}`, `<html>`, ``} {
			c := fixed(t, status, body)
			_, _, list := c.List(attempt(t), ours)
			for name, a := range map[string]refund.Answer{"send": c.Refund(attempt(t), ours), "query": c.Query(attempt(t), ours), "list": list} {
				if a.Denied != want {
					t.Errorf("%s, %d %s: denied %v, want %v", name, status, body, a.Denied, want)
				}
			}
		}
	}
}
