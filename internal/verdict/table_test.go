package verdict

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// axis is one answer among the facts F, with all that it can be.
type axis[F any] struct {
	name   string
	values []string
	set    func(f *F, v int)
}

func yesNo[F any](name string, field func(*F) *bool) axis[F] {
	return axis[F]{name, []string{"no", "yes"}, func(f *F, v int) { *field(f) = v == 1 }}
}

// axes are all the facts, in the order in which the table asks for them.
var axes = []axis[facts]{
	yesNo("hang", func(f *facts) *bool { return &f.hang }),
	yesNo("orphan", func(f *facts) *bool { return &f.orphan }),
	yesNo("escape", func(f *facts) *bool { return &f.escape }),
	yesNo("checked", func(f *facts) *bool { return &f.checked }),
	yesNo("check fails", func(f *facts) *bool { return &f.checkFails }),
	yesNo("check says lost", func(f *facts) *bool { return &f.saysLost }),
	yesNo("gone", func(f *facts) *bool { return &f.gone }),
	yesNo("status as control", func(f *facts) *bool { return &f.asStatus }),
	yesNo("killed", func(f *facts) *bool { return &f.killed }),
	{"left", []string{"as control", "extra", "other"}, func(f *facts, v int) { f.left = left(v) }},
	yesNo("sync lost", func(f *facts) *bool { return &f.syncLost }),
	{"next", []string{"as control", "extra", "torn", "other", "fails, named", "fails"}, func(f *facts, v int) { f.next = next(v) }},
	yesNo("as before", func(f *facts) *bool { return &f.asBefore }),
	yesNo("stuck", func(f *facts) *bool { return &f.stuck }),
}

// every calls do for each combination of what f holds already with the axes.
func every[F any](axes []axis[F], f F, do func(F)) {
	if len(axes) == 0 {
		do(f)
		return
	}
	for v := range axes[0].values {
		axes[0].set(&f, v)
		every(axes[1:], f, do)
	}
}

// spelled is a verdict with a mark where it is a finding.
func spelled(v Verdict, finding bool) string {
	if finding {
		return v.String() + "!"
	}
	return v.String()
}

// branch is the truth table as questions, those left out that change nothing.
func branch[F any](axes []axis[F], f F, decide func(F) (Verdict, bool)) []string {
	if len(axes) == 0 {
		return []string{spelled(decide(f))}
	}
	var branches [][]string
	same := true
	for v := range axes[0].values {
		axes[0].set(&f, v)
		branches = append(branches, branch(axes[1:], f, decide))
		same = same && strings.Join(branches[0], "\n") == strings.Join(branches[v], "\n")
	}
	if same {
		return branches[0]
	}
	var lines []string
	for v, b := range branches {
		head := fmt.Sprintf("%s: %s", axes[0].name, axes[0].values[v])
		if len(b) == 1 {
			lines = append(lines, head+" => "+b[0])
			continue
		}
		lines = append(lines, head)
		for _, l := range b {
			lines = append(lines, "  "+l)
		}
	}
	return lines
}

// compare holds a truth table against a golden file.
func compare(t *testing.T, golden string, table []string) {
	t.Helper()
	got := strings.Join(table, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the table is now\n%s", got)
	}
}

// TestTruthTable holds decide, over all combinations of facts, against the table
// in testdata. A mark after a verdict makes it a finding.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	compare(t, "testdata/table.txt", branch(axes, facts{}, decide))
}

// rows are the lines of the design's table, as it words them; the first that
// holds must be the verdict. It is written a second time, apart from decide.
var rows = []struct {
	verdict Verdict
	holds   func(f facts) bool
	finding func(f facts) bool
}{
	{Hang, func(f facts) bool { return f.hang }, always},
	{Orphan, func(f facts) bool { return f.orphan }, always},
	{Escape, func(f facts) bool { return f.escape }, always},
	{Lost, func(f facts) bool { return f.checked && f.checkFails && f.saysLost }, always},
	{Violated, func(f facts) bool { return f.checked && f.checkFails }, always},
	{Tolerated, func(f facts) bool { return reported(f) && f.left == leftAsControl && !f.syncLost }, never},
	// A sync that was lost as well is graver, unless the user's check has said
	// that the data is good.
	{Litter, func(f facts) bool { return reported(f) && f.left == leftExtra && (!f.syncLost || f.checked) }, always},
	{Silent, func(f facts) bool { return reported(f) && !f.checked }, always},
	{Differs, reported, never},
	{Wedged, func(f facts) bool { return f.next == nextFails }, always},
	{Lost, func(f facts) bool { return f.gone && !f.checked }, always},
	{Refused, func(f facts) bool { return f.next == nextNames }, notExcused},
	{RolledBack, func(f facts) bool { return f.next == nextAsControl && f.asBefore }, never},
	{Healed, func(f facts) bool { return f.next == nextAsControl }, never},
	{Litter, func(f facts) bool { return f.next == nextExtra }, notExcused},
	{Torn, func(f facts) bool { return f.next == nextTorn && !f.checked && !f.asBefore }, always},
	{Differs, always, never},
}

func always(facts) bool       { return true }
func never(facts) bool        { return false }
func reported(f facts) bool   { return f.asStatus && !f.killed }
func notExcused(f facts) bool { return !f.killed && !f.stuck }

func TestFirstLineWins(t *testing.T) {
	t.Parallel()
	every(axes, facts{}, func(f facts) {
		for _, row := range rows {
			if !row.holds(f) {
				continue
			}
			if v, finding := decide(f); v != row.verdict || finding != row.finding(f) {
				t.Errorf("%+v: %v %v, not %v %v", f, v, finding, row.verdict, row.finding(f))
			}
			return
		}
	})
}

// What is worse must not turn a finding into none.
func TestWorseIsNotBetter(t *testing.T) {
	t.Parallel()
	found := func(f facts) bool { _, finding := decide(f); return finding }
	every(axes, facts{}, func(f facts) {
		if v, _ := decide(f); v == None || v >= end {
			t.Errorf("%+v: %v", f, v)
		}
		if !found(f) {
			return
		}
		for what, worsen := range map[string]func(*facts){
			"hang":        func(f *facts) { f.hang = true },
			"orphan":      func(f *facts) { f.orphan = true },
			"escape":      func(f *facts) { f.escape = true },
			"check fails": func(f *facts) { f.checkFails = f.checked },
			"gone":        func(f *facts) { f.gone = true },
			"sync lost":   func(f *facts) { f.syncLost = true },
		} {
			worse := f
			worsen(&worse)
			if !found(worse) {
				t.Errorf("%s makes no finding of %+v", what, f)
			}
		}
	})
}

// A kill excuses: as an error that reports itself the same is at least as bad.
func TestKillIsNeverWorse(t *testing.T) {
	t.Parallel()
	every(axes, facts{}, func(f facts) {
		if f.asStatus {
			return
		}
		killed, failed := f, f
		killed.killed, failed.killed = true, false
		a, aFinding := decide(killed)
		b, bFinding := decide(failed)
		if a != b || aFinding && !bFinding {
			t.Errorf("%+v: after a kill %v %v, after an error %v %v", f, a, aFinding, b, bFinding)
		}
	})
}
