package channeltest

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// A document is one kind of document of the channel. reads has the client read it, changed by change, and reports whether
// the client took anything from it.
type document struct {
	name  string
	reads func(t *testing.T, change func(body []byte) []byte) bool
}

var anyMember = regexp.MustCompile(`"([A-Za-z_]+)":`)

// documentRows gives the client every kind of document of its channel in forms that have two readings or none. The client must
// take nothing from them: not a success, which was not reported, and not a refusal or an absence, after which money could
// move twice.
func documentRows(t *testing.T, s Subject) {
	for _, d := range s.documents(t) {
		t.Run(d.name, func(t *testing.T) {
			for _, what := range s.misread(t, d) {
				t.Error(what)
			}
		})
	}
}

// misread returns what the client does wrong with a kind of document.
func (s Subject) misread(t *testing.T, d document) (wrong []string) {
	if !d.reads(t, nil) {
		wrong = append(wrong, "nothing was taken from the good document")
	}
	unread := func(body []byte) []byte {
		return []byte(strings.Replace(string(body), "{", `{"newMember":{"half":"\ud800","n":1.5e300,"nul":"\u0000","status":[]},`, 1))
	}
	if !d.reads(t, unread) {
		wrong = append(wrong, "a member that is not read spoilt the document")
	}
	var good string
	d.reads(t, func(body []byte) []byte {
		good = string(body)
		return body
	})
	for what, spoilt := range s.twoReadings(good) {
		if d.reads(t, func([]byte) []byte { return []byte(spoilt) }) {
			wrong = append(wrong, what+": the client took something from "+spoilt)
		}
	}
	return wrong
}

// twoReadings returns forms of a good document that say nothing.
func (s Subject) twoReadings(good string) map[string]string {
	out := map[string]string{
		"followed by the same": good + good,
		"followed by a letter": good + "x",
		"bad UTF-8":            strings.Replace(good, "{", "{\"newMember\":\"\xff\",", 1),
		"half of it":           good[:len(good)/2],
		"a name twice, unread": strings.Replace(good, "{", `{"newMember":[{"x":1,"x":1}],`, 1),
		"in an array":          "[" + good + "]",
		"empty":                "",
	}
	for _, at := range anyMember.FindAllStringSubmatchIndex(good, -1) {
		name := good[at[2]:at[3]]
		insert := func(text string) string { return good[:at[0]] + text + "," + good[at[0]:] }
		out[name+" twice"] = insert(`"` + name + `":"failed"`)
		out[name+" twice, by an escape"] = insert(`"\u00` + hex(name[0]) + name[1:] + `":null`)
		if !slices.Contains(s.Reads, name) {
			continue
		}
		out[name+" in capitals, too"] = insert(`"` + strings.ToUpper(name) + `":"failed"`)
		for letter, folded := range map[string]string{"s": "ſ", "k": "K"} {
			if strings.Contains(name, letter) {
				out[name+" with another letter, too"] = insert(`"` + strings.Replace(name, letter, folded, 1) + `":"failed"`)
			}
		}
		out[name+" of another type"] = good[:at[1]] + `{"type":"other"},"rest":` + good[at[1]:]
	}
	return out
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return string(digits[c>>4]) + string(digits[c&15])
}

// documents are those that the contract has.
func (s Subject) documents(t *testing.T) []document {
	with := func(change func([]byte) []byte, ask func() bool) bool {
		s.Rewrite(change)
		defer s.Rewrite(nil)
		return ask()
	}
	out := []document{{"answer to a send", func(t *testing.T, change func([]byte) []byte) bool {
		return with(change, func() bool { return s.send(t, s.call(s.fresh())).Kind != refund.Unknown })
	}}, {"refusal of a send", func(t *testing.T, change func([]byte) []byte) bool {
		s.Faults(t, "refused=1")
		defer s.Faults(t, "")
		return with(change, func() bool { return s.send(t, s.call(s.fresh())).Kind != refund.Unknown })
	}}}
	if s.Contract.Query.Exists {
		s.send(t, s.call("asked"))
		for name, number := range map[string]string{"answer to a query": "asked", "absence in a query": "never-sent"} {
			out = append(out, document{name, func(t *testing.T, change func([]byte) []byte) bool {
				return with(change, func() bool { return s.query(t, number).Kind != refund.Unknown })
			}})
		}
	}
	if s.Contract.List.Exists {
		s.send(t, s.call("listed"))
		out = append(out, document{"list", func(t *testing.T, change func([]byte) []byte) bool {
			return with(change, func() bool {
				lines, complete, a := s.list(t, "listed")
				return len(lines) != 0 || complete || a.Kind != refund.Unknown
			})
		}})
	}
	if reader, ok := s.Client.(refund.Notifier); ok && s.Contract.Notices {
		out = append(out, document{"notice", func(t *testing.T, change func([]byte) []byte) bool {
			body := s.NoticeBody
			if change != nil {
				body = change(body)
			}
			notices, err := reader.ParseNotice(s.SignNotice(body), body)
			if err != nil && !errors.Is(err, refund.ErrNoticeUnreadable) {
				t.Errorf("a signed notice: %v, want it unreadable at most", err)
			}
			return len(notices) != 0 || err == nil
		}})
	}
	return out
}

// fresh returns a number that was not used.
func (s Subject) fresh() string {
	*s.used++
	return "doc" + string(rune('a'+*s.used/26%26)) + string(rune('a'+*s.used%26)) + string(rune('a'+*s.used/676))
}
