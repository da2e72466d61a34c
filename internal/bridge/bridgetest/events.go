package bridgetest

import (
	"fmt"
)

// event is a refund.requested. A hundred events share a payment.
type event struct {
	id, refundID, payment string
	amount                int
	tenant, version       string
	bare                  bool // without the inline payment
}

func eventNo(i int) event {
	return event{id: fmt.Sprintf("evt-%d", i), refundID: fmt.Sprintf("rf_%d", i), payment: fmt.Sprintf("pay_%d", i/100), amount: 100 + i%7,
		tenant: "demo", version: "1.0"}
}

func (e event) message() Message {
	inline := ""
	if !e.bare {
		inline = fmt.Sprintf(`,"payment":{"orderId":"ord_1","amount":1000000000,"currency":"USD","channelAccount":"demo","channelReference":"ch_%s"}`, e.payment)
	}
	return Message{Body: fmt.Appendf(nil, `{"specversion":%q,"id":%q,"source":"/shop","type":"refund.requested","tenantid":%q,`+
		`"data":{"refundId":%q,"orderId":"ord_1","paymentId":%q,"amount":%d,"currency":"USD"%s}}`,
		e.version, e.id, e.tenant, e.refundID, e.payment, e.amount, inline)}
}

func captured(id, payment string) Message {
	return Message{Body: fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"/shop","type":"payment.captured","tenantid":"demo",`+
		`"data":{"paymentId":%q,"captureId":"cap_1","orderId":"ord_1","amount":1000000000,"currency":"USD","channelAccount":"demo"}}`, id, payment)}
}

// messages returns the messages of events from to to-1.
func messages(from, to int) []Message {
	out := make([]Message, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, eventNo(i).message())
	}
	return out
}
