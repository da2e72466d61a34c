package bodies

import (
	"strconv"
	"strings"
)

// kind is what a field of the contract holds.
type kind int

const (
	kindID kind = iota
	kindAmount
	kindCount
	kindCurrency
	kindReason
	kindMetadata
	kindPayment
	kindReference
)

type field struct {
	name     string
	kind     kind
	optional bool
}

// The fields of the contract, in its order.
var (
	refundFields = []field{{"refundId", kindID, false}, {"orderId", kindID, false}, {"paymentId", kindID, false}, {"amount", kindAmount, false},
		{"currency", kindCurrency, false}, {"reason", kindReason, true}, {"metadata", kindMetadata, true}, {"payment", kindPayment, true}}
	paymentFields = []field{{"orderId", kindID, false}, {"amount", kindAmount, false}, {"currency", kindCurrency, false},
		{"channelAccount", kindID, false}, {"channelReference", kindReference, true}, {"version", kindCount, true}, {"refundedElsewhere", kindCount, true}}
	captureFields = []field{{"paymentId", kindID, false}, {"captureId", kindID, false}, {"orderId", kindID, false}, {"amount", kindAmount, false},
		{"currency", kindCurrency, false}, {"channelAccount", kindID, false}, {"channelReference", kindReference, true}}
)

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:~@=+-"

// characters returns n characters of a list.
func (g gen) characters(list []rune, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(pick(g, list))
	}
	return b.String()
}

func (g gen) id() string {
	n := g.between(3, 24)
	if g.chance(20) {
		n = pick(g, []int{1, 63, 64})
	}
	return g.characters([]rune(idCharacters), n)
}

func (g gen) amount() string {
	switch g.below(6) {
	case 0:
		return pick(g, []string{"1", "2", "10", "9007199254740991", "9007199254740990", "4503599627370496", "2147483647", "2147483648", "4294967296"})
	case 1:
		return strconv.Itoa(g.between(1, 99))
	}
	return strconv.Itoa(g.between(100, 10_000_000))
}

func (g gen) count() string {
	return pick(g, []string{"0", "1", "7", "1250", "2147483648", "9007199254740991", strconv.Itoa(g.below(100_000))})
}

// currency returns a code of a currency of 0, 2, 3 or 4 decimals.
func (g gen) currency() string {
	return pick(g, []string{"JPY", "KRW", "VND", "CLP", "ISK", "USD", "EUR", "GBP", "CNY", "CHF", "USD", "EUR", "HUF", "KWD", "BHD", "TND", "OMR", "CLF", "UYW"})
}

// Alphabets of free text. The last but one takes two units of UTF-16 and four bytes of UTF-8 for a character.
var alphabets = [][]rune{
	[]rune("abcdefghijklmnopqrstuvwxyz ABC 0123456789 .,-/~\"\\<>&'%"),
	[]rune("äöüßéñçøĳſKİıΣς ab"),
	[]rune("退款原因破損重複支付かなカナ한글"),
	[]rune("😀🚀𝒳𐍈🇩🇪👩\U0001F9F3"),
	[]rune("a\n\t\r\u0001\u007f\u0085\u00ad\u200b\u2028\u2029\u202e\ufeff\ufffd\ufffe\uffffe\u0301"),
}

// sentence returns n characters of one alphabet.
func (g gen) sentence(n int) string {
	alphabet := alphabets[0]
	if g.chance(40) {
		alphabet = pick(g, alphabets)
	}
	return g.characters(alphabet, n)
}

func (g gen) reference() string {
	n := g.between(1, 40)
	if g.chance(15) {
		n = pick(g, []int{254, 255})
	}
	visible := make([]rune, 0, 94)
	for c := rune(0x21); c <= 0x7e; c++ {
		visible = append(visible, c)
	}
	return g.characters(visible, n)
}

// metadata writes an object of n texts under different names.
func (g gen) metadata(n int) *object {
	o := &object{}
	for i := range n {
		o.add(strconv.Itoa(i)+g.sentence(g.between(0, 12)), g.text(g.sentence(g.between(0, 20))))
	}
	return o
}

// value writes a good value of a kind, small or middling.
func (g gen) value(k kind) string {
	switch k {
	case kindAmount:
		return g.amount()
	case kindCount:
		return g.count()
	case kindCurrency:
		return g.text(g.currency())
	case kindReason:
		return g.text(g.sentence(g.between(1, 60)))
	case kindMetadata:
		return g.metadata(g.below(5)).write(g)
	case kindReference:
		return g.text(g.reference())
	case kindPayment:
		return g.object(paymentFields).write(g)
	case kindID:
	}
	return g.text(g.id())
}

// edge writes a value at a bound of its kind; most of them are good.
func (g gen) edge(k kind) string {
	switch k {
	case kindAmount:
		return pick(g, []string{"1", "9007199254740991", "9007199254740992", "0"})
	case kindCount:
		return pick(g, []string{"0", "9007199254740991", "9007199254740992", "1"})
	case kindReason:
		return g.text(g.characters(pick(g, alphabets[:4]), pick(g, []int{1, 1, 250, 251, 499, 500, 500, 501})))
	case kindReference:
		return g.text(g.characters([]rune("!~aZ09\"\\/"), pick(g, []int{1, 254, 255, 255, 256})))
	case kindMetadata:
		return g.edgeMetadata()
	case kindID:
		return g.text(g.characters([]rune(idCharacters), pick(g, []int{1, 2, 63, 64, 64, 64, 65})))
	case kindCurrency, kindPayment:
	}
	return g.value(k)
}

func (g gen) edgeMetadata() string {
	alphabet := pick(g, alphabets[:4])
	switch g.below(4) {
	case 0:
		return g.metadata(pick(g, []int{0, 49, 50, 50, 51})).write(g)
	case 1:
		o := g.metadata(g.below(3))
		o.add(g.characters(alphabet, pick(g, []int{1, 32, 33, 63, 64, 64, 65})), g.text(g.sentence(4)))
		return o.write(g)
	case 2:
		o := g.metadata(g.below(3))
		o.add("limit", g.text(g.characters(alphabet, pick(g, []int{0, 256, 257, 511, 512, 512, 513}))))
		return o.write(g)
	}
	o := &object{} // different names, though some readers of JSON take them for one
	for _, name := range []string{"tasks", "Tasks", "TASKS", "ta\u017fk\u017f", "tas\u212as", "tasKs"} {
		o.add(name, g.text(g.sentence(5)))
	}
	return o.write(g)
}

// object makes a good object: all required fields and some of the optional ones.
func (g gen) object(fields []field) *object {
	o := &object{}
	for _, f := range fields {
		if f.optional && !g.chance(45) {
			continue
		}
		o.add(f.name, g.value(f.kind))
	}
	return o
}
