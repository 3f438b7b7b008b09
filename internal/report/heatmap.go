package report

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// heatMap is trials as a table: points down, faults across.
type heatMap struct {
	Faults []string
	Rows   []mapRow
	Legend []tallied
	Quiet  int  // rows without a finding
	Mixed  bool // rows with findings, too
	Hide   bool // quiet rows, at first
}

type mapRow struct {
	Point           string // as it is
	Kind, Dir, Base string // as it is shown, the folder cut where it is long
	Nth             string
	Found           bool
	Cells           []cell
}

// cell is all trials of one point and one fault; it looks like the worst.
type cell struct {
	Trials, Glyph, Label string // Trials: indices, the worst first
	Tier                 tier
	More                 int // trials behind the one that shows
}

// newHeatMap is nil where trials have no points or no faults.
func newHeatMap(trials []Trial, first int) *heatMap {
	m := &heatMap{}
	column, line := make(map[string]int), make(map[string]int)
	behind := make(map[[2]int][]int)
	for i, t := range trials {
		if t.Point == "" || t.Fault == "" {
			continue
		}
		x, ok := column[t.Fault]
		if !ok {
			x, column[t.Fault] = len(m.Faults), len(m.Faults)
			m.Faults = append(m.Faults, t.Fault)
		}
		y, ok := line[t.Point]
		if !ok {
			y, line[t.Point] = len(m.Rows), len(m.Rows)
			m.Rows = append(m.Rows, newMapRow(t.Point))
		}
		m.Rows[y].Found = m.Rows[y].Found || t.Finding
		behind[[2]int{x, y}] = append(behind[[2]int{x, y}], i)
	}
	if len(m.Rows) == 0 {
		return nil
	}
	m.fill(trials, first, behind)
	m.Legend = legend(trials)
	// A map that is mostly quiet would hide what it is there to show.
	const manyRows = 40
	m.Mixed = m.Quiet > 0 && m.Quiet < len(m.Rows)
	m.Hide = m.Mixed && m.Quiet > manyRows
	return m
}

func (m *heatMap) fill(trials []Trial, first int, behind map[[2]int][]int) {
	for y := range m.Rows {
		if !m.Rows[y].Found {
			m.Quiet++
		}
		m.Rows[y].Cells = make([]cell, len(m.Faults))
		for x := range m.Faults {
			if is := behind[[2]int{x, y}]; len(is) > 0 {
				m.Rows[y].Cells[x] = newCell(trials, first, is)
			}
		}
	}
}

func newCell(trials []Trial, first int, is []int) cell {
	slices.SortStableFunc(is, func(a, b int) int { return badness(trials[a]) - badness(trials[b]) })
	t := trials[is[0]]
	c := cell{Glyph: wordOf(t.Verdict).glyph, Label: t.Verdict, Tier: tierOf(t.Verdict, t.Finding), More: len(is) - 1}
	if t.Finding {
		c.Label += ", a finding"
	}
	ids := make([]string, len(is))
	for i := range is {
		ids[i] = strconv.Itoa(first + is[i])
	}
	c.Trials = strings.Join(ids, " ")
	return c
}

// badness orders trials, the worst lowest; any finding before all others.
func badness(t Trial) int {
	n := severity(t.Verdict)
	if !t.Finding {
		n += len(words) + 1
	}
	return n
}

var pointForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+) path=(.+?)(?: nth=(\d+))?$`) })

// newMapRow takes a selector apart, so that a narrow table can cut a long path
// and still show the rest.
func newMapRow(p string) mapRow {
	row, at := mapRow{Point: p}, p
	if f := pointForm().FindStringSubmatch(p); f != nil {
		row.Kind, at, row.Nth = f[1], f[2], f[3]
	}
	row.Dir, row.Base = path.Split(at)
	return row
}

// legend counts what the map shows by verdict and tier, the worst first.
func legend(trials []Trial) []tallied {
	at := make(map[tallied]int)
	worst := make(map[tallied]int)
	for _, t := range trials {
		if t.Point == "" || t.Fault == "" {
			continue
		}
		w := wordOf(t.Verdict)
		k := tallied{Name: t.Verdict, Glyph: w.glyph, Meaning: w.meaning, Tier: tierOf(t.Verdict, t.Finding)}
		at[k]++
		worst[k] = badness(t)
	}
	var all []tallied
	for k := range at {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b tallied) int {
		if d := worst[a] - worst[b]; d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i, k := range all {
		all[i].N = at[k]
	}
	return all
}
