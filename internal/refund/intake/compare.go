package intake

import (
	"crypto/sha256"
	"encoding/json"
	"sort"

	"github.com/refundry/refundry/internal/refund"
)

func event(in Intake) EventRef { return EventRef{in.Tenant.ID, in.Event} }

func sum256(s string) [32]byte { return sha256.Sum256([]byte(s)) }

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// canonical returns the CanonicalJSON of a map with strings and integers only.
func canonical(m map[string]any) string {
	text, err := refund.CanonicalJSON(m)
	if err != nil {
		panic("refund: canonical JSON of strings and integers: " + err.Error())
	}
	return text
}

// differing returns the sorted names of the parameters in which an intake differs from stored ones. The inline payment and
// the time of payment are left out of the comparison, because a repeat may omit them.
func differing(stored string, in Intake) []string {
	asked := in.CanonicalParams()
	if stored == asked {
		return nil
	}
	var a, b map[string]json.RawMessage
	if json.Unmarshal([]byte(stored), &a) != nil || json.Unmarshal([]byte(asked), &b) != nil {
		return []string{"params"}
	}
	for _, beside := range []string{"payment", "paidAt"} {
		delete(a, beside)
		delete(b, beside)
	}
	var out []string
	for k, v := range a {
		if string(b[k]) != string(v) {
			out = append(out, k)
		}
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}

// sameInline reports whether the intake has no inline payment, or the same one as the stored parameters.
func sameInline(stored string, in Intake) bool {
	if in.Refund == nil || in.Refund.Payment == nil {
		return true
	}
	asked := in.CanonicalParams()
	if stored == asked {
		return true
	}
	var a, b map[string]json.RawMessage
	return json.Unmarshal([]byte(stored), &a) == nil && json.Unmarshal([]byte(asked), &b) == nil && string(a["payment"]) == string(b["payment"])
}

// paramsDiff returns the names of the immutable parameters that differ.
func paramsDiff(a, b refund.Params) []string {
	var out []string
	if a.Amount != b.Amount {
		out = append(out, "amount")
	}
	if a.Currency != b.Currency {
		out = append(out, "currency")
	}
	if a.OrderID != b.OrderID {
		out = append(out, "orderId")
	}
	if a.PaymentID != b.PaymentID {
		out = append(out, "paymentId")
	}
	return out
}
