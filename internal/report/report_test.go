package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

var samples = map[string]func() *Report{"clean": clean, "broken": broken, "interrupted": interrupted, "audit": audit}

func TestGoldens(t *testing.T) {
	t.Parallel()
	for name, sample := range samples {
		r := sample()
		golden(t, name+".txt", func(w io.Writer) error { return r.Text(w, TextOptions{Width: 88}) })
		golden(t, name+".xml", r.JUnit)
		golden(t, name+".json", func(w io.Writer) error { return r.JSON(w, name == "broken") })
	}
}

func golden(t *testing.T, name string, render func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := render(&got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s is not as before (-update writes it anew):\n%s", name, got.String())
	}
}

var saysClean = regexp.MustCompile(`(?i)\b(no|0|zero) findings?\b|nothing (was )?found|\bholds\b|\bclean\b`)

// The worst thing that a report can do is to call clean what nobody looked at.
func TestNeverCleanUnlessAnswered(t *testing.T) {
	t.Parallel()
	for i := range 1 << 7 {
		r := reportOf(i)
		justified := r.Coverage.Complete && r.Coverage.Ran > 0 && len(r.Findings) == 0
		var text, junit, page bytes.Buffer
		mustRender(t, r.Text(&text, TextOptions{}), r.JUnit(&junit), r.HTML(&page))
		body := regexp.MustCompile(`(?s)<main>.*</main>`).FindString(page.String())
		for form, s := range map[string]string{"text": text.String(), "JUnit": junit.String(), "HTML": body} {
			if saysClean.MatchString(s) && !justified {
				t.Errorf("%s of %+v says %q", form, r.Coverage, saysClean.FindString(s))
			}
		}
		if errors := strings.Contains(junit.String(), "<error"); errors == r.Answered() {
			t.Errorf("JUnit of %+v: an error: %v", r.Coverage, errors)
		}
		first, _, _ := strings.Cut(text.String(), "\n")
		if clean := r.Answered() && len(r.Findings) == 0; clean != saysClean.MatchString(first) {
			t.Errorf("%+v, %d findings: %s", r.Coverage, len(r.Findings), first)
		}
	}
}

// reportOf is one of all small reports, by the bits of i.
func reportOf(i int) *Report {
	bit := func(n int) int { return i >> n & 1 }
	r := &Report{Experiment: "sweep", Coverage: Coverage{Points: 2 * bit(0), Planned: 3 * bit(1), Ran: 3 * bit(2), Void: bit(3), Complete: bit(4) == 1}}
	if bit(5) == 1 {
		r.Findings = []Finding{{Verdict: "torn", Cause: "a.txt", Choice: "c"}}
	}
	if bit(6) == 1 {
		r.Coverage.Why, r.Summary = "interrupted", map[string]int{"tolerated": 3, "torn": 1}
	}
	return r
}

func mustRender(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An audit is only as sure as its parts, also where its own coverage says more.
func TestAuditIsAsSureAsItsParts(t *testing.T) {
	t.Parallel()
	none := &Report{Experiment: "race"}
	for _, parts := range [][]Report{{*clean(), *interrupted()}, {*clean(), *none}, {*none}} {
		r := Audit("", parts)
		r.Coverage = Coverage{Ran: 9, Planned: 9, Complete: true}
		if r.Answered() || saysClean.MatchString(r.Answer()) {
			t.Errorf("%s", r.Answer())
		}
	}
	if r := Audit("", []Report{*clean(), *clean()}); !saysClean.MatchString(r.Answer()) {
		t.Errorf("two clean parts: %s", r.Answer())
	}
	if r := Audit("", []Report{*clean(), *broken()}); len(r.Findings) != 2 || r.Summary["torn"] != 5 {
		t.Errorf("findings %v, summary %v", r.Findings, r.Summary)
	}
}

// A field left empty must not hide what the trials show.
func TestFindingsFromTrials(t *testing.T) {
	t.Parallel()
	r := broken()
	r.Findings, r.Coverage = nil, Coverage{Planned: 8, Ran: 8, Complete: true}
	if got := r.Answer(); got != "sweep: 2 findings in 8 experiments" {
		t.Error(got)
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	trial := func(verdict, cause, choice string) Trial {
		return Trial{Verdict: verdict, Cause: cause, Choice: choice, Finding: true, Detail: "d" + choice, Repro: "r" + choice}
	}
	got := Group([]Trial{
		trial("litter", "x", "1"), trial("new", "x", "2"), trial("torn", "b", "3"), trial("torn", "a", "5"),
		trial("torn", "c", "4"), trial("silent", "s", "6"), trial("torn", "c", "7"), {Verdict: "refused", Choice: "8"},
		trial("escape", "e", "9"), trial("hang", "h", "10"),
	})
	var order []string
	for _, f := range got {
		order = append(order, f.Verdict+" "+f.Cause+" "+strings.Join(f.Witnesses, ","))
		if f.Choice != f.Witnesses[0] || f.Detail != "d"+f.Choice || f.Repro != "r"+f.Choice {
			t.Errorf("not the first witness's: %+v", f)
		}
	}
	want := []string{"escape e 9", "torn c 4,7", "torn b 3", "torn a 5", "silent s 6", "litter x 1", "hang h 10", "new x 2"}
	if !reflect.DeepEqual(order, want) {
		t.Errorf("got  %q\nwant %q", order, want)
	}
}

func TestColour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    TextOptions
		want bool
	}{{TextOptions{}, false}, {TextOptions{Terminal: true}, true}, {TextOptions{Terminal: true, NoColor: "1"}, false}} {
		var b bytes.Buffer
		mustRender(t, broken().Text(&b, c.o))
		if got := strings.Contains(b.String(), "\x1b[1;31mtorn\x1b[0m"); got != c.want || !c.want && strings.Contains(b.String(), "\x1b") {
			t.Errorf("%+v: coloured: %v", c.o, got)
		}
	}
}

// What is to be pasted stands on one line; all else fits the width.
func TestWidth(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	mustRender(t, large().Text(&b, TextOptions{Width: 60}))
	for line := range strings.Lines(b.String()) {
		copied := strings.Contains(line, "path=")
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 60 && !copied {
			t.Errorf("too wide: %s", line)
		}
	}
	for _, f := range large().Findings {
		if !strings.Contains(b.String(), f.Repro+"\n") {
			t.Errorf("not in one line: %s", f.Repro)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		width    int
	}{
		{"", "", 20}, {"a b", "a b", 0}, {"twenty one runes wide", "twenty one runes|wide", 20},
		{"exactly twenty wide.", "exactly twenty wide.", 20}, {"a-word-that-is-longer-than-the-line b", "a-word-that-is-longer-than-the-line|b", 20},
		{"zwölf größere Bögen ü", "zwölf größere Bögen ü", 21}, {"too narrow", "too narrow", 5},
	} {
		if got := strings.Join(wrap(c.in, c.width), "|"); got != c.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// Whatever a program prints, XML stays XML.
func TestJUnitIsXML(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 0x120 {
		fmt.Fprintf(&all, "%c%s", rune(i), []byte{byte(i)})
	}
	nasty := all.String() + "]]>\uFFFE\uFFFF\u2028"
	r := &Report{Experiment: nasty, Command: nasty, Notes: []string{nasty}, Coverage: Coverage{Why: nasty, Ran: 1},
		Findings: []Finding{{Verdict: nasty, Cause: nasty, Choice: nasty, Detail: nasty, Repro: nasty, Picture: []string{nasty}, Witnesses: []string{nasty, nasty}}},
		Trials:   []Trial{{Point: nasty, Verdict: nasty}}}
	var b bytes.Buffer
	mustRender(t, r.JUnit(&b))
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A point whose experiments were all void has not passed.
func TestJUnitPassesOnlyWhatRan(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	mustRender(t, broken().JUnit(&b))
	if strings.Contains(b.String(), `name="sync path=log`) || !strings.Contains(b.String(), `name="create path=run.lock`) {
		t.Error(b.String())
	}
}

func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	mustRender(t, broken().JSON(&b, true))
	var got Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, broken()) {
		t.Errorf("got %+v", got)
	}
}
