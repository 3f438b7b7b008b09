package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// report is all that one run of the benchmark found.
type report struct {
	tables []*table
	bars   []*bar
	load   [2]string // of the machine, before and after
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, t := range r.tables {
		fmt.Fprintf(w, "%s\t\t\t\t\t\n", strings.ToUpper(t.title))
		fmt.Fprintf(w, "%s\tmedian\tlowest tenth\ttimes bare\tover bare\trounds\t\n", short(t.unit))
		for _, row := range t.rows {
			if len(row.samples) == 0 {
				fmt.Fprintf(w, "%s\t-\t\t\t\t0\t  %s\n", row.name, row.missing)
				continue
			}
			unit := float64(t.unit)
			fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t\n", row.name, median(row.samples)/unit,
				quantile(row.samples, 0.1)/unit, row.ratio(row.base), row.over(row.base)/unit, len(row.samples))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, b := range r.bars {
		fmt.Fprintln(out, b)
	}
	_, err := fmt.Fprintf(out, "load of the machine: %s before, %s after\n", r.load[0], r.load[1])
	return err
}

func short(unit time.Duration) string { return strings.TrimPrefix(unit.String(), "1") }

// write puts the report into a file, as JSON; all times in nanoseconds.
func (r *report) write(file string) error {
	type line struct {
		Name        string  `json:"name"`
		Median      float64 `json:"median_ns"`
		LowestTenth float64 `json:"lowest_tenth_ns"`
		Base        string  `json:"base"`
		Times       float64 `json:"times_base"`
		Over        float64 `json:"more_than_base_ns"`
		Rounds      int     `json:"rounds"`
		Missing     string  `json:"missing,omitempty"`
	}
	type group struct {
		Title string `json:"title"`
		Rows  []line `json:"rows"`
	}
	doc := struct {
		Load   [2]string `json:"load"`
		Tables []group   `json:"tables"`
		Bars   []*bar    `json:"bars"`
	}{Load: r.load, Bars: r.bars}
	for _, t := range r.tables {
		g := group{Title: t.title}
		for _, row := range t.rows {
			g.Rows = append(g.Rows, line{row.name, median(row.samples), quantile(row.samples, 0.1), row.base.name,
				row.ratio(row.base), row.over(row.base), len(row.samples), row.missing})
		}
		doc.Tables = append(doc.Tables, g)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o666)
}
