package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// RawSettings are the settings of an account or a bridge that only its kind can read, by name.
type RawSettings map[string]yaml.Node

// RawSettingsOf returns the settings of a kind as a file would have them, for a program without a file.
func RawSettingsOf(v any) (RawSettings, error) {
	var node yaml.Node
	if err := node.Encode(v); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var out RawSettings
	if err := node.Decode(&out); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return out, nil
}

// Node returns the settings as one mapping, for Decode.
func (s RawSettings) Node() yaml.Node {
	out := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		value := s[name]
		out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, &value)
	}
	return out
}

// Decode reads settings into a struct with yaml tags. It returns every value of a wrong type, by its line, and every name
// that the struct does not have, by its path.
func Decode(settings yaml.Node, into any) Faults {
	var found Faults
	if err := settings.Decode(into); err != nil {
		var types *yaml.TypeError
		if !errors.As(err, &types) {
			return Faults{": " + err.Error()}
		}
		for _, one := range types.Errors {
			found = append(found, ": "+one)
		}
	}
	found.unknown(&settings, reflect.TypeOf(into), "")
	return found
}

// unknown adds a fault for each name in a node that the type has no field for.
func (f *Faults) unknown(n *yaml.Node, t reflect.Type, at string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, element := range n.Content {
			f.unknown(element, t.Elem(), fmt.Sprintf("%s[%d]", at, i))
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i], n.Content[i+1]
			if name.Tag == "!!merge" {
				f.unknown(value, t, at)
				continue
			}
			field, known := fields[name.Value]
			f.AddIf(!known, "%s.%s: there is no such setting", at, name.Value)
			if known {
				f.unknown(value, field, at+"."+name.Value)
			}
		}
	}
}

// fieldsOf returns the types of a struct's fields by their names in YAML.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		out[name] = field.Type
	}
	return out
}
