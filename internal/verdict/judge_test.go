package verdict

import (
	"crypto/sha256"
	"maps"
	"strings"
	"testing"

	"faultlab/internal/tree"
)

func file(text string) tree.Entry {
	return tree.Entry{Kind: tree.File, Perm: 0o644, Size: int64(len(text)), Sum: sha256.Sum256([]byte(text)), Head: text}
}

func grown(text string) tree.Entry {
	e := file(text)
	e.Grown = true
	return e
}

// saver is a program that reads state, writes it anew and keeps a log; a second
// run of it finds nothing to do and ends with status 4.
func saver() Control {
	return Control{
		Base:  tree.Snapshot{"state": file("old"), "log": file("1")},
		Once:  Run{0, tree.Delta{"state": file("new"), "log": grown("12")}},
		Twice: Run{4, tree.Delta{"state": file("new"), "log": grown("12")}},
	}
}

// done is the next run that ends as saver's first control.
func done() Next { return Next{Run: saver().Once} }

func erring(d tree.Delta, n Next) Faulted { return Faulted{Run: Run{1, d}, Next: n} }

func killed(d tree.Delta, n Next) Faulted {
	return Faulted{Run: Run{137, d}, Killed: true, Next: n}
}

// with is a delta of several files by name and text.
func with(pairs ...string) tree.Delta {
	d := make(tree.Delta)
	for i := 0; i < len(pairs); i += 2 {
		d[pairs[i]] = file(pairs[i+1])
	}
	return d
}

// also is a delta with further files, or others.
func also(d tree.Delta, pairs ...string) tree.Delta {
	out := maps.Clone(d)
	maps.Copy(out, with(pairs...))
	return out
}

func namesOf(paths ...string) []Name {
	var out []Name
	for _, p := range paths {
		out = append(out, Name{p, p})
	}
	return out
}

// What the rows of judged are made of.
var (
	wholeTree   = saver().Once.Tree
	lockLeft    = with("run.lock", "")
	nextLitters = Next{Run: Run{0, also(wholeTree, "run.lock", "")}}
	nextTears   = Next{Run: Run{0, with("state", "ne")}}
)

// nextSays is a next run that fails, and prints something.
func nextSays(text string) Next { return Next{Run: Run{3, lockLeft}, Output: text} }

func leaving(f Faulted, paths ...string) Faulted { f.Names = namesOf(paths...); return f }

// unable is f where the experiment kept it from removing paths.
func unable(f Faulted, paths ...string) Faulted { f.Stuck = paths; return f }

func ended(f Faulted) Faulted { f.Done = true; return f }

func checking(f Faulted, fails bool) Faulted {
	f.Check = Check{Given: true, Failed: fails, Output: "bad\n"}
	return f
}

// crying is f where the check fails and prints something.
func crying(f Faulted, text string) Faulted { f.Check = Check{true, true, text}; return f }

// judged are faults in saver, and what is said of them.
var judged = []struct {
	name    string
	f       Faulted
	verdict Verdict
	finding bool
	cause   string
}{
	{"over time", Faulted{Hang: "does not end within 1s"}, Hang, true, "does not end within 1s"},
	{"a descendant", Faulted{Orphans: []string{"12 sleep", "13 sleep"}}, Orphan, true, "a process lives on: sleep"},
	{"outside", Faulted{Escapes: []string{"/etc/x"}}, Escape, true, "writes outside the tree: /etc/x"},
	{"the check", checking(Faulted{Run: Run{0, wholeTree}, Next: done()}, true), Violated, true, "the check fails: bad"},
	{"no harm", Faulted{Run: Run{0, wholeTree}, Next: Next{Run: Run{4, wholeTree}}}, Tolerated, false, ""},
	{"litter and success", Faulted{Run: Run{0, also(wholeTree, "tmp", "x")}}, Litter, true, "left behind, and not cleared by the next run: tmp"},
	{"swallowed", Faulted{Run: Run{0, nil}}, Silent, true, "ends with status 0 as if all were well, but log is as before, state is as before"},
	{"half of it, swallowed", Faulted{Run: Run{0, also(with("state", ""), "log", "12")}}, Silent, true, "ends with status 0 as if all were well, but state is empty"},
	{"swallowed, the check holds", checking(Faulted{Run: Run{0, nil}}, false), Differs, false, ""},
	{"sync", Faulted{Run: Run{0, wholeTree}, SyncLost: "state"}, Silent, true, "a failed sync is reported as success: state"},
	{"sync, the check holds", checking(Faulted{Run: Run{0, wholeTree}, SyncLost: "state"}, false), Differs, false, ""},
	{"sync and litter", Faulted{Run: Run{0, also(wholeTree, "tmp", "x")}, SyncLost: "state"}, Silent, true, ""},
	{"sync and litter, the check holds", checking(Faulted{Run: Run{0, also(wholeTree, "tmp", "x")}, SyncLost: "state"}, false), Litter, true, ""},

	{"in the way", leaving(erring(lockLeft, nextSays("open /x/run.lock: file exists")), "run.lock"), Refused, true, "run.lock is left behind and blocks the next run, which names it"},
	{"in the way, and a file torn", leaving(erring(also(lockLeft, "state", ""), nextSays("run.lock exists")), "run.lock"), Refused, true, "run.lock is left behind and blocks the next run, which names it; neither old nor new: state"},
	{"in the way, and a file done", leaving(erring(also(lockLeft, "state", "new"), nextSays("run.lock exists")), "run.lock"), Refused, true, "run.lock is left behind and blocks the next run, which names it"},
	{"in the way, and a file begun", leaving(erring(also(lockLeft, "tmp", "n"), nextSays("run.lock exists")), "run.lock"), Refused, true, "run.lock is left behind and blocks the next run, which names it"},
	{"in the way, torn", leaving(erring(with("state", ""), nextSays("cannot read /x/state: empty")), "state"), Refused, true, "state is left behind and blocks the next run, which names it"},
	{"in the way, torn, the check holds", checking(leaving(erring(also(lockLeft, "state", ""), nextSays("run.lock exists")), "run.lock"), false), Refused, true, "run.lock is left behind and blocks the next run, which names it"},
	{"in the way, killed", leaving(killed(lockLeft, nextSays("open /x/run.lock: file exists")), "run.lock"), Refused, false, ""},
	{"in the way, stuck", unable(leaving(erring(lockLeft, nextSays("run.lock")), "run.lock"), "run.lock"), Refused, false, ""},
	{"in the way, other stuck", unable(leaving(erring(lockLeft, nextSays("run.lock")), "run.lock"), "tmp"), Refused, true, ""},
	{"wedged", leaving(erring(lockLeft, nextSays("another one runs")), "run.lock"), Wedged, true, "the next run fails without saying what is in its way; left behind: run.lock"},
	{"wedged, and a file torn", erring(also(lockLeft, "state", ""), nextSays("busy")), Wedged, true, "the next run fails without saying what is in its way; left behind: run.lock, state; neither old nor new: state"},
	{"wedged, and a file done", erring(also(lockLeft, "state", "new"), nextSays("busy")), Wedged, true, "the next run fails without saying what is in its way; left behind: run.lock, state"},
	{"wedged, torn", erring(with("state", ""), nextSays("busy")), Wedged, true, "the next run fails without saying what is in its way; left behind: state"},
	{"wedged, killed", leaving(killed(lockLeft, nextSays("another one runs")), "run.lock"), Wedged, true, ""},
	{"wedged, stuck", unable(leaving(erring(lockLeft, nextSays("busy")), "run.lock"), "run.lock"), Wedged, true, ""},
	{"names what is not left", erring(nil, nextSays("run.lock: file exists")), Wedged, true, ""},

	{"rolled back", erring(nil, done()), RolledBack, false, ""},
	{"rolled back, killed", killed(nil, done()), RolledBack, false, ""},
	{"healed", erring(with("tmp", "x"), done()), Healed, false, ""},
	{"complete, reported as failed", erring(wholeTree, Next{Run: Run{4, wholeTree}}), Healed, false, ""},
	{"complete but for litter", erring(also(wholeTree, "tmp", ""), Next{Run: Run{4, also(wholeTree, "tmp", "")}}), Litter, true, ""},
	{"complete, and mended by the next", killed(also(wholeTree, "log", "1?"), Next{Run: Run{4, wholeTree}}), Healed, false, ""},
	{"complete, and done again", erring(wholeTree, done()), Healed, false, ""},
	{"complete, and torn by the next", erring(wholeTree, Next{Run: Run{4, with("state", "")}}), Torn, true, ""},
	{"complete, and the next is not the second", erring(wholeTree, Next{Run: Run{1, wholeTree}}), Wedged, true, ""},
	{"incomplete, and nothing to do", erring(with("state", "new"), Next{Run: Run{4, with("state", "new")}}), Wedged, true, ""},
	{"litter", erring(lockLeft, nextLitters), Litter, true, "left behind, and not cleared by the next run: run.lock"},
	{"litter, killed", killed(lockLeft, nextLitters), Litter, false, ""},
	{"litter, stuck", unable(erring(lockLeft, nextLitters), "run.lock"), Litter, false, ""},
	{"litter, other stuck", unable(erring(lockLeft, nextLitters), "state"), Litter, true, ""},
	{"torn", erring(with("state", "ne"), nextTears), Torn, true, "state: neither old nor new, and the next run does not mend it"},
	{"torn, killed", killed(with("state", "ne"), nextTears), Torn, true, ""},
	{"torn, the check holds", checking(erring(with("state", "ne"), nextTears), false), Differs, false, ""},
	{"nothing left, and the next differs", erring(nil, nextTears), Differs, false, ""},
	{"log grown", erring(with("tmp", ""), Next{Run: Run{0, tree.Delta{"state": file("new"), "log": grown("1+12")}}}), Differs, false, ""},
	{"log overwritten", erring(with("tmp", ""), Next{Run: Run{0, tree.Delta{"state": file("new"), "log": file("2")}}}), Torn, true, ""},
	{"nothing done", erring(nil, Next{}), Differs, false, ""},

	{"own next", erring(with("state", ""), Next{Own: true}), Healed, false, ""},
	{"own next, lost", ended(killed(nil, Next{Own: true})), Lost, true, "the program had ended with success, and what it had done is gone"},
	{"own next, half lost", ended(killed(nil, Next{Own: true, Run: Run{0, with("state", "new")}})), Lost, true, ""},
	{"own next, all there", ended(killed(wholeTree, Next{Own: true, Run: Run{0, wholeTree}})), Healed, false, ""},
	{"own next, not done", killed(nil, Next{Own: true}), RolledBack, false, ""},
	{"own next, changed on", ended(killed(wholeTree, Next{Own: true, Run: Run{0, also(wholeTree, "state", "newer")}})), Healed, false, ""},
	{"the program again", ended(killed(nil, Next{})), Differs, false, ""},
	{"lost, and the next fails", ended(killed(nil, Next{Own: true, Run: Run{1, nil}})), Wedged, true, ""},
	{"lost, the check holds", checking(ended(killed(nil, Next{Own: true})), false), RolledBack, false, ""},
	{"lost, the check says so", crying(killed(wholeTree, Next{Own: true}), "found 3\nlost: key\n"), Lost, true, "what had been acknowledged is not there"},
	{"lost, not said last", crying(killed(wholeTree, Next{Own: true}), "lost: key\nbad\n"), Violated, true, "the check fails: bad"},
	{"lost, a word of another", crying(killed(wholeTree, Next{Own: true}), "lost+found\n"), Violated, true, ""},
	{"own next fails", leaving(erring(lockLeft, Next{Own: true, Run: Run{1, nil}}), "run.lock"), Wedged, true, ""},
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, test := range judged {
		j := Judge(saver(), test.f)
		if j.Verdict != test.verdict || j.Finding != test.finding {
			t.Errorf("%s: %v %v, not %v %v (%s)", test.name, j.Verdict, j.Finding, test.verdict, test.finding, j.Detail)
		}
		if test.cause != "" && j.Cause != test.cause {
			t.Errorf("%s: because %q, not %q", test.name, j.Cause, test.cause)
		}
		if j.Finding && j.Cause == "" || j.Detail == "" {
			t.Errorf("%s: says nothing: %+v", test.name, j)
		}
	}
}

// Where the control is a refusal, the same refusal is as control, and another
// status is a failure.
func TestJudgeRefusal(t *testing.T) {
	t.Parallel()
	c := Control{Base: tree.Snapshot{"lock": file("x")}, Once: Run{Status: 3}, Twice: Run{Status: 3}}
	for _, test := range []struct {
		name string
		f    Faulted
		want Verdict
	}{
		{"refuses", Faulted{Run: Run{Status: 3}, Next: Next{Run: Run{Status: 3}}}, Tolerated},
		{"fails", Faulted{Run: Run{Status: 1}, Next: Next{Run: Run{Status: 3}}}, RolledBack},
		{"takes the lock away", Faulted{Run: Run{3, tree.Delta{"lock": {}}}, Next: Next{}}, Silent},
		{"gets through afterwards", Faulted{Run: Run{1, tree.Delta{"lock": {}}}, Next: Next{Run: Run{0, tree.Delta{"lock": {}}}}}, Differs},
		{"fails ever after", Faulted{Run: Run{Status: 1}, Next: Next{Run: Run{Status: 1}}}, Wedged},
	} {
		if j := Judge(c, test.f); j.Verdict != test.want {
			t.Errorf("%s: %v, not %v", test.name, j.Verdict, test.want)
		}
	}
}

// Of contents that vary only the kind counts and whether there are any; but what
// stands as before, where every control has changed it, is not as control.
func TestJudgeVolatile(t *testing.T) {
	t.Parallel()
	c := Control{
		Base:     tree.Snapshot{"stamp": file("12:00")},
		Once:     Run{0, with("stamp", "12:01")},
		Twice:    Run{0, with("stamp", "12:02")},
		Volatile: map[string]bool{"stamp": true},
	}
	ends := func(status int, d tree.Delta) Faulted {
		return Faulted{Run: Run{status, d}, Next: Next{Run: Run{0, with("stamp", "12:04")}}}
	}
	for _, test := range []struct {
		name string
		f    Faulted
		want Verdict
	}{
		{"another time", ends(0, with("stamp", "12:03")), Tolerated},
		{"empty", ends(0, with("stamp", "")), Silent},
		{"as before", ends(0, nil), Silent},
		{"as before, reported", ends(1, nil), RolledBack},
		{"written, and reported as failed", ends(1, with("stamp", "12:03")), Healed},
	} {
		if j := Judge(c, test.f); j.Verdict != test.want {
			t.Errorf("%s: %v, not %v", test.name, j.Verdict, test.want)
		}
	}
	c.Kept = map[string]bool{"stamp": true}
	if j := Judge(c, ends(0, nil)); j.Verdict != Tolerated {
		t.Errorf("a control keeps it, too: %v", j.Verdict)
	}
}

// A program that appends is as control after one run and after two.
func TestJudgeAppends(t *testing.T) {
	t.Parallel()
	c := Control{
		Base: tree.Snapshot{"log": file("a")}, Once: Run{0, tree.Delta{"log": grown("ab")}}, Twice: Run{0, tree.Delta{"log": grown("abb")}},
	}
	for text, want := range map[string]Verdict{"ab": Healed, "abb": Healed, "abbb": Differs, "ab?b": Differs} {
		f := erring(with("log", "ab"), Next{Run: Run{0, tree.Delta{"log": grown(text)}}})
		if j := Judge(c, f); j.Verdict != want {
			t.Errorf("%s: %v, not %v", text, j.Verdict, want)
		}
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, name string
		want       bool
	}{
		{"open /x/run.lock: file exists", "run.lock", true},
		{"run.lock", "run.lock", true},
		{"see run.lock.", "run.lock", true},
		{"see run.lock.\n", "run.lock", true},
		{"see run.lock.bak", "run.lock", false},
		{"my-run.lock exists", "run.lock", false},
		{"rerun.lock, run.lock", "run.lock", true},
		{"‘run.lock’ exists", "run.lock", true},
		{"prérun.lock", "run.lock", false},
		{"cannot get the lock", "lock", false},
		{"a process is running", "a", false},
		{"mkdir: cannot create directory ‘lock’: File exists", "lock", true},
		{"'lock' exists", "lock", true},
		{"open lock: file exists", "lock", true},
		{"/x/lock exists", "lock", true},
		{"clock: wrong", "lock", false},
		{"anything", "", false},
		{"", "run.lock", false},
	} {
		if got := mentions(test.text, test.name); got != test.want {
			t.Errorf("%q in %q: %v", test.name, test.text, got)
		}
	}
}

// What varies between runs must not make two findings of one cause.
func TestCauseIsCanonical(t *testing.T) {
	t.Parallel()
	f := erring(with("run.{1}.lock", ""), Next{Run: Run{1, nil}, Output: "open run.4711.lock: file exists"})
	f.Names = []Name{{"run.4711.lock", "run.{1}.lock"}}
	j := Judge(saver(), f)
	if j.Verdict != Refused || strings.Contains(j.Cause, "4711") {
		t.Errorf("%v: %s", j.Verdict, j.Cause)
	}
	f.Stuck = []string{"run.{2}.lock"}
	if j := Judge(saver(), f); j.Finding {
		t.Error("it could not be removed, and is a finding")
	}
	f.Stuck = []string{"run.{2}.lock.bak"}
	if j := Judge(saver(), f); !j.Finding {
		t.Error("another could not be removed, and it is none")
	}
}

// A folder whose name varies can by chance be one that was there already; what
// stands in it counts by itself.
func TestJudgeChance(t *testing.T) {
	t.Parallel()
	dir := tree.Entry{Kind: tree.Dir, Perm: 0o755}
	object := with("objects/{1}/{1}", "x")
	all := also(object)
	all["objects/{1}"] = dir
	c := Control{Once: Run{0, all}, Twice: Run{0, all}}
	if j := Judge(c, Faulted{Run: Run{0, object}, Next: Next{Run: c.Once}}); j.Verdict != Tolerated {
		t.Errorf("in another folder: %v: %s", j.Verdict, j.Cause)
	}
	first := Control{Once: Run{0, object}, Twice: Run{0, object}}
	if j := Judge(first, Faulted{Run: Run{0, all}, Next: Next{Run: first.Once}}); j.Verdict != Tolerated {
		t.Errorf("the control's in another folder: %v: %s", j.Verdict, j.Cause)
	}
	if j := Judge(first, Faulted{Run: Run{0, also(all, "objects/{2}/{2}", "y")}, Next: Next{Run: first.Once}}); j.Verdict != Litter {
		t.Errorf("one object too many: %v", j.Verdict)
	}
	if j := Judge(c, Faulted{Run: Run{0, nil}, Next: Next{Run: c.Once}}); j.Verdict != Silent {
		t.Errorf("in none: %v", j.Verdict)
	}
}
