package bodies

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Reading is what a reader made of one request. Nothing in it is a sentence for people, random, or a time of the clock.
type Reading struct {
	Verdict string   // "2xx", "4xx" or "5xx" of HTTP; "taken" or "undecodable" of an event
	Code    string   // of the problem; "" = none
	Places  []string // where the problem is: a JSON Pointer, "header:NAME" or "parameter:NAME"; order and repeats do not matter
	Digest  string   // of what would be accepted; "" = nothing is, or it has none
	Params  Params   // what was understood
}

// Params are names and values in the order of adding.
type Params []string

// maxShown is how many bytes of a value a line shows; a longer one is told by its length and hash too.
const maxShown = 48

// Text adds a text. A missing one is the same as an empty one.
func (p *Params) Text(name, value string) {
	if value == "" {
		return
	}
	if len(value) > maxShown {
		value = fmt.Sprintf("%s… %d %s", value[:maxShown/2], len(value), short(value))
	}
	*p = append(*p, name+"="+strconv.QuoteToASCII(value))
}

// Number adds a number. A missing one is the same as 0.
func (p *Params) Number(name string, value int64) {
	if value != 0 {
		*p = append(*p, name+"="+strconv.FormatInt(value, 10))
	}
}

// Texts adds texts by name. No texts are the same as no map.
func (p *Params) Texts(name string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p.Text(name+"/"+strconv.QuoteToASCII(key), "="+values[key])
	}
}

// line writes a reading: tab-separated number, kind, hash of the request, verdict, code, places, digest, parameters.
func line(r Request, got Reading) string {
	places := make([]string, len(got.Places))
	for i, p := range got.Places {
		places[i] = strings.Trim(strconv.QuoteToASCII(p), `"`)
		if p == "" {
			places[i] = "/" // the whole document
		}
	}
	slices.Sort(places)
	return strings.Join([]string{fmt.Sprintf("%05d", r.Index), r.Kind, short(r.everything()), got.Verdict, cmp.Or(got.Code, "-"),
		cmp.Or(strings.Join(slices.Compact(places), " "), "-"), cmp.Or(got.Digest, "-"), cmp.Or(strings.Join(got.Params, " "), "-")}, "\t")
}

// everything is all of a request in one text.
func (r Request) everything() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %t\n", r.Method, r.Target, r.UnknownLength)
	for _, h := range r.Header {
		fmt.Fprintf(&b, "%s: %s\n", h[0], h[1])
	}
	fmt.Fprintf(&b, "binary=%t\n", r.Attributes != nil)
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Attributes[name])
	}
	return b.String() + "\n" + r.Body
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
