package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestJSONIsAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Report{"empty": {}, "clean": clean(), "broken": broken(),
		"interrupted": interrupted(), "audit": audit(), "large": large(), "no witnesses": {Findings: []Finding{{}}}} {
		for _, all := range []bool{false, true} {
			if errs := schemaOf(t).check("$", decoded(t, r, all), nil); len(errs) > 0 {
				t.Errorf("%s: %s", name, strings.Join(errs, "\n"))
			}
		}
	}
}

// The validator must be able to refuse.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(map[string]any){
		"required":   func(r map[string]any) { delete(r, "coverage") },
		"additional": func(r map[string]any) { r["more"] = 1 },
		"type":       func(r map[string]any) { r["command"] = 1.0 },
		"const":      func(r map[string]any) { r["version"] = 2.0 },
		"null":       func(r map[string]any) { r["findings"] = nil },
		"deep":       func(r map[string]any) { delete(r["findings"].([]any)[0].(map[string]any), "cause") },
		"minimum":    func(r map[string]any) { r["summary"].(map[string]any)["torn"] = -1.0 },
		"recursive":  func(r map[string]any) { r["parts"] = []any{map[string]any{}} },
		"items":      func(r map[string]any) { r["findings"].([]any)[0].(map[string]any)["witnesses"] = []any{} },
	} {
		v := decoded(t, broken(), true).(map[string]any)
		spoil(v)
		if len(schemaOf(t).check("$", v, nil)) == 0 {
			t.Errorf("%s: passes", what)
		}
	}
}

func decoded(t *testing.T, r *Report, all bool) any {
	t.Helper()
	var b bytes.Buffer
	mustRender(t, r.JSON(&b, all))
	var v any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// schema is as much of JSON Schema as ours uses; a word that it does not know
// fails the test, for it would go unchecked.
type schema struct {
	Type       string             `json:"type"`
	Ref        string             `json:"$ref"`
	Const      any                `json:"const"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Minimum    *float64           `json:"minimum"`
	MinItems   int                `json:"minItems"`
	Defs       map[string]*schema `json:"$defs"`

	Draft       string `json:"$schema"`
	ID          string `json:"$id"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func schemaOf(t *testing.T) *schema {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(Schema))
	d.DisallowUnknownFields()
	s := new(schema)
	if err := d.Decode(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *schema) check(at string, v any, defs map[string]*schema) []string {
	if s.Defs != nil {
		defs = s.Defs
	}
	if s.Ref != "" {
		def := defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if def == nil {
			return []string{at + ": no definition " + s.Ref}
		}
		return def.check(at, v, defs)
	}
	if s.Const != nil && s.Const != v {
		return []string{fmt.Sprintf("%s: %v is not %v", at, v, s.Const)}
	}
	if s.Type != "" && typeOf(v) != s.Type {
		return []string{fmt.Sprintf("%s: %T is no %s", at, v, s.Type)}
	}
	switch v := v.(type) {
	case map[string]any:
		return s.object(at, v, defs)
	case []any:
		return s.array(at, v, defs)
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			return []string{fmt.Sprintf("%s: %v is below %v", at, v, *s.Minimum)}
		}
	}
	return nil
}

func typeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func (s *schema) array(at string, v []any, defs map[string]*schema) (errs []string) {
	if len(v) < s.MinItems {
		errs = append(errs, fmt.Sprintf("%s: %d items", at, len(v)))
	}
	for i, item := range v {
		errs = append(errs, s.Items.check(fmt.Sprintf("%s[%d]", at, i), item, defs)...)
	}
	return errs
}

func (s *schema) object(at string, v map[string]any, defs map[string]*schema) (errs []string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			errs = append(errs, at+": lacks "+name)
		}
	}
	other := new(schema) // of additional properties
	if string(s.Additional) == "false" {
		other = nil
	} else if err := json.Unmarshal(s.Additional, other); err != nil {
		errs = append(errs, err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p := s.Properties[name]
		if p == nil {
			p = other
		}
		if p == nil {
			errs = append(errs, at+": must not have "+name)
			continue
		}
		errs = append(errs, p.check(at+"."+name, v[name], defs)...)
	}
	return errs
}
