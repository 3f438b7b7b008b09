package main

import "fmt"

// bar is a promise about what faultfs costs.
type bar struct {
	Name    string  `json:"name"`
	Got     float64 `json:"got"`
	Most    float64 `json:"most"`
	Held    bool    `json:"held"`
	Missing string  `json:"missing,omitempty"` // why it could not be measured

	optional bool // not every machine can
	measured func() (got float64, missing string)
}

// bar sets a bar; what it is held against is read when all is measured.
func (r *report) bar(name string, most float64, measured func() (float64, string)) *bar {
	b := &bar{Name: name, Most: most, measured: measured}
	r.bars = append(r.bars, b)
	return b
}

// judge holds every bar against what was measured.
func (r *report) judge() {
	for _, b := range r.bars {
		b.Got, b.Missing = b.measured()
		b.Held = b.Missing == "" && b.Got <= b.Most
	}
}

func (b *bar) String() string {
	switch {
	case b.Missing != "":
		return fmt.Sprintf("unknown  %s: not measured (%s)", b.Name, b.Missing)
	case b.Held:
		return fmt.Sprintf("held     %s: %.2f, at most %.2f", b.Name, b.Got, b.Most)
	}
	return fmt.Sprintf("MISSED   %s: %.2f, at most %.2f", b.Name, b.Got, b.Most)
}

// timesOf compares one row with another, round by round.
func timesOf(r, to *row) func() (float64, string) {
	return func() (float64, string) { return r.ratio(to), r.missing + to.missing }
}
