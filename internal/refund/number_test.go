package refund_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
)

const testInstallation = "018f6f4e-7c00-7000-8000-000000000001"

func TestDispatchNumberShape(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`\AR1[0-9A-HJKMNP-TV-Z]{32}\z`)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[A-Za-z0-9._:~@=+-]{1,64}`).Draw(t, "refundId")
		code := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,62}`).Draw(t, "tenant")
		no := rapid.IntRange(1, 100).Draw(t, "ordinal")
		n := refund.DispatchNumber(testInstallation, code, id, no)
		if !shape.MatchString(n) || len(n) != refund.NumberLength {
			t.Fatalf("%q is not R1 and 32 Crockford digits", n)
		}
		if n != refund.DispatchNumber(testInstallation, code, id, no) {
			t.Fatal("the number must be the same every time")
		}
		if n == refund.DispatchNumber(testInstallation, code, id, no+1) {
			t.Fatal("the next dispatch needs a number of its own")
		}
	})
}

// C29: two tenants share a merchant account and both use refundId r-17.
func TestTenantsNeverShareANumber(t *testing.T) {
	t.Parallel()
	a := refund.DispatchNumber(testInstallation, "tenant-a", "r-17", 1)
	b := refund.DispatchNumber(testInstallation, "tenant-b", "r-17", 1)
	if a == b {
		t.Error("two tenants got one number at their shared account")
	}
	if a == refund.DispatchNumber("018f6f4e-7c00-7000-8000-000000000002", "tenant-a", "r-17", 1) {
		t.Error("two installations got one number at their shared account")
	}
}
