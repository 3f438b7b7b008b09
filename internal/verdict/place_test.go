package verdict

import (
	"testing"

	"faultlab/internal/tree"
)

var placeAxes = []axis[placeFacts]{
	yesNo("hang", func(f *placeFacts) *bool { return &f.hang }),
	yesNo("orphan", func(f *placeFacts) *bool { return &f.orphan }),
	yesNo("escape", func(f *placeFacts) *bool { return &f.escape }),
	yesNo("checked", func(f *placeFacts) *bool { return &f.checked }),
	yesNo("check fails", func(f *placeFacts) *bool { return &f.checkFails }),
	yesNo("control refuses", func(f *placeFacts) *bool { return &f.refusing }),
	yesNo("succeeds", func(f *placeFacts) *bool { return &f.succeeds }),
	yesNo("crashed", func(f *placeFacts) *bool { return &f.crashed }),
	yesNo("status as control", func(f *placeFacts) *bool { return &f.asStatus }),
	yesNo("as before", func(f *placeFacts) *bool { return &f.asBefore }),
	yesNo("output lost", func(f *placeFacts) *bool { return &f.lost }),
	yesNo("excused", func(f *placeFacts) *bool { return &f.excused }),
	{"left", []string{"as control", "extra", "other"}, func(f *placeFacts, v int) { f.left = left(v) }},
	yesNo("ended by the start", func(f *placeFacts) *bool { return &f.ended }),
	yesNo("said why", func(f *placeFacts) *bool { return &f.said }),
	{"next", []string{"as control", "extra", "torn", "other", "fails, named", "fails"}, func(f *placeFacts, v int) { f.next = next(v) }},
}

// placeLines are the lines of docs/place.md, as it words them, apart from
// decidePlace.
var placeLines = []struct {
	verdict Verdict
	holds   func(f placeFacts) bool
	finding func(f placeFacts) bool
}{
	{Hang, func(f placeFacts) bool { return f.hang }, must},
	{Orphan, func(f placeFacts) bool { return f.orphan }, must},
	{Escape, func(f placeFacts) bool { return f.escape }, must},
	{Violated, func(f placeFacts) bool { return f.checked && f.checkFails }, must},
	{Bypassed, func(f placeFacts) bool { return f.refusing && f.succeeds }, must},
	{Bypassed, func(f placeFacts) bool { return f.refusing && !f.asBefore && f.left != leftAsControl }, must},
	{Crashed, func(f placeFacts) bool { return f.crashed }, must},
	{Silent, func(f placeFacts) bool { return f.asStatus && f.lost && !f.excused }, must},
	{Tolerated, func(f placeFacts) bool { return f.asStatus && f.left == leftAsControl && !f.lost }, mayNot},
	{Litter, func(f placeFacts) bool { return f.asStatus && f.left == leftExtra }, must},
	{Silent, func(f placeFacts) bool { return f.asStatus && f.left == leftOther && !f.checked && !f.refusing }, must},
	{Differs, func(f placeFacts) bool { return f.asStatus }, mayNot},
	{Refused, func(f placeFacts) bool { return f.asBefore && (f.said || f.ended) }, mayNot},
	{Differs, func(f placeFacts) bool { return f.asBefore }, mayNot},
	{Differs, func(f placeFacts) bool { return f.next == nextNames && f.ended }, mayNot},
	{Wedged, func(f placeFacts) bool { return f.next == nextNames || f.next == nextFails }, must},
	{Healed, func(f placeFacts) bool { return f.next == nextAsControl }, mayNot},
	{Litter, func(f placeFacts) bool { return f.next == nextExtra }, func(f placeFacts) bool { return !f.ended }},
	{Torn, func(f placeFacts) bool { return f.next == nextTorn && !f.checked }, must},
	{Differs, must, mayNot},
}

func must(placeFacts) bool   { return true }
func mayNot(placeFacts) bool { return false }

func TestPlaceFirstLineWins(t *testing.T) {
	t.Parallel()
	every(placeAxes[4:], placeFacts{}, func(f placeFacts) { // the worst four are the same in any company
		for _, line := range placeLines {
			if !line.holds(f) {
				continue
			}
			if v, finding := decidePlace(f); v != line.verdict || finding != line.finding(f) {
				t.Fatalf("%+v: %v %v, not %v %v", f, v, finding, line.verdict, line.finding(f))
			}
			return
		}
	})
	for i, want := range []Verdict{Hang, Orphan, Escape} {
		var f placeFacts
		placeAxes[i].set(&f, 1)
		f.crashed, f.checked, f.checkFails, f.refusing, f.succeeds = true, true, true, true, true
		if v, finding := decidePlace(f); v != want || !finding {
			t.Errorf("%v is %v", want, v)
		}
	}
}

func TestPlaceTable(t *testing.T) {
	t.Parallel()
	compare(t, "testdata/place.txt", branch(placeAxes, placeFacts{}, decidePlace))
}

func placed(status int, d tree.Delta) Placed {
	run := Run{Status: status, Tree: d}
	return Placed{Faulted: Faulted{Run: run, Next: Next{Run: Run{Tree: d}}}, Said: true}
}

// What is said of a start, and how permissions count.
func TestJudgePlace(t *testing.T) {
	t.Parallel()
	made := tree.Delta{"out": {Kind: tree.File, Perm: 0o644, Size: 1}}
	open := tree.Delta{"out": {Kind: tree.File, Perm: 0o666, Size: 1}}
	worked := Control{Base: tree.Snapshot{}, Once: Run{Tree: made}, Twice: Run{Tree: made}}
	guarded := Control{Base: tree.Snapshot{}, Once: Run{Status: 2}, Twice: Run{Status: 2}}
	cut := tree.Delta{"out": {Kind: tree.File, Perm: 0o644, Size: 1, Sum: [32]byte{1}}}
	with := func(p Placed, change func(*Placed)) Placed { change(&p); return p }
	for _, test := range []struct {
		name    string
		control Control
		start   Placed
		want    Verdict
		cause   string
	}{
		{"the same", worked, placed(0, made), Tolerated, ""},
		{"another mode", worked, placed(0, open), Silent, "ends with status 0 as if all were well, but out has mode 0666 and not 0644"},
		{"another mode by the mask", worked, with(placed(0, open), func(p *Placed) { p.Modes = true }), Tolerated, ""},
		{"other contents by the mask", worked, with(placed(0, cut), func(p *Placed) { p.Modes = true }), Silent, "ends with status 0 as if all were well, but out is not as it should be"},
		{"through the guard", guarded, placed(0, made), Bypassed, "the plain start is refused with status 2, and this one gets through"},
		{"through the guard, and then failed", guarded, placed(1, made), Bypassed, "the plain start is refused with status 2, and this one gets through"},
		{"refused otherwise", guarded, placed(1, nil), Refused, ""},
		{"refused as ever", guarded, placed(2, nil), Tolerated, ""},
		{"nothing done", worked, placed(0, nil), Silent, "ends with status 0 as if all were well, but out is missing"},
		{"a crash", worked, with(placed(139, nil), func(p *Placed) { p.Crash = "SIGSEGV" }), Crashed, "crashes: SIGSEGV"},
		{"output lost", worked, with(placed(0, made), func(p *Placed) { p.Lost = true }), Silent, "what it prints is lost, and it ends with status 0 as if all were well"},
		{"output not wanted", worked, with(placed(0, made), func(p *Placed) { p.Lost, p.Excused = true, true }), Differs, ""},
		{"in the way, named", worked, with(placed(1, cut), func(p *Placed) {
			p.Names = []Name{{"out.lock", "out.lock"}}
			p.Next.Status, p.Next.Output = 3, "out.lock exists"
		}), Wedged, "out.lock is left behind and blocks the next start, which names it"},
	} {
		got := JudgePlace(test.control, test.start)
		if got.Verdict != test.want || got.Cause != test.cause {
			t.Errorf("%s: %v %q, want %v %q", test.name, got.Verdict, got.Cause, test.want, test.cause)
		}
	}
}
