package verdict

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// axis is one answer, with all that it can be.
type axis struct {
	name   string
	values []string
	set    func(f *facts, v int)
}

func yesNo(name string, set func(*facts, bool)) axis {
	return axis{name, []string{"no", "yes"}, func(f *facts, v int) { set(f, v == 1) }}
}

// axes are all the facts, in the order in which the table asks for them.
var axes = []axis{
	yesNo("hang", func(f *facts, v bool) { f.hang = v }),
	yesNo("orphan", func(f *facts, v bool) { f.orphan = v }),
	yesNo("escape", func(f *facts, v bool) { f.escape = v }),
	yesNo("checked", func(f *facts, v bool) { f.checked = v }),
	yesNo("check fails", func(f *facts, v bool) { f.checkFails = v }),
	yesNo("status as control", func(f *facts, v bool) { f.asStatus = v }),
	yesNo("killed", func(f *facts, v bool) { f.killed = v }),
	{"left", []string{"as control", "extra", "other"}, func(f *facts, v int) { f.left = left(v) }},
	yesNo("sync lost", func(f *facts, v bool) { f.syncLost = v }),
	{"next", []string{"as control", "extra", "torn", "other", "fails, named", "fails"}, func(f *facts, v int) { f.next = next(v) }},
	yesNo("as before", func(f *facts, v bool) { f.asBefore = v }),
	yesNo("stuck", func(f *facts, v bool) { f.stuck = v }),
}

// every calls do for each combination of facts.
func every(do func(facts)) {
	var walk func(f facts, i int)
	walk = func(f facts, i int) {
		if i == len(axes) {
			do(f)
			return
		}
		for v := range axes[i].values {
			axes[i].set(&f, v)
			walk(f, i+1)
		}
	}
	walk(facts{}, 0)
}

// outcome is a verdict with a mark where it is a finding.
func outcome(f facts) string {
	v, finding := decide(f)
	if finding {
		return v.String() + "!"
	}
	return v.String()
}

// branch is the truth table as questions, those left out that change nothing.
func branch(f facts, i int) []string {
	if i == len(axes) {
		return []string{outcome(f)}
	}
	var branches [][]string
	same := true
	for v := range axes[i].values {
		axes[i].set(&f, v)
		branches = append(branches, branch(f, i+1))
		same = same && strings.Join(branches[0], "\n") == strings.Join(branches[v], "\n")
	}
	if same {
		return branches[0]
	}
	var lines []string
	for v, b := range branches {
		head := fmt.Sprintf("%s: %s", axes[i].name, axes[i].values[v])
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

// TestTruthTable holds decide, over all combinations of facts, against the table
// in testdata. A mark after a verdict makes it a finding.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	const golden = "testdata/table.txt"
	got := strings.Join(branch(facts{}, 0), "\n") + "\n"
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
	{Violated, func(f facts) bool { return f.checked && f.checkFails }, always},
	{Tolerated, func(f facts) bool { return reported(f) && f.left == leftAsControl && !f.syncLost }, never},
	// A sync that was lost as well is graver, unless the user's check has said
	// that the data is good.
	{Litter, func(f facts) bool { return reported(f) && f.left == leftExtra && (!f.syncLost || f.checked) }, always},
	{Silent, func(f facts) bool { return reported(f) && !f.checked }, always},
	{Differs, reported, never},
	{Refused, func(f facts) bool { return f.next == nextNames }, notExcused},
	{Wedged, func(f facts) bool { return f.next == nextFails }, always},
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
	every(func(f facts) {
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
	every(func(f facts) {
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
	every(func(f facts) {
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
