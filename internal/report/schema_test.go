package report

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"faultlab/internal/report/schematest"
)

func TestJSONIsAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	schema := schematest.Compiled(t, Schema)
	for name, r := range map[string]*Report{"empty": {}, "clean": clean(), "broken": broken(),
		"interrupted": interrupted(), "audit": audit(), "large": large(), "no witnesses": {Findings: []Finding{{}}}} {
		for _, all := range []bool{false, true} {
			if err := schema.Validate(decoded(t, r, all)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The schema must be able to refuse.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := schematest.Compiled(t, Schema)
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
		if schema.Validate(v) == nil {
			t.Errorf("%s: passes", what)
		}
	}
}

func decoded(t *testing.T, r *Report, all bool) any {
	t.Helper()
	var b bytes.Buffer
	mustRender(t, r.JSON(&b, all))
	v, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
