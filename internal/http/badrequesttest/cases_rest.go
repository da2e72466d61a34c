package badrequesttest

import "strings"

func refundHeader(name, header, value string, status int, code, where string) Case {
	return Case{Name: name, Method: "POST", Path: "/v1/refunds", Body: goodRefund, Header: map[string]string{header: value}, Status: status, Code: code,
		Where: where}
}

// headers includes case C14 of docs/cases.md: a request without a key is refused.
func headers() []Case {
	const name = "Idempotency-Key"
	key := func(what, value string) Case {
		return refundHeader("key "+what, name, value, 400, "idempotency-key-invalid", "header:"+name)
	}
	return []Case{
		refundHeader("key missing", name, "", 400, "idempotency-key-missing", "header:"+name), // C14
		key("blank", " "),
		key("empty in quotes", `""`),
		key("quoted and not closed", `"abc`),
		key("with text behind the quotes", `"abc"x`),
		key("with parameters", `"abc";v=1`),
		key("with an unknown escape", `"a\bc"`),
		key("with a space", "a b"),
		key("with a space in quotes", `"a b"`),
		key("not ASCII", "schlüssel"),
		key("of 256 characters", strings.Repeat("k", 256)),
		refundHeader("Prefer too long", "Prefer", strings.Repeat("a", 201), 400, invalid, "header:Prefer"),
	}
}

// keys are invalid API keys.
func keys() []Case {
	send := func(name, value string) Case {
		c := refundHeader(name, "Authorization", value, 401, "unauthorized", "")
		c.Who = Nobody
		return c
	}
	const prefix, secret = "AAAAAAAA", "0123456789012345678901234567890123456789012"
	return []Case{
		send("no scheme", "rfk_test_"+prefix+"_"+secret),
		send("no token", "Bearer "),
		send("not one of our keys", "Bearer eyJhbGciOiJub25lIn0.e30."),
		send("key cut off", "Bearer rfk_test_"+prefix+"_"+secret[:42]),
		send("key too long", "Bearer rfk_test_"+prefix+"_"+secret+"0"),
		send("key of an unknown mode", "Bearer rfk_prod_"+prefix+"_"+secret),
		send("key with an invalid character", "Bearer rfk_test_"+prefix+"_"+secret[:42]+"-"),
		send("key with a parameter", "Bearer rfk_test_"+prefix+"_"+secret+", x=1"),
	}
}

func media() []Case {
	send := func(name, contentType string) Case {
		return refundHeader("media type "+name, "Content-Type", contentType, 415, "unsupported-media-type", "")
	}
	payment := Case{Name: "payment as text", Method: "PUT", Path: "/v1/payments/pay_bad", Body: goodPayment,
		Header: map[string]string{"Content-Type": "text/plain"}, Status: 415, Code: "unsupported-media-type"}
	return []Case{
		send("missing", ""), send("text", "text/plain"), send("form", "application/x-www-form-urlencoded"), send("of patches", "application/merge-patch+json"),
		send("that begins with application/json", "application/jsonp"),
		send("in another charset", "application/json; charset=iso-8859-1"), send("that is no media type", "json;;"),
		refundHeader("gzip", "Content-Encoding", "gzip", 415, "unsupported-media-type", ""),
		payment,
		{Name: "events as text", Method: "POST", Path: "/v1/events", Body: goodEvent, Header: map[string]string{"Content-Type": "text/plain"}, Status: 415,
			Code: "unsupported-media-type"},
	}
}

func sizes() []Case {
	big := strings.Replace(goodRefund, `"USD"`, `"USD","reason":"`+strings.Repeat("x", 64<<10)+`"`, 1)
	padded := goodRefund + strings.Repeat(" ", 64<<10)
	return []Case{
		{Name: "refund above 64 KiB", Method: "POST", Path: "/v1/refunds", Body: big, Status: 413, Code: "body-too-large"},
		{Name: "refund above 64 KiB in chunks", Method: "POST", Path: "/v1/refunds", Body: big, Chunks: true, Status: 413, Code: "body-too-large"},
		{Name: "refund padded above 64 KiB", Method: "POST", Path: "/v1/refunds", Body: padded, Status: 413, Code: "body-too-large"},
		{Name: "payment above 64 KiB", Method: "PUT", Path: "/v1/payments/pay_bad", Body: padded, Status: 413, Code: "body-too-large"},
		{Name: "events above 4 MiB", Method: "POST", Path: "/v1/events", Header: map[string]string{"Content-Type": batchType},
			Body: "[" + strings.Repeat(" ", 4<<20) + "]", Status: 413, Code: "body-too-large"},
		{Name: "more than 1000 events", Method: "POST", Path: "/v1/events", Header: map[string]string{"Content-Type": batchType},
			Body: "[" + strings.Repeat("{},", 1000) + "{}]", Status: 413, Code: "body-too-large"},
	}
}

func payments() []Case {
	put := func(name, from, to, code, where string) Case {
		return Case{Name: "payment " + name, Method: "PUT", Path: "/v1/payments/pay_bad", Body: strings.Replace(goodPayment, from, to, 1), Status: 400,
			Code: code, Where: where}
	}
	return []Case{
		put("without an account", `,"channelAccount":"demo"`, "", invalid, "/channelAccount"),
		put("of a float", "10000", "100.00", malformed, "/amount"),
		put("of amount zero", "10000", "0", invalid, "/amount"),
		put("with its id in the body", `"orderId"`, `"paymentId":"pay_bad","orderId"`, invalid, "/paymentId"),
		put("with a negative version", `"demo"`, `"demo","version":-1`, invalid, "/version"),
		put("with a version of text", `"demo"`, `"demo","version":"1"`, invalid, "/version"),
		put("with a negative refundedElsewhere", `"demo"`, `"demo","refundedElsewhere":-1`, invalid, "/refundedElsewhere"),
		put("with an invalid time", `"demo"`, `"demo","paidAt":"2026-03-01"`, invalid, "/paidAt"),
		put("paid in the future", `"demo"`, `"demo","paidAt":"9999-01-01T00:00:00Z"`, invalid, "/paidAt"),
		put("with an empty reference", `"demo"`, `"demo","channelReference":""`, invalid, "/channelReference"),
		put("with a reference of blanks", `"demo"`, `"demo","channelReference":"a b"`, invalid, "/channelReference"),
		put("in a currency that does not exist", "USD", "QQQ", invalid, "/currency"),
		{Name: "payment with a bad id", Method: "PUT", Path: "/v1/payments/pay%20bad", Body: goodPayment, Status: 400, Code: invalid, Where: "parameter:paymentId"},
		{Name: "payment with a long id", Method: "PUT", Path: "/v1/payments/" + strings.Repeat("p", 65), Body: goodPayment, Status: 400, Code: invalid,
			Where: "parameter:paymentId"},
		{Name: "payment with a dot as id", Method: "PUT", Path: "/v1/payments/%2E", Body: goodPayment, Status: 400, Code: invalid, Where: "parameter:paymentId"},
		{Name: "payment with two dots as id", Method: "PUT", Path: "/v1/payments/%2e%2E", Body: goodPayment, Status: 400, Code: invalid,
			Where: "parameter:paymentId"},
	}
}

// events are the requests that nothing marks as events. Events that cannot be read are parked and answered 2xx.
func events() []Case {
	return []Case{{Name: "events in binary mode without an attribute", Method: "POST", Path: "/v1/events",
		Header: map[string]string{"Content-Type": "application/json"}, Body: goodRefund, Status: 400, Code: invalid, Where: "header:ce-specversion"}}
}

func queries() []Case {
	get := func(name, query, code, where string) Case {
		return Case{Name: "list " + name, Method: "GET", Path: "/v1/refunds?" + query, Status: 400, Code: code, Where: where}
	}
	return []Case{
		get("of an unknown filter", "status=PENDING", invalid, "parameter:status"),
		get("of an unknown state", "state=DONE", invalid, "parameter:state"),
		get("of a state in small letters", "state=pending", invalid, "parameter:state"),
		get("of no state", "state=", invalid, "parameter:state"),
		get("of a state twice", "state=PENDING&state=UNKNOWN", invalid, "parameter:state"),
		get("limit zero", "limit=0", invalid, "parameter:limit"),
		get("limit 101", "limit=101", invalid, "parameter:limit"),
		get("limit of text", "limit=ten", invalid, "parameter:limit"),
		get("limit of a float", "limit=1.5", invalid, "parameter:limit"),
		get("cursor made up", "cursor=abc", "invalid-cursor", "parameter:cursor"),
		get("cursor of other bytes", "cursor=%00%ff", "invalid-cursor", "parameter:cursor"),
		get("cursor too long", "cursor="+strings.Repeat("a", 513), invalid, "parameter:cursor"),
		get("case of another word", "case=closed", invalid, "parameter:case"),
		get("order with a bad id", "orderId=a%20b", invalid, "parameter:orderId"),
		get("since yesterday", "createdFrom=yesterday", invalid, "parameter:createdFrom"),
		get("since a date", "createdFrom=2026-03-01", invalid, "parameter:createdFrom"),
		get("of a time that ends before it begins", "createdFrom=2026-03-02T00:00:00Z&createdBefore=2026-03-01T00:00:00Z", invalid, "parameter:createdBefore"),
		get("of a negative age", "minSecondsInState=-1", invalid, "parameter:minSecondsInState"),
		get("with a broken query", "state=%zz", invalid, ""),
		{Name: "query where none is known", Method: "GET", Path: "/v1/refunds/rf_bad?expand=all", Status: 400, Code: invalid, Where: "parameter:expand"},
		{Name: "query on a POST", Method: "POST", Path: "/v1/refunds?dryRun=true", Body: goodRefund, Status: 400, Code: invalid, Where: "parameter:dryRun"},
	}
}

func paths() []Case {
	return []Case{
		{Name: "no such path", Method: "GET", Path: "/v1/nothing", Status: 404, Code: "not-found"},
		{Name: "root", Method: "GET", Path: "/", Status: 404, Code: "not-found"},
		{Name: "slash at the end", Method: "GET", Path: "/v1/refunds/", Status: 404, Code: "not-found"},
		{Name: "path outside of the tree", Method: "GET", Path: "/v1/refunds/..%2f..%2fetc%2fpasswd", Status: 400, Code: invalid, Where: "parameter:refundId"},
		{Name: "refund with a bad id", Method: "GET", Path: "/v1/refunds/rf%20bad", Status: 400, Code: invalid, Where: "parameter:refundId"},
		{Name: "refund with a zero byte", Method: "GET", Path: "/v1/refunds/rf%00", Status: 400, Code: invalid, Where: "parameter:refundId"},
		{Name: "cancel with a body", Method: "POST", Path: "/v1/refunds/rf_bad/cancel", Body: "{}", Status: 400, Code: invalid, Where: "/"},
		{Name: "check with a body in chunks", Method: "POST", Path: "/v1/refunds/rf_bad/check", Body: "{}", Chunks: true, Status: 400, Code: invalid, Where: "/"},
		{Name: "list with a body", Method: "GET", Path: "/v1/refunds", Body: "{}", Status: 400, Code: invalid, Where: "/"},
		{Name: "DELETE of a refund", Method: "DELETE", Path: "/v1/refunds/rf_bad", Status: 405, Code: "method-not-allowed"},
		{Name: "PUT of refunds", Method: "PUT", Path: "/v1/refunds", Body: goodRefund, Status: 405, Code: "method-not-allowed"},
		{Name: "PATCH of a payment", Method: "PATCH", Path: "/v1/payments/pay_bad", Body: goodPayment, Status: 405, Code: "method-not-allowed"},
		{Name: "GET of events", Method: "GET", Path: "/v1/events", Status: 405, Code: "method-not-allowed"},
		{Name: "GET of cancel", Method: "GET", Path: "/v1/refunds/rf_bad/cancel", Status: 405, Code: "method-not-allowed"},
		{Name: "POST of health", Method: "POST", Path: "/livez", Status: 405, Code: "method-not-allowed"},
		{Name: "unknown method", Method: "REFUND", Path: "/v1/refunds", Status: 405, Code: "method-not-allowed"},
		{Name: "problem that does not exist", Method: "GET", Path: "/problems/nonsense", Status: 404, Code: "not-found"},
	}
}

func senders() []Case {
	post := func(name string, who Who, status int, code string) Case {
		return Case{Name: name, Who: who, Method: "POST", Path: "/v1/refunds", Body: goodRefund, Status: status, Code: code}
	}
	return []Case{
		post("no Authorization", Nobody, 401, "unauthorized"),
		post("key that does not exist", WrongKey, 401, "unauthorized"),
		post("key under the other mode", OtherMode, 401, "unauthorized"),
		post("key as Basic", WrongWay, 401, "unauthorized"),
		post("Authorization twice", TwoHeaders, 401, "unauthorized"),
		post("refund by a reader", Reader, 403, "scope-missing"),
		{Name: "payment by a reader", Who: Reader, Method: "PUT", Path: "/v1/payments/pay_bad", Body: goodPayment, Status: 403, Code: "scope-missing"},
		{Name: "events by a reader", Who: Reader, Method: "POST", Path: "/v1/events", Header: map[string]string{"Content-Type": eventType}, Body: goodEvent,
			Status: 403, Code: "scope-missing"},
		{Name: "cancel by a reader", Who: Reader, Method: "POST", Path: "/v1/refunds/rf_bad/cancel", Status: 403, Code: "scope-missing"},
		{Name: "check by a reader", Who: Reader, Method: "POST", Path: "/v1/refunds/rf_bad/check", Status: 403, Code: "scope-missing"},
		{Name: "list by nobody", Who: Nobody, Method: "GET", Path: "/v1/refunds", Status: 401, Code: "unauthorized"},
		{Name: "timeline by nobody", Who: Nobody, Method: "GET", Path: "/v1/refunds/rf_bad/timeline", Status: 401, Code: "unauthorized"},
	}
}
