package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
)

func htmlOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	mustRender(t, r.HTML(&b))
	return b.String()
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// What a program printed must not end the block that holds it.
func TestHTMLDataIsWhole(t *testing.T) {
	t.Parallel()
	page := htmlOf(t, broken())
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d scripts end", n)
	}
	block := dataBlock.FindStringSubmatch(page)[1]
	if i := strings.IndexAny(block, "<>&\u2028"); i >= 0 {
		t.Errorf("as it is: %.30q", block[i:])
	}
	var data pageData
	if err := json.Unmarshal([]byte(block), &data); err != nil {
		t.Fatal(err)
	}
	for i, want := range broken().Trials {
		if got := data.Trials[i].Trial; got.Choice != want.Choice || want.Evidence != nil && got.Evidence.Stderr != want.Evidence.Stderr {
			t.Errorf("trial %d: got %+v", i, got)
		}
	}
}

// Findings can be read where scripts do not run.
func TestHTMLReadsWithoutScript(t *testing.T) {
	t.Parallel()
	page := regexp.MustCompile(`(?s)<script.*?</script>`).ReplaceAllString(htmlOf(t, large()), "")
	text := html.UnescapeString(regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(page, ""))
	at := 0
	for _, f := range large().Findings {
		for _, want := range append([]string{f.Cause, f.Detail, f.Choice, f.Repro}, f.Witnesses[1:]...) {
			i := strings.Index(text[at:], want)
			if i < 0 {
				t.Fatalf("lacks %q, or not in that order", want)
			}
			at += i
		}
	}
}

// The page asks for nothing but itself.
func TestHTMLIsSelfContained(t *testing.T) {
	t.Parallel()
	page := htmlOf(t, audit())
	if m := regexp.MustCompile(`(?i)(src|srcset|href)="[^#"][^"]*"|url\(|@import|https?://`).FindString(page); m != "" {
		t.Errorf("asks for %s", m)
	}
}

// A cell shows its worst trial, and leads to all.
func TestHeatMapCells(t *testing.T) {
	t.Parallel()
	trial := func(point, fault, verdict string, finding bool) Trial {
		return Trial{Point: point, Fault: fault, Verdict: verdict, Finding: finding}
	}
	m := newHeatMap([]Trial{
		trial("write path=d/a nth=2", "kill", "tolerated", false), trial("write path=d/a nth=2", "kill", "refused", false),
		trial("elsewhere", "EIO", "new", true), trial("write path=d/a nth=2", "kill", "litter", true), {Choice: "no place"},
	}, 10)
	c := m.Rows[0].Cells
	if c[0].Trials != "13 11 10" || c[0].Tier != residue || c[0].More != 2 || c[1].Trials != "" {
		t.Errorf("cells %+v", c)
	}
	r := m.Rows
	if r[0].Kind != "write" || r[0].Dir != "d/" || r[0].Base != "a" || r[0].Nth != "2" || r[1].Base != "elsewhere" {
		t.Errorf("rows %+v", r)
	}
	if newHeatMap([]Trial{{Choice: "A B"}}, 0) != nil {
		t.Error("a map of nothing")
	}
}

// Where trials have no place in a map they are listed, findings always.
func TestHTMLListsTrials(t *testing.T) {
	t.Parallel()
	r := &Report{Experiment: "race", Coverage: Coverage{Ran: 1000, Planned: 1000, Complete: true}}
	for i := range 1000 {
		r.Trials = append(r.Trials, Trial{Choice: fmt.Sprintf("switch %d.", i), Verdict: "tolerated"})
	}
	r.Trials = append(r.Trials, Trial{Choice: "switch last", Verdict: "deadlock", Finding: true, Cause: "both wait"})
	page := dataBlock.ReplaceAllString(htmlOf(t, r), "")
	for s, want := range map[string]bool{"switch last": true, "switch 199.": true, "switch 200.": false, "800 more": true, "<table class=\"heat\"": false} {
		if strings.Contains(page, s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// Thousands of trials must not make a page that nobody can open.
func TestHTMLIsLight(t *testing.T) {
	t.Parallel()
	r := large()
	for i := range r.Trials {
		r.Trials[i].Evidence = nil
	}
	if per := len(htmlOf(t, r)) / len(r.Trials); per > 700 {
		t.Errorf("%d bytes a trial", per)
	}
}
