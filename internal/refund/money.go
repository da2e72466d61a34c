package refund

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxAmount is the largest amount in minor units: 2^53 − 1, the largest whole
// number that every JSON reader keeps exact.
const MaxAmount = 1<<53 - 1

// Errors of amounts. They never quote the value, which comes from outside.
var (
	ErrAmount         = errors.New("refund: amount not usable")
	ErrNotExpressible = errors.New("refund: amount cannot be expressed in that unit")
)

// Money is an amount in the minor unit of its currency: {1250, "USD"} is
// 12.50 dollars, {500, "JPY"} is 500 yen.
type Money struct {
	Amount   int64    // minor units
	Currency Currency // from ParseCurrency
}

// ValidAmount reports whether n may be the amount of a payment, a capture or a
// refund request: 1 to MaxAmount minor units.
func ValidAmount(n int64) bool { return n >= 1 && n <= MaxAmount }

// String returns the decimal and the code, as "12.50 USD", for people and logs.
func (m Money) String() string { return m.Decimal() + " " + string(m.Currency) }

// Decimal returns the amount in whole units with exactly as many decimals as the currency has: "12.50" for USD, "500" for
// JPY, "1.250" for KWD. Negative amounts, which occur in ledger entries, begin with "-". A currency that did not come from
// ParseCurrency gives "", because a guess could move money.
func (m Money) Decimal() string {
	exp := m.Currency.Exponent()
	if exp < 0 {
		return ""
	}
	digits := strconv.FormatInt(m.Amount, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if exp == 0 {
		return sign + digits
	}
	if len(digits) <= exp {
		digits = strings.Repeat("0", exp+1-len(digits)) + digits
	}
	point := len(digits) - exp
	return sign + digits[:point] + "." + digits[point:]
}

// ParseDecimal reads the output of Decimal, for channels whose unit is the whole unit, and returns minor units. It accepts
// the one spelling of an amount: no sign, no spaces, no grouping, no exponent, no superfluous leading zero, and exactly as
// many decimals as the currency has ("12.5" and "12.500" are refused for USD, "500.00" for JPY). A channel with another
// spelling has its own reader beside its client. Errors: ErrCurrency, ErrAmount (spelling, zero, above MaxAmount).
func ParseDecimal(s string, c Currency) (int64, error) {
	exp := c.Exponent()
	if exp < 0 {
		return 0, ErrCurrency
	}
	whole, fraction, point := strings.Cut(s, ".")
	if point != (exp > 0) || len(fraction) != exp {
		return 0, fmt.Errorf("%w: needs exactly %d decimals", ErrAmount, exp)
	}
	if whole == "" || (len(whole) > 1 && whole[0] == '0') || !isDigits(whole) || !isDigits(fraction) {
		return 0, fmt.Errorf("%w: not a plain decimal number", ErrAmount)
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || !ValidAmount(n) {
		return 0, fmt.Errorf("%w: outside 1 to %d minor units", ErrAmount, int64(MaxAmount))
	}
	return n, nil
}

// InUnit converts to a channel that counts whole numbers of 10^−exponent of the currency's unit, whatever ISO 4217 says: a
// channel that counts krónur in hundredths has exponent 2 for ISK and takes 500 as 50000. Amounts are never rounded. Errors:
// ErrCurrency, ErrNotExpressible (a remainder, a result above MaxAmount, or an exponent outside 0 to 4), ErrAmount (outside
// 1 to MaxAmount).
func (m Money) InUnit(exponent int) (int64, error) {
	own := m.Currency.Exponent()
	if own < 0 {
		return 0, ErrCurrency
	}
	if !ValidAmount(m.Amount) {
		return 0, ErrAmount
	}
	return rescale(m.Amount, own, exponent)
}

// FromUnit is the inverse of InUnit: it returns the minor units of c for n units of the channel. Errors as InUnit.
func FromUnit(n int64, exponent int, c Currency) (int64, error) {
	own := c.Exponent()
	if own < 0 {
		return 0, ErrCurrency
	}
	if !ValidAmount(n) {
		return 0, ErrAmount
	}
	return rescale(n, exponent, own)
}

func rescale(n int64, from, to int) (int64, error) {
	if from < 0 || from > 4 || to < 0 || to > 4 {
		return 0, ErrNotExpressible
	}
	for ; from < to; from++ {
		if n > MaxAmount/10 {
			return 0, ErrNotExpressible
		}
		n *= 10
	}
	for ; from > to; from-- {
		if n%10 != 0 {
			return 0, ErrNotExpressible
		}
		n /= 10
	}
	return n, nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
