package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// report is the result of one run of a bench verb.
type report struct {
	facts  string // "server 17.2, fsync on"
	groups []group
}

// group has the figures of one result, for example of one number of callers.
type group struct {
	label   string // "variant http, callers 64"; "" when the verb has one result only
	figures []figure
}

// figure is one measured number. Numbers inside an object have dotted names: "cpuMs.postgres".
type figure struct {
	name  string
	value float64
}

// member is one field of a JSON object. Objects are kept as lists, since the order of the fields is the order of the columns.
type member struct {
	key   string
	value any
}

type object []member

func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// parseReport parses the document of `refundry bench … --json`: results with labels and medians, or one median.
func parseReport(doc []byte) (report, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	v, err := decode(d)
	if err != nil {
		return report{}, err
	}
	root, ok := v.(object)
	if !ok {
		return report{}, errors.New("the document is not an object")
	}
	r := report{facts: labels(root)}
	results, several := root.get("results").([]any)
	if !several {
		results = []any{root}
	}
	for _, result := range results {
		o, _ := result.(object)
		median, ok := o.get("median").(object)
		if !ok {
			return report{}, errors.New("a result has no median")
		}
		var g group
		if several {
			g.label = labels(o)
		}
		if g.figures, err = leaves("", median); err != nil {
			return report{}, err
		}
		r.groups = append(r.groups, g)
	}
	return r, nil
}

// decode decodes one value and keeps the order of the fields.
func decode(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	var list []any
	var o object
	for d.More() {
		var key string
		if delim == '{' {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			key = fmt.Sprint(k)
		}
		v, err := decode(d)
		if err != nil {
			return nil, err
		}
		if delim == '{' {
			o = append(o, member{key, v})
		} else {
			list = append(list, v)
		}
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) { // the closing bracket
		return nil, err
	}
	if delim == '{' {
		return o, nil
	}
	return list, nil
}

// labels joins the fields that are neither lists nor objects.
func labels(o object) string {
	var out []string
	for _, m := range o {
		switch v := m.value.(type) {
		case string, json.Number, bool:
			out = append(out, fmt.Sprint(m.key, " ", v))
		}
	}
	return strings.Join(out, ", ")
}

// leaves returns the numbers of an object and of the objects in it.
func leaves(prefix string, o object) ([]figure, error) {
	var out []figure
	for _, m := range o {
		switch v := m.value.(type) {
		case json.Number:
			f, err := v.Float64()
			if err != nil {
				return nil, err
			}
			out = append(out, figure{prefix + m.key, f})
		case object:
			inner, err := leaves(prefix+m.key+".", v)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
		}
	}
	return out, nil
}

// renames parses "old=new,…".
func renames(text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		before, after, ok := strings.Cut(pair, "=")
		if !ok || before == "" || after == "" {
			return nil, fmt.Errorf("-rename %q: want old=new", pair)
		}
		out[before] = after
	}
	return out, nil
}

// rename replaces whole words of labels and whole names of figures.
func (r *report) rename(names map[string]string) {
	for i := range r.groups {
		g := &r.groups[i]
		words := strings.FieldsFunc(g.label, func(c rune) bool { return c == ' ' })
		for w, word := range words {
			bare := strings.TrimSuffix(word, ",")
			if to, ok := names[bare]; ok {
				words[w] = to + strings.TrimPrefix(word, bare)
			}
		}
		g.label = strings.Join(words, " ")
		for f := range g.figures {
			if to, ok := names[g.figures[f].name]; ok {
				g.figures[f].name = to
			}
		}
	}
}

// find returns the figures of a label.
func (r report) find(label string) (group, bool) {
	i := slices.IndexFunc(r.groups, func(g group) bool { return g.label == label })
	if i < 0 {
		return group{}, false
	}
	return r.groups[i], true
}

// find returns the value of a figure.
func (g group) find(name string) (float64, bool) {
	i := slices.IndexFunc(g.figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		return 0, false
	}
	return g.figures[i].value, true
}
