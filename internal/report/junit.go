package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Cases    []testcase `xml:"testcase"`
	Out      *cdata     `xml:"system-out,omitempty"`
}

type testcase struct {
	Class   string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	Failure *fault `xml:"failure,omitempty"`
	Error   *fault `xml:"error,omitempty"`
	Out     *cdata `xml:"system-out,omitempty"`
}

type fault struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

type cdata struct {
	Text string `xml:",cdata"`
}

// JUnit writes the report as continuous integration reads it: a suite for each
// experiment; in it one case that says whether all was tried, one that fails for
// each finding, and one that passes for each point where nothing was found.
func (r *Report) JUnit(w io.Writer) error {
	all := suites{Name: legal("faultfs " + r.Experiment)}
	parts := r.Parts
	if len(parts) == 0 {
		parts = []Report{*r}
	} else if !r.Answered() {
		all.Suites = append(all.Suites, newSuite(r.Experiment, []testcase{r.coverageCase()}))
	}
	for i := range parts {
		all.Suites = append(all.Suites, parts[i].suite())
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) suite() suite {
	cases := []testcase{r.coverageCase()}
	for _, f := range r.found() {
		cases = append(cases, r.failureCase(f))
	}
	s := newSuite(r.Experiment, append(cases, r.passes()...))
	s.Out = &cdata{legal(strings.Join(append([]string{r.Command, r.Answer()}, r.Notes...), "\n"))}
	return s
}

func newSuite(experiment string, cases []testcase) suite {
	s := suite{Name: legal("faultfs " + experiment), Tests: len(cases), Cases: cases}
	for _, c := range cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Error != nil {
			s.Errors++
		}
	}
	return s
}

func (r *Report) class() string { return legal("faultfs." + r.Experiment) }

// coverageCase is in error where the rest of the suite, though it passes, proves
// nothing.
func (r *Report) coverageCase() testcase {
	c := testcase{Class: r.class(), Name: "coverage"}
	if r.Answered() {
		c.Out = &cdata{legal(r.coverage())}
	} else {
		c.Error = &fault{Type: "incomplete", Message: legal(r.Answer()), Text: legal(r.coverage())}
	}
	return c
}

func (r *Report) failureCase(f Finding) testcase {
	text := f.Detail + "\n\nchoice: " + f.Choice
	for _, c := range f.others() {
		text += "\nalso:   " + c
	}
	return testcase{Class: r.class(), Name: legal(f.Verdict + ": " + f.title()), Failure: &fault{
		Type: legal(f.Verdict), Message: legal(f.title() + "\n" + f.Repro),
		Text: legal(text + "\n\nto see it again:\n" + f.Repro + "\n"),
	}}
}

// passes is a case for each point at which experiments were made and none found
// anything, or, where trials have no points, for each verdict that is no finding.
func (r *Report) passes() []testcase {
	var cases []testcase
	for _, p := range points(r.Trials) {
		if !p.found && len(p.verdicts) > 0 {
			cases = append(cases, testcase{Class: r.class(), Name: legal(p.name), Out: &cdata{legal(p.String())}})
		}
	}
	if cases != nil {
		return cases
	}
	for _, t := range r.listed() {
		cases = append(cases, testcase{Class: r.class(), Name: legal(t.name),
			Out: &cdata{fmt.Sprintf("%s: %s", count(t.N, "experiment"), t.meaning)}})
	}
	return cases
}

type point struct {
	name     string
	verdicts map[string]int // without those of what did not take place
	found    bool
}

// points are the rows of trials, in the order in which they first appear.
func points(trials []Trial) []*point {
	var all []*point
	at := make(map[string]*point)
	for _, t := range trials {
		if t.Point == "" {
			continue
		}
		p := at[t.Point]
		if p == nil {
			p = &point{name: t.Point, verdicts: make(map[string]int)}
			at[t.Point], all = p, append(all, p)
		}
		p.found = p.found || t.Finding
		if isVerdict(t.Verdict) {
			p.verdicts[t.Verdict]++
		}
	}
	return all
}

func (p *point) String() string {
	var s []string
	for verdict, n := range p.verdicts {
		s = append(s, fmt.Sprintf("%d %s", n, verdict))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// legal replaces what XML cannot hold, not even escaped.
func legal(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
			return r
		}
		return '\uFFFD'
	}, s)
}
