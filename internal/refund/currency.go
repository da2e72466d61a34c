package refund

import (
	"errors"
	"fmt"
	"strings"
)

// Currency is an upper-case ISO 4217 code of the active list. Values come only
// from ParseCurrency; the zero value is no currency.
type Currency string

// ErrCurrency reports a text that names no usable currency. The wrapping error says why.
var ErrCurrency = errors.New("refund: currency not usable")

// The active codes of ISO 4217 by number of decimals ("minor unit"), source: list one of the maintenance agency,
// https://www.six-group.com/en/products-services/financial-information/data-standards.html
// Fund and unit-of-account codes are included when the list gives them a minor unit; the contract decides whether a channel
// pays in one. Currencies that ended (HRK, BGN, ANG, …) are not included: no channel pays them.
const (
	isoExponent0 = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
	isoExponent2 = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD " +
		"CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP " +
		"GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL " +
		"MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN " +
		"QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD " +
		"TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
	isoExponent3 = "BHD IQD JOD KWD LYD OMR TND"
	isoExponent4 = "CLF UYW"
	// Without a minor unit an integer amount has no meaning.
	isoNoExponent = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"
)

// ParseCurrency accepts the upper-case code of an active currency with a minor
// unit, and nothing else: no lower case, no spaces, no numbers, no names.
// Every error is ErrCurrency with the reason.
func ParseCurrency(s string) (Currency, error) {
	if len(s) != 3 || !isUpper(s) {
		return "", fmt.Errorf("%w: not three upper-case letters", ErrCurrency)
	}
	if c := Currency(s); c.known() {
		return c, nil
	}
	if isoHas(isoNoExponent, s) {
		return "", fmt.Errorf("%w: metal, index, test or no-currency code without a minor unit", ErrCurrency)
	}
	return "", fmt.Errorf("%w: not in the active ISO 4217 list", ErrCurrency)
}

// Exponent returns the number of decimals between the currency's unit and its
// minor unit: 0 (JPY), 2 (USD), 3 (KWD) or 4 (CLF). It returns −1 for a value
// that did not come from ParseCurrency; nothing may be computed from that.
func (c Currency) Exponent() int {
	s := string(c)
	switch {
	case len(s) != 3 || !isUpper(s):
		return -1
	case isoHas(isoExponent2, s):
		return 2
	case isoHas(isoExponent0, s):
		return 0
	case isoHas(isoExponent3, s):
		return 3
	case isoHas(isoExponent4, s):
		return 4
	}
	return -1
}

func (c Currency) known() bool { return c.Exponent() >= 0 }

// isoHas reports whether a three-letter code is in a list of codes separated by spaces.
func isoHas(list, code string) bool { return strings.Contains(list, code) }

func isUpper(s string) bool {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}
