package refund_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
)

func TestJournalHashCoversEveryPart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 34, 56, 789_012_000, time.UTC)
	base := refund.JournalHash([32]byte{1}, refund.RID{2}, 3, at, [32]byte{4})
	for name, other := range map[string][32]byte{
		"prev":   refund.JournalHash([32]byte{9}, refund.RID{2}, 3, at, [32]byte{4}),
		"rid":    refund.JournalHash([32]byte{1}, refund.RID{9}, 3, at, [32]byte{4}),
		"seq":    refund.JournalHash([32]byte{1}, refund.RID{2}, 9, at, [32]byte{4}),
		"at":     refund.JournalHash([32]byte{1}, refund.RID{2}, 3, at.Add(time.Microsecond), [32]byte{4}),
		"digest": refund.JournalHash([32]byte{1}, refund.RID{2}, 3, at, [32]byte{9}),
	} {
		if other == base {
			t.Errorf("another %s gives the same hash", name)
		}
	}
	same(t, "hash of the same instant in another zone", refund.JournalHash([32]byte{1}, refund.RID{2}, 3, at.In(time.FixedZone("", 3600)), [32]byte{4}), base)
	same(t, "hash with nanoseconds, which the database does not keep", refund.JournalHash([32]byte{1}, refund.RID{2}, 3, at.Add(999), [32]byte{4}), base)
}

func TestJournalDigestCoversEveryPart(t *testing.T) {
	t.Parallel()
	entry := refund.Entry{Kind: "k", From: "f", To: "t", Generation: 1, Source: "s", Actor: "a", Data: "{}"}
	base := entry.Digest()
	for name, change := range map[string]func(*refund.Entry){
		"kind":       func(e *refund.Entry) { e.Kind = "K" },
		"from":       func(e *refund.Entry) { e.From = "" },
		"to":         func(e *refund.Entry) { e.To = "T" },
		"generation": func(e *refund.Entry) { e.Generation = 2 },
		"source":     func(e *refund.Entry) { e.Source = "S" },
		"actor":      func(e *refund.Entry) { e.Actor = "A" },
		"fact key":   func(e *refund.Entry) { e.FactKey = make([]byte, 32) },
		"data":       func(e *refund.Entry) { e.Data = "{} " },
	} {
		other := entry
		if change(&other); other.Digest() == base {
			t.Errorf("another %s gives the same digest", name)
		}
	}
}

func TestFactKeyCoversEveryPart(t *testing.T) {
	t.Parallel()
	base := refund.FactKey("n", "SUCCEEDED", "re_1", 5, "USD")
	for name, other := range map[string][32]byte{
		"subject":           refund.FactKey("N", "SUCCEEDED", "re_1", 5, "USD"),
		"outcome":           refund.FactKey("n", "REVERSED", "re_1", 5, "USD"),
		"channel refund id": refund.FactKey("n", "SUCCEEDED", "", 5, "USD"),
		"amount":            refund.FactKey("n", "SUCCEEDED", "re_1", 6, "USD"),
		"currency":          refund.FactKey("n", "SUCCEEDED", "re_1", 5, "EUR"),
	} {
		if other == base {
			t.Errorf("another %s gives the same key: a new fact would be taken for a known one", name)
		}
	}
}

// jsonTrees draws values of journal data, at most three levels deep.
func jsonTrees(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.String().AsAny()}
	if depth > 0 {
		leaves = append(leaves,
			rapid.SliceOfN(jsonTrees(depth-1), 0, 3).AsAny(),
			rapid.MapOfN(rapid.String(), jsonTrees(depth-1), 0, 3).AsAny())
	}
	return rapid.OneOf(leaves...)
}

// Canonical text is ASCII, reads back as the same value, and two values share a text only if they are equal.
func TestCanonicalJSONRoundTrip(t *testing.T) {
	t.Parallel()
	objects := rapid.MapOfN(rapid.String(), jsonTrees(2), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		v := objects.Draw(t, "value")
		text, err := refund.CanonicalJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(text) {
			if text[i] < ' ' || text[i] > '~' {
				t.Fatalf("byte %#x in %q", text[i], text)
			}
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var back map[string]any
		if err := d.Decode(&back); err != nil {
			t.Fatalf("%s cannot be read: %v", text, err)
		}
		again, err := refund.CanonicalJSON(intsOf(back).(map[string]any))
		if err != nil || again != text {
			t.Fatalf("%s was read and written as %s (%v)", text, again, err)
		}
		if !reflect.DeepEqual(intsOf(back), any(v)) {
			t.Fatalf("%#v came back as %#v", v, back)
		}
	})
}

func intsOf(v any) any {
	switch x := v.(type) {
	case json.Number:
		n, _ := x.Int64()
		return n
	case map[string]any:
		for k := range x {
			x[k] = intsOf(x[k])
		}
	case []any:
		for i := range x {
			x[i] = intsOf(x[i])
		}
	}
	return v
}

func TestCanonicalJSONTypes(t *testing.T) {
	t.Parallel()
	type word string
	type count int16
	got, err := refund.CanonicalJSON(map[string]any{
		"word": word("x"), "count": count(-3), "big": uint64(1<<64 - 1), "names": []string{"b", "a"},
		"tags": map[string]string{"z": "1", "a": "2"}, "none": []string(nil), "nomap": map[word]int(nil), "currency": refund.Currency("USD"),
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "text", got, `{"big":18446744073709551615,"count":-3,"currency":"USD","names":["b","a"],"nomap":null,"none":null,"tags":{"a":"2","z":"1"},"word":"x"}`)
	empty, err := refund.CanonicalJSON(nil)
	if err != nil || empty != "{}" {
		t.Errorf("nothing = %q (%v), want {}", empty, err)
	}
}

func TestCanonicalJSONRefuses(t *testing.T) {
	t.Parallel()
	loop := map[string]any{}
	loop["self"] = loop
	one := 1
	for name, v := range map[string]any{
		"float": 1.0, "float32": float32(2), "number text": json.Number("1"), "struct": struct{ A int }{1}, "time": time.Unix(0, 0),
		"pointer": &one, "bytes": []byte("x"), "array": [2]int{1, 2}, "rid": refund.RID{}, "int keys": map[int]string{1: "x"},
		"not UTF-8": "\xff", "key not UTF-8": map[string]any{"\xff": 1}, "channel": make(chan int), "deep float": []any{map[string]any{"x": 0.5}}, "loop": loop,
	} {
		if text, err := refund.CanonicalJSON(map[string]any{"v": v}); !errors.Is(err, refund.ErrCanonicalJSON) || text != "" {
			t.Errorf("%s: got %q, %v; want ErrCanonicalJSON", name, text, err)
		}
	}
}
