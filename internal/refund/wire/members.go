package wire

import (
	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund/intake"
)

// member is one member of an object of the contract. read sets its value, or notes its faults.
type member[T any] struct {
	name     string
	optional bool
	read     func(r *reader, v strictjson.Value, into *T)
}

// requestMembers are the members of RefundRequest in the contract.
var requestMembers = []member[intake.Request]{
	{"refundId", false, func(r *reader, v strictjson.Value, into *intake.Request) { into.RefundID = r.segment(v) }},
	{"orderId", false, func(r *reader, v strictjson.Value, into *intake.Request) { into.OrderID = r.id(v) }},
	{"paymentId", false, func(r *reader, v strictjson.Value, into *intake.Request) { into.PaymentID = r.segment(v) }},
	{"amount", false, func(r *reader, v strictjson.Value, into *intake.Request) { into.Amount = r.amount(v) }},
	{"currency", false, func(r *reader, v strictjson.Value, into *intake.Request) { into.Currency = r.currency(v) }},
	{"reason", true, func(r *reader, v strictjson.Value, into *intake.Request) { into.Reason = r.reason(v) }},
	{"metadata", true, func(r *reader, v strictjson.Value, into *intake.Request) { into.Metadata = r.metadata(v) }},
	{"payment", true, func(r *reader, v strictjson.Value, into *intake.Request) {
		into.Payment = &intake.PaymentSpec{}
		readObject(r, v, paymentMembers, into.Payment)
	}},
}

// paymentMembers are the members of PaymentSnapshot in the contract.
var paymentMembers = []member[intake.PaymentSpec]{
	{"orderId", false, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) { into.OrderID = r.id(v) }},
	{"amount", false, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) { into.Amount = r.amount(v) }},
	{"currency", false, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) { into.Currency = r.currency(v) }},
	{"channelAccount", false, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) { into.Account = r.id(v) }},
	{"channelReference", true, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) { into.Reference = r.reference(v) }},
	{"version", true, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) {
		into.Version, into.VersionGiven = r.count(v), true
	}},
	{"refundedElsewhere", true, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) {
		into.RefundedElsewhere, into.ElsewhereGiven = r.count(v), true
	}},
	{"paidAt", true, func(r *reader, v strictjson.Value, into *intake.PaymentSpec) { into.PaidAt = r.paidAt(v) }},
}

// captureMembers are the members of CapturedPayment in the contract.
var captureMembers = []member[intake.Capture]{
	{"paymentId", false, func(r *reader, v strictjson.Value, into *intake.Capture) { into.PaymentID = r.segment(v) }},
	{"captureId", false, func(r *reader, v strictjson.Value, into *intake.Capture) { into.CaptureID = r.id(v) }},
	{"orderId", false, func(r *reader, v strictjson.Value, into *intake.Capture) { into.OrderID = r.id(v) }},
	{"amount", false, func(r *reader, v strictjson.Value, into *intake.Capture) { into.Amount = r.amount(v) }},
	{"currency", false, func(r *reader, v strictjson.Value, into *intake.Capture) { into.Currency = r.currency(v) }},
	{"channelAccount", false, func(r *reader, v strictjson.Value, into *intake.Capture) { into.Account = r.id(v) }},
	{"channelReference", true, func(r *reader, v strictjson.Value, into *intake.Capture) { into.Reference = r.reference(v) }},
	{"paidAt", true, func(r *reader, v strictjson.Value, into *intake.Capture) { into.PaidAt = r.paidAt(v) }},
}
