//go:build linux

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"faultlab/internal/report"
)

// outputs are the forms in which a report is wanted, besides the text.
type outputs struct {
	json, junit, html, repro string
	all                      bool
}

func (o *outputs) add(fl *pflag.FlagSet) {
	fl.StringVar(&o.json, "json", "", "write the report to this file as JSON (- is standard output, instead of the text)")
	fl.StringVar(&o.junit, "junit", "", "write the report to this file as JUnit XML")
	fl.StringVar(&o.html, "html", "", "write the report to this file as one page of HTML")
	fl.StringVar(&o.repro, "repro", "", "write a script for each finding into this directory")
	fl.BoolVar(&o.all, "all", false, "put every experiment into the JSON, not only the findings")
}

func (o *outputs) owns(flag string) bool {
	return slices.Contains([]string{"json", "junit", "html", "repro", "all"}, flag)
}

// write renders the report wherever it is wanted. A file that cannot be written
// does not keep the others from being told.
func (o *outputs) write(std streams, r *report.Report) error {
	asJSON := func(w io.Writer) error { return r.JSON(w, o.all) }
	var err error
	if o.json == "-" {
		err = asJSON(std.out)
	} else {
		err = r.Text(std.out, terminalOptions(std.out))
	}
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{{o.json, asJSON}, {o.junit, r.JUnit}, {o.html, r.HTML}} {
		if out.path != "" && out.path != "-" {
			err = errors.Join(err, toFile(out.path, out.write))
		}
	}
	return err
}

func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return usagef("write the report: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write the report to %s: %w", path, err)
	}
	return nil
}

// terminalOptions says how wide a text may be, and whether it may have colours.
func terminalOptions(f *os.File) report.TextOptions {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return report.TextOptions{Width: 100}
	}
	return report.TextOptions{Width: int(size.Col), Terminal: os.Getenv("TERM") != "dumb", NoColor: os.Getenv("NO_COLOR")}
}
