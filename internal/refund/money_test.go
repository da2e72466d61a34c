package refund_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
)

// oneOfEachExponent draws a currency with 0, 2, 3 or 4 decimals.
func oneOfEachExponent() *rapid.Generator[refund.Currency] {
	return rapid.SampledFrom([]refund.Currency{"JPY", "KRW", "ISK", "USD", "EUR", "HUF", "KWD", "BHD", "TND", "CLF", "UYW"})
}

func validAmounts() *rapid.Generator[int64] { return rapid.Int64Range(1, refund.MaxAmount) }

// C8: yen multiplied or divided by 100. What an integer means must follow from
// ISO 4217 alone, for every number of decimals.
func TestDecimalFollowsTheExponent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		amount   int64
		currency refund.Currency
		want     string
	}{
		{1250, "USD", "12.50"}, {5, "USD", "0.05"}, {100, "USD", "1.00"},
		{500, "JPY", "500"}, {1, "KRW", "1"},
		{1250, "KWD", "1.250"}, {7, "BHD", "0.007"},
		{12345, "CLF", "1.2345"}, {1, "UYW", "0.0001"},
		{refund.MaxAmount, "USD", "90071992547409.91"},
		{0, "USD", "0.00"}, {-5, "USD", "-0.05"}, {-1250, "JPY", "-1250"},
		{math.MinInt64, "KWD", "-9223372036854775.808"},
		{100, "usd", ""}, {100, "", ""}, {100, "XAU", ""},
	} {
		m := refund.Money{Amount: tc.amount, Currency: tc.currency}
		same(t, fmt.Sprintf("Decimal of %d %s", tc.amount, tc.currency), m.Decimal(), tc.want)
	}
	same(t, "String", refund.Money{Amount: 1250, Currency: "USD"}.String(), "12.50 USD")
}

func TestDecimalRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := refund.Money{Amount: validAmounts().Draw(t, "amount"), Currency: oneOfEachExponent().Draw(t, "currency")}
		got, err := refund.ParseDecimal(m.Decimal(), m.Currency)
		if err != nil || got != m.Amount {
			t.Fatalf("%s read back as %d (%v), want %d", m, got, err, m.Amount)
		}
	})
}

// Every text that ParseDecimal accepts is the output of Decimal, so that an amount has one spelling.
func TestDecimalHasOneSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := oneOfEachExponent().Draw(t, "currency")
		s := rapid.StringMatching(`[-+ ]?[0-9]{0,6}[.,]?[0-9]{0,5}(e[0-9])?`).Draw(t, "text")
		n, err := refund.ParseDecimal(s, c)
		if err != nil {
			return
		}
		if back := (refund.Money{Amount: n, Currency: c}).Decimal(); back != s {
			t.Fatalf("%q was accepted as %d %s, which is written %q", s, n, c, back)
		}
	})
}

// C9: guessing at commas, exponents, too many digits and signs gives another amount.
func TestDecimalRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	for currency, texts := range map[refund.Currency][]string{
		"USD": {"", ".", "12", "12.", ".50", "12.5", "12.500", "79,00", "1,250.00", "1 250.00", "1e3", "1.2e1", "-1.00", "+1.00",
			" 1.00", "1.00 ", "01.00", "00.05", "0.00", "1.0O", "١.٠٠", "NaN", "0x1.00", "1_0.00", "14505.000000000002",
			"90071992547409.92", "99999999999999999999.00", "1.00\x00", "1..00", "1.0.0"},
		"JPY": {"500.00", "500.", "0", "007", "-1", "9007199254740992", "9223372036854775808"},
		"KWD": {"1.25", "1", "1.2500", "0.000"},
		"CLF": {"1.234", "1.23456"},
	} {
		for _, s := range texts {
			if n, err := refund.ParseDecimal(s, currency); !errors.Is(err, refund.ErrAmount) || n != 0 {
				t.Errorf("ParseDecimal(%q, %s) = %d, %v; want ErrAmount", s, currency, n, err)
			}
		}
	}
	if _, err := refund.ParseDecimal("1.00", "usd"); !errors.Is(err, refund.ErrCurrency) {
		t.Errorf("a currency that was never parsed: got %v, want ErrCurrency", err)
	}
}

// C8 for channels that count in a unit of their own.
func TestChannelUnits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		money    refund.Money
		exponent int
		want     int64
		err      error
	}{
		{"same unit", refund.Money{Amount: 1250, Currency: "USD"}, 2, 1250, nil},
		{"channel counts yen in hundredths", refund.Money{Amount: 500, Currency: "JPY"}, 2, 50000, nil},
		{"channel counts whole forints", refund.Money{Amount: 12300, Currency: "HUF"}, 0, 123, nil},
		{"half a forint is never rounded", refund.Money{Amount: 12350, Currency: "HUF"}, 0, 0, refund.ErrNotExpressible},
		{"channel counts dinars in hundredths", refund.Money{Amount: 1250, Currency: "KWD"}, 2, 125, nil},
		{"a thousandth of a dinar is never rounded", refund.Money{Amount: 1251, Currency: "KWD"}, 2, 0, refund.ErrNotExpressible},
		{"result above the largest amount", refund.Money{Amount: refund.MaxAmount, Currency: "JPY"}, 2, 0, refund.ErrNotExpressible},
		{"no such unit", refund.Money{Amount: 1, Currency: "JPY"}, 5, 0, refund.ErrNotExpressible},
		{"no such unit", refund.Money{Amount: 1, Currency: "JPY"}, -1, 0, refund.ErrNotExpressible},
		{"zero", refund.Money{Amount: 0, Currency: "JPY"}, 0, 0, refund.ErrAmount},
		{"no currency", refund.Money{Amount: 1}, 0, 0, refund.ErrCurrency},
	} {
		got, err := tc.money.InUnit(tc.exponent)
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %d, %v; want %d, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
	if _, err := refund.FromUnit(1, 2, "JPY"); !errors.Is(err, refund.ErrNotExpressible) {
		t.Errorf("a hundredth of a yen reported by a channel: got %v, want ErrNotExpressible", err)
	}
	if _, err := refund.FromUnit(0, 2, "USD"); !errors.Is(err, refund.ErrAmount) {
		t.Errorf("zero reported by a channel: got %v, want ErrAmount", err)
	}
	if _, err := refund.FromUnit(1, 2, "usd"); !errors.Is(err, refund.ErrCurrency) {
		t.Errorf("unknown currency: got %v, want ErrCurrency", err)
	}
}

func TestChannelUnitRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := refund.Money{Amount: validAmounts().Draw(t, "amount"), Currency: oneOfEachExponent().Draw(t, "currency")}
		exponent := rapid.IntRange(0, 4).Draw(t, "channel's exponent")
		n, err := m.InUnit(exponent)
		if err != nil {
			return // an amount may be inexpressible, it is never rounded
		}
		back, err := refund.FromUnit(n, exponent, m.Currency)
		if err != nil || back != m.Amount {
			t.Fatalf("%s as %d of 10^-%d came back as %d (%v)", m, n, exponent, back, err)
		}
	})
}

func TestValidAmount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]bool{
		math.MinInt64: false, -1: false, 0: false, 1: true,
		refund.MaxAmount: true, refund.MaxAmount + 1: false, math.MaxInt64: false,
	} {
		same(t, fmt.Sprintf("ValidAmount(%d)", n), refund.ValidAmount(n), want)
	}
}

// The list as a whole: 178 active codes, of which 13 have no minor unit.
func TestCurrencyList(t *testing.T) {
	t.Parallel()
	count := map[int]int{}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			for c := 'A'; c <= 'Z'; c++ {
				got, err := refund.ParseCurrency(string([]rune{a, b, c}))
				if err == nil {
					count[got.Exponent()]++
				} else if got != "" {
					t.Errorf("a refused code came back as %q", got)
				}
			}
		}
	}
	same(t, "currencies without decimals", count[0], 17)
	same(t, "with 2", count[2], 139)
	same(t, "with 3", count[3], 7)
	same(t, "with 4", count[4], 2)
	same(t, "kinds", len(count), 4)
}

func TestCurrencyExponents(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"USD": 2, "EUR": 2, "CNY": 2, "HUF": 2, "MGA": 2, "MRU": 2, "XCG": 2, "ZWG": 2, "SLE": 2, "VED": 2,
		"JPY": 0, "KRW": 0, "VND": 0, "CLP": 0, "ISK": 0, "UGX": 0, "XOF": 0, "UYI": 0,
		"KWD": 3, "BHD": 3, "IQD": 3, "OMR": 3, "CLF": 4, "UYW": 4,
	} {
		c, err := refund.ParseCurrency(code)
		if err != nil {
			t.Errorf("%s: %v", code, err)
		}
		same(t, "exponent of "+code, c.Exponent(), want)
	}
}

func TestCurrencyRefused(t *testing.T) {
	t.Parallel()
	for code, reason := range map[string]string{
		"": "three upper-case", "usd": "three upper-case", "Usd": "three upper-case", "US": "three upper-case", "USDT": "three upper-case",
		"US ": "three upper-case", " US": "three upper-case", "D U": "three upper-case", "840": "three upper-case", "ＵＳＤ": "three upper-case", "€": "three upper-case",
		"XAU": "without a minor unit", "XDR": "without a minor unit", "XTS": "without a minor unit", "XXX": "without a minor unit",
		"HRK": "active", "BGN": "active", "ANG": "active", "ZWL": "active", "DEM": "active", "BTC": "active", "ZZZ": "active",
	} {
		c, err := refund.ParseCurrency(code)
		if c != "" || !errors.Is(err, refund.ErrCurrency) || !strings.Contains(err.Error(), reason) {
			t.Errorf("ParseCurrency(%q) = %q, %v; want ErrCurrency with %q", code, c, err, reason)
		}
		same(t, "exponent of "+code, refund.Currency(code).Exponent(), -1)
	}
}
