// Package badrequesttest is a table of bad requests with their answers. All of them are
// refused before anything is stored. The table runs against a server with fakes and
// against the real one with its database.
package badrequesttest

import "strings"

// Who is the sender of a request.
type Who int

// The senders of the table.
const (
	Writer     Who = iota // a key with refunds:write and refunds:read
	Reader                // a key with refunds:read only
	Nobody                // no Authorization header
	WrongKey              // a well-formed key that does not exist
	OtherMode             // the writer's key with the other mode
	WrongWay              // the writer's key as Basic
	TwoHeaders            // the writer's key, twice
)

// Case is one bad request and its answer.
type Case struct {
	Name   string
	Who    Who
	Method string
	Path   string            // with query
	Header map[string]string // "" removes what would be sent
	Body   string
	Chunks bool // sent without Content-Length

	Status int
	Code   string
	Where  string // a place in errors: a pointer ("/amount"), "header:Name" or "parameter:name"; "/" = the whole body, "" = not checked
}

const (
	goodRefund  = `{"refundId":"rf_bad","orderId":"ord_bad","paymentId":"pay_bad","amount":1250,"currency":"USD"}`
	goodPayment = `{"orderId":"ord_bad","amount":10000,"currency":"USD","channelAccount":"demo"}`
	goodEvent   = `{"specversion":"1.0","id":"bad-1","source":"/bad","type":"refund.requested","data":` + goodRefund + `}`
	eventType   = "application/cloudevents+json"
	batchType   = "application/cloudevents-batch+json"
)

// Cases returns the table. Every request has exactly one fault.
func Cases() []Case {
	var out []Case
	for _, part := range [][]Case{amounts(), syntax(), members(), ids(), headers(), keys(), media(), sizes(), payments(), events(), queries(), paths(),
		senders()} {
		out = append(out, part...)
	}
	return out
}

// refundWith is a POST of a refund whose body has one part replaced.
func refundWith(name, from, to, code, where string) Case {
	return Case{Name: name, Method: "POST", Path: "/v1/refunds", Body: strings.Replace(goodRefund, from, to, 1), Status: 400, Code: code, Where: where}
}

func body(name, text, code, where string) Case {
	return Case{Name: name, Method: "POST", Path: "/v1/refunds", Body: text, Status: 400, Code: code, Where: where}
}

const (
	malformed = "malformed-json"
	invalid   = "invalid-request"
)

func amounts() []Case {
	amount := func(name, value, code string) Case { return refundWith("amount "+name, "1250", value, code, "/amount") }
	return []Case{
		amount("with decimals", "12.50", malformed),
		amount("with zero decimals", "1250.0", malformed),
		refundWith("amount with a comma", "1250", "12,50", malformed, ""),
		amount("with an exponent", "1e3", malformed),
		amount("with a large exponent", "1E+3", malformed),
		amount("minus zero", "-0", malformed),
		amount("with leading zeros", "007", malformed),
		amount("with a plus", "+1", malformed),
		refundWith("amount in hex", "1250", "0x10", malformed, ""),
		amount("not a number", "NaN", malformed),
		amount("infinite", "Infinity", malformed),
		amount("as text", `"1250"`, invalid),
		amount("as decimal text", `"12.50"`, invalid),
		amount("null", "null", invalid),
		amount("true", "true", invalid),
		amount("an array", "[1250]", invalid),
		amount("an object", `{"value":1250}`, invalid),
		amount("zero", "0", invalid),
		amount("negative", "-1250", invalid),
		amount("above 2^53-1", "9007199254740992", invalid),
		amount("above 2^53 by rounding", "9007199254740993", invalid),
		amount("largest int64", "9223372036854775807", invalid),
		amount("beyond int64", "9223372036854775808", invalid),
		amount("of 400 digits", strings.Repeat("9", 400), invalid),
		refundWith("amount missing", `"amount":1250,`, "", invalid, "/amount"),
		refundWith("amount twice", `"amount":1250`, `"amount":1250,"amount":999`, malformed, "/amount"),
		refundWith("amount twice by escape", `"amount":1250`, `"amount":1250,"\u0061mount":999`, malformed, "/amount"),
		refundWith("AMOUNT beside amount", `"amount":1250`, `"amount":1250,"AMOUNT":999`, invalid, "/AMOUNT"),
		refundWith("Amount instead of amount", `"amount"`, `"Amount"`, invalid, "/amount"),
		refundWith("amount with a Kelvin sign", `"orderId"`, "\"o\u212aderId\"", invalid, ""),
	}
}

func syntax() []Case {
	return []Case{
		body("no body", "", malformed, "/"),
		body("white space only", " \n", malformed, "/"),
		body("not JSON", "refund please", malformed, "/"),
		body("null", "null", invalid, "/"),
		body("an array", "["+goodRefund+"]", invalid, "/"),
		body("a string", `"rf_1"`, invalid, "/"),
		body("a number", "1", invalid, "/"),
		body("data after the document", goodRefund+`{"x":1}`, malformed, "/"),
		body("text after the document", goodRefund+" x", malformed, "/"),
		body("two documents in lines", goodRefund+"\n"+goodRefund, malformed, "/"),
		body("byte order mark", "\ufeff"+goodRefund, malformed, "/"),
		body("cut off", goodRefund[:40], malformed, ""),
		body("comma at the end", strings.Replace(goodRefund, "}", ",}", 1), malformed, ""),
		body("single quotes", strings.ReplaceAll(goodRefund, `"`, "'"), malformed, ""),
		body("a comment", "/* x */"+goodRefund, malformed, ""),
		body("invalid UTF-8", strings.Replace(goodRefund, "ord_bad", "ord_\xff", 1), malformed, ""),
		body("overlong UTF-8", strings.Replace(goodRefund, "ord_bad", "ord_\xc0\xaf", 1), malformed, ""),
		body("UTF-16", "\xff\xfe{\x00}\x00", malformed, ""),
		refundWith("a control character", "ord_bad", "ord\tbad", malformed, "/orderId"),
		refundWith("half a surrogate pair", `"USD"`, `"USD","reason":"\ud800"`, malformed, "/reason"),
		refundWith("U+0000", `"USD"`, `"USD","reason":"a\u0000b"`, malformed, "/reason"),
		refundWith("nested too deeply", `"USD"`, `"USD","metadata":`+strings.Repeat(`{"a":`, 30)+`1`+strings.Repeat("}", 30), malformed, ""),
	}
}

func members() []Case {
	long := strings.Repeat("x", 501)
	many := `"USD","metadata":{`
	for i := range 51 {
		if i > 0 {
			many += ","
		}
		many += `"k` + strings.Repeat("x", i) + `":"v"`
	}
	with := func(name, extra, code, where string) Case {
		return refundWith(name, `"USD"`, `"USD",`+extra, code, where)
	}
	return []Case{
		with("unknown member", `"note":"x"`, invalid, "/note"),
		with("member of the answer", `"state":"SUCCESS"`, invalid, "/state"),
		with("tenant in the body", `"tenant":"other"`, invalid, "/tenant"),
		with("reason null", `"reason":null`, invalid, "/reason"),
		with("reason empty", `"reason":""`, invalid, "/reason"),
		with("reason too long", `"reason":"`+long+`"`, invalid, "/reason"),
		with("reason a number", `"reason":5`, invalid, "/reason"),
		with("metadata null", `"metadata":null`, invalid, "/metadata"),
		with("metadata an array", `"metadata":["a"]`, invalid, "/metadata"),
		with("metadata holds a number", `"metadata":{"a":1}`, invalid, "/metadata/a"),
		with("metadata holds a float", `"metadata":{"a":1.5}`, malformed, "/metadata/a"),
		with("metadata holds an object", `"metadata":{"a":{"b":"c"}}`, invalid, "/metadata/a"),
		with("metadata repeats a name", `"metadata":{"a":"1","a":"2"}`, malformed, "/metadata/a"),
		with("metadata with an empty name", `"metadata":{"":"1"}`, invalid, "/metadata"),
		with("metadata with a long name", `"metadata":{"`+strings.Repeat("n", 65)+`":"1"}`, invalid, "/metadata"),
		with("metadata text too long", `"metadata":{"a":"`+long+`xxxxxxxxxxxx"}`, invalid, "/metadata/a"),
		refundWith("metadata with too many names", `"USD"`, many+"}", invalid, "/metadata"),
		with("payment null", `"payment":null`, invalid, "/payment"),
		with("payment empty", `"payment":{}`, invalid, "/payment/orderId"),
		with("payment with an unknown member", `"payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","paymentId":"p"}`, invalid,
			"/payment/paymentId"),
		with("payment with a float", `"payment":{"orderId":"o","amount":1.5,"currency":"USD","channelAccount":"demo"}`, malformed, "/payment/amount"),
		with("inline payment with an invalid time", `"payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","paidAt":"yesterday"}`,
			invalid, "/payment/paidAt"),
		with("inline payment paid at a number", `"payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","paidAt":7}`, invalid,
			"/payment/paidAt"),
		with("inline payment paid in the future",
			`"payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","paidAt":"9999-01-01T00:00:00Z"}`, invalid, "/payment/paidAt"),
		with("inline payment paid too long ago",
			`"payment":{"orderId":"o","amount":1,"currency":"USD","channelAccount":"demo","paidAt":"1999-12-31T23:59:59.999999Z"}`, invalid, "/payment/paidAt"),
		with("payment with an unknown currency", `"payment":{"orderId":"o","amount":1,"currency":"XXY","channelAccount":"demo"}`, invalid, "/payment/currency"),
		refundWith("currency missing", `,"currency":"USD"`, "", invalid, "/currency"),
		refundWith("currency in small letters", "USD", "usd", invalid, "/currency"),
		refundWith("currency of two letters", "USD", "US", invalid, "/currency"),
		refundWith("currency with a space", "USD", "USD ", invalid, "/currency"),
		refundWith("currency that does not exist", "USD", "ABC", invalid, "/currency"),
		refundWith("currency number", `"USD"`, "840", invalid, "/currency"),
		refundWith("currency in wide letters", "USD", "ＵＳＤ", invalid, "/currency"),
	}
}

func ids() []Case {
	return []Case{
		refundWith("refundId missing", `"refundId":"rf_bad",`, "", invalid, "/refundId"),
		refundWith("refundId empty", "rf_bad", "", invalid, "/refundId"),
		refundWith("refundId a number", `"rf_bad"`, "1001", invalid, "/refundId"),
		refundWith("refundId null", `"rf_bad"`, "null", invalid, "/refundId"),
		refundWith("refundId with a space", "rf_bad", "rf bad", invalid, "/refundId"),
		refundWith("refundId with a slash", "rf_bad", "rf/bad", invalid, "/refundId"),
		refundWith("refundId with a line feed", "rf_bad", `rf_bad\n`, invalid, "/refundId"),
		refundWith("refundId of 65 characters", "rf_bad", strings.Repeat("r", 65), invalid, "/refundId"),
		refundWith("refundId not ASCII", "rf_bad", "rf_bäd", invalid, "/refundId"),
		refundWith("refundId with quote and SQL", "rf_bad", `rf'; DROP TABLE refunds;--`, invalid, "/refundId"),
		refundWith("orderId missing", `"orderId":"ord_bad",`, "", invalid, "/orderId"),
		refundWith("orderId an object", `"ord_bad"`, `{"$ne":""}`, invalid, "/orderId"),
		refundWith("paymentId missing", `"paymentId":"pay_bad",`, "", invalid, "/paymentId"),
		refundWith("paymentId with a percent", "pay_bad", "pay%20bad", invalid, "/paymentId"),
	}
}
