package verdict

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"faultlab/internal/tree"
)

// placeAxis is one answer about a start.
type placeAxis struct {
	name   string
	values []string
	set    func(f *placeFacts, v int)
}

func either(name string, field func(*placeFacts) *bool) placeAxis {
	return placeAxis{name, []string{"no", "yes"}, func(f *placeFacts, v int) { *field(f) = v == 1 }}
}

var placeAxes = []placeAxis{
	either("hang", func(f *placeFacts) *bool { return &f.hang }),
	either("orphan", func(f *placeFacts) *bool { return &f.orphan }),
	either("escape", func(f *placeFacts) *bool { return &f.escape }),
	either("checked", func(f *placeFacts) *bool { return &f.checked }),
	either("check fails", func(f *placeFacts) *bool { return &f.checkFails }),
	either("control refuses", func(f *placeFacts) *bool { return &f.refusing }),
	either("succeeds", func(f *placeFacts) *bool { return &f.succeeds }),
	either("crashed", func(f *placeFacts) *bool { return &f.crashed }),
	either("status as control", func(f *placeFacts) *bool { return &f.asStatus }),
	either("as before", func(f *placeFacts) *bool { return &f.asBefore }),
	either("output lost", func(f *placeFacts) *bool { return &f.lost }),
	either("excused", func(f *placeFacts) *bool { return &f.excused }),
	{"left", []string{"as control", "extra", "other"}, func(f *placeFacts, v int) { f.left = left(v) }},
	either("ended by the start", func(f *placeFacts) *bool { return &f.ended }),
	either("said why", func(f *placeFacts) *bool { return &f.said }),
	{"next", []string{"as control", "extra", "torn", "other", "fails, named", "fails"}, func(f *placeFacts, v int) { f.next = next(v) }},
}

// places calls do for each combination of facts from axis i on.
func places(f placeFacts, i int, do func(placeFacts)) {
	if i == len(placeAxes) {
		do(f)
		return
	}
	for v := range placeAxes[i].values {
		placeAxes[i].set(&f, v)
		places(f, i+1, do)
	}
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
	places(placeFacts{}, 4, func(f placeFacts) { // the worst four are the same in any company
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

// placeBranch is the truth table as questions, those left out that change
// nothing.
func placeBranch(f placeFacts, i int) []string {
	if i == len(placeAxes) {
		v, finding := decidePlace(f)
		return []string{v.String() + map[bool]string{true: "!"}[finding]}
	}
	var branches [][]string
	same := true
	for v := range placeAxes[i].values {
		placeAxes[i].set(&f, v)
		branches = append(branches, placeBranch(f, i+1))
		same = same && strings.Join(branches[0], "\n") == strings.Join(branches[v], "\n")
	}
	if same {
		return branches[0]
	}
	var lines []string
	for v, b := range branches {
		head := fmt.Sprintf("%s: %s", placeAxes[i].name, placeAxes[i].values[v])
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

func TestPlaceTable(t *testing.T) {
	t.Parallel()
	const golden = "testdata/place.txt"
	got := strings.Join(placeBranch(placeFacts{}, 0), "\n") + "\n"
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
