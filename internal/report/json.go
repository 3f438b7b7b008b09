package report

import (
	"cmp"
	_ "embed" // the schema
	"encoding/json"
	"io"
	"slices"
)

// Schema is the JSON Schema (draft 2020-12) of what JSON writes.
//
//go:embed schema.json
var Schema string

// JSON writes the report for other programs; with all, every trial too.
func (r *Report) JSON(w io.Writer, all bool) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // choices hold < and >, and people read this
	return e.Encode(r.filled(all))
}

// filled is r as the schema has it: lists that are empty, not null.
func (r *Report) filled(all bool) *Report {
	out := *r
	out.Version = cmp.Or(r.Version, SchemaVersion)
	out.Coverage = r.total()
	out.Findings = make([]Finding, 0)
	for _, f := range r.found() {
		if f.Witnesses == nil {
			f.Witnesses = []string{f.Choice}
		}
		out.Findings = append(out.Findings, f)
	}
	if out.Summary == nil {
		out.Summary = Tally(r.Trials)
	}
	if !all {
		out.Trials = nil
	}
	out.Parts = slices.Clone(r.Parts)
	for i := range out.Parts {
		out.Parts[i] = *out.Parts[i].filled(all)
	}
	return &out
}
