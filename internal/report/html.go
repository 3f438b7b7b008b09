package report

import (
	"cmp"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// pageTemplate is read when the first page is written: every start of faultfs would
// pay for it.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"words":  func(s string) []string { return strings.Split(s, " ") },
		"number": number, "count": count, "inc": func(i int) int { return i + 1 },
	}).Parse(pageHTML))
})

// HTML writes one page that needs nothing but itself. Findings can be read
// without JavaScript; with it, each experiment opens to what is known of it.
func (r *Report) HTML(w io.Writer) error {
	p := page{Title: r.Answer(), Head: heading(r), CSS: template.CSS(pageCSS), JS: template.JS(pageJS)}
	parts := r.Parts
	if len(parts) == 0 {
		parts = []Report{*r}
	} else {
		p.Audit = true
	}
	var data pageData
	for i := range parts {
		s := newSection(&parts[i], &data)
		s.Head.ID = fmt.Sprintf("%s-%d", s.Head.Experiment, i+1) // an audit may hold two of a kind
		p.Sections = append(p.Sections, s)
	}
	data.Glyphs = glyphs()
	raw, err := json.Marshal(data) // escapes <, >, & and U+2028
	if err != nil {
		return err
	}
	p.Data = template.JS(raw)
	return pageTemplate().Execute(w, p)
}

type page struct {
	Title    string
	Head     head
	Audit    bool
	Sections []section
	CSS      template.CSS
	JS       template.JS
	Data     template.JS
}

// pageData is what the page's script reads: the trials of all sections, by the
// index that cells and buttons carry.
type pageData struct {
	Trials []shownTrial      `json:"trials"`
	Glyphs map[string]string `json:"glyphs"`
}

type shownTrial struct {
	Trial
	Tier tier `json:"tier"`
}

func glyphs() map[string]string {
	m := make(map[string]string)
	for _, w := range words {
		m[w.name] = w.glyph
	}
	return m
}

// head is a section's first lines: the answer, and what it rests on.
type head struct {
	ID, Experiment, Question, Answer, Outcome string
	Invariant                                 string
	Coverage, Command                         string
	Answered                                  bool
	C                                         Coverage
	N                                         int    // findings
	Points, Down                              string // what the points are, and in the plural
	Notes                                     []string
	Mood                                      tier
}

func heading(r *Report) head {
	found, c := r.found(), r.total()
	h := head{Experiment: r.Experiment, Question: questions[r.Experiment],
		Invariant: invariants[r.Experiment],
		Answer:    upper(r.headline()), Outcome: r.outcome(), Coverage: upper(r.coverage()), Command: r.Command,
		Answered: r.Answered(), C: c, N: len(found), Points: strings.TrimPrefix(count(c.Points, r.noun()), number(c.Points)+" "), Down: r.noun() + "s",
		Notes: r.Notes, Mood: good}
	switch {
	case len(found) > 0:
		h.Mood = tierOf(found[0].Verdict, true)
	case !h.Answered:
		h.Mood = none
	}
	return h
}

// headline is the answer without reasons, which stand below it.
func (r *Report) headline() string {
	switch n := len(r.found()); {
	case r.Answered():
		return r.answer()
	case n > 0:
		return count(n, "finding") + " so far, incomplete"
	case r.total().Ran == 0:
		return "nothing was tried, so nothing is known"
	}
	return "no answer: incomplete"
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

type section struct {
	Head   head
	Cards  []card
	Bar    []segment
	Map    *heatMap
	List   []row
	Unseen int // trials that the list leaves out
	Listed []tallied
}

type card struct {
	Finding
	Title, Glyph, Meaning string
	Tier                  tier
	Trial                 string // index
	Seen                  bool   // there is evidence
	Others                []witness
}

type witness struct{ Choice, Trial string }

type tallied struct {
	Name, Glyph, Meaning string
	Tier                 tier
	N                    int
}

func newSection(r *Report, data *pageData) section {
	first := len(data.Trials)
	index := make(map[string]int)
	for i, t := range r.Trials {
		data.Trials = append(data.Trials, shownTrial{t, tierOf(t.Verdict, t.Finding)})
		if _, known := index[t.Choice]; !known {
			index[t.Choice] = first + i
		}
	}
	s := section{Head: heading(r), Bar: bar(r), Map: newHeatMap(r.Trials, first)}
	s.List, s.Unseen = rows(r.Trials, first)
	for _, f := range r.found() {
		c := newCard(f, index)
		if i, known := index[f.Choice]; known {
			c.Seen = data.Trials[i].Evidence != nil
		}
		s.Cards = append(s.Cards, c)
	}
	for _, t := range r.listed() {
		s.Listed = append(s.Listed, tallied{t.name, t.glyph, t.meaning, tierOf(t.name, false), t.N})
	}
	return s
}

func newCard(f Finding, index map[string]int) card {
	trial := func(choice string) string {
		if i, ok := index[choice]; ok {
			return strconv.Itoa(i)
		}
		return ""
	}
	w := wordOf(f.Verdict)
	c := card{Finding: f, Title: f.title(), Glyph: w.glyph, Meaning: w.meaning,
		Tier: tierOf(f.Verdict, true), Trial: trial(f.Choice)}
	for _, o := range f.others() {
		c.Others = append(c.Others, witness{o, trial(o)})
	}
	return c
}

// segment is one verdict's share of the bar, wide in proportion.
type segment struct {
	Name string
	Tier tier
	N    int
}

func bar(r *Report) []segment {
	n := make(map[string]int)
	var all []segment
	for _, f := range r.found() {
		if n[f.Verdict] == 0 {
			all = append(all, segment{Name: f.Verdict, Tier: tierOf(f.Verdict, true)})
		}
		n[f.Verdict] += max(1, len(f.Witnesses))
	}
	for i := range all {
		all[i].N = n[all[i].Name]
	}
	for _, t := range r.listed() {
		all = append(all, segment{t.name, tierOf(t.name, false), t.N})
	}
	if c := r.total(); c.Planned > c.Ran {
		all = append(all, segment{"not run", none, c.Planned - c.Ran})
	}
	return all
}

// row is one trial of a list.
type row struct {
	Trial          string
	Choice, Detail string
	Verdict, Glyph string
	Tier           tier
	bad            int
}

// maxListed is how many trials without a finding the page lists by name.
const maxListed = 200

// rows lists what has no place in a heat map, worst first; findings are never
// left out.
func rows(trials []Trial, first int) (list []row, unseen int) {
	quiet := 0
	for i, t := range trials {
		if t.Point != "" && t.Fault != "" {
			continue
		}
		if !t.Finding {
			if quiet++; quiet > maxListed {
				unseen++
				continue
			}
		}
		list = append(list, row{Trial: strconv.Itoa(first + i), Choice: cmp.Or(t.Choice, t.Verdict),
			Detail: cmp.Or(t.Cause, t.Detail), Verdict: t.Verdict, Glyph: wordOf(t.Verdict).glyph,
			Tier: tierOf(t.Verdict, t.Finding), bad: badness(t)})
	}
	slices.SortStableFunc(list, func(a, b row) int { return a.bad - b.bad })
	return list, unseen
}
