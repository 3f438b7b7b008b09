package verdict

import (
	"slices"
	"strings"

	"faultlab/internal/tree"
)

// Run is how a run ended and what it left.
type Run struct {
	Status int        // as a shell shows it
	Tree   tree.Delta // against the base, by canonical names
}

// Control is what runs without a fault showed.
type Control struct {
	Base tree.Snapshot
	Once Run
	// Twice is the run on top of the first. Where it fails, and the first does
	// not, there is no state after two runs, and only the status counts.
	Twice Run
	// Volatile are the paths whose contents differ from control to control.
	Volatile map[string]bool
	// Kept are those of them that some control leaves as they had been.
	Kept map[string]bool
	// Next is the status of the user's own next run.
	Next int
}

// Faulted is what one experiment showed.
type Faulted struct {
	Run
	Killed bool // by the experiment's own choice
	// Done says that the program had ended with success before it was cut off:
	// whoever waited for that takes all of it for granted.
	Done bool
	// Stuck are the paths that the experiment kept it from removing, by canonical
	// names.
	Stuck    []string
	Hang     string   // what did not end, or ""
	Orphans  []string // "PID NAME"
	Escapes  []string // paths outside the tree that it tried to change
	SyncLost string   // the file whose failed sync was passed over, or ""
	// Names are the paths that it left changed.
	Names []Name

	Next  Next
	Check Check
}

// Name is a path as it is on disk, where a message names it, and as it is the
// same in every run.
type Name struct{ OnDisk, Canonical string }

// Next is the run after the faulted one.
type Next struct {
	Run
	Own    bool   // the user's: only its status counts
	Output string // what it printed
}

// Check is the user's oracle.
type Check struct {
	Given, Failed bool
	Output        string
}

// saysLost reports whether a check that fails says, in the last line that it
// prints, that something is lost: "lost: KEY".
func (c Check) saysLost() bool {
	return c.Given && c.Failed && strings.HasPrefix(because(c.Output), ": lost:")
}

// Judge gives the verdict of a fault. It is total.
func Judge(c Control, f Faulted) Judgement {
	j := judge{c, f}
	facts := j.facts()
	v, finding := decide(facts)
	return Judgement{v, finding, j.cause(v), j.detail()}
}

type judge struct {
	Control
	f Faulted
}

func (j judge) facts() facts {
	return facts{
		hang: j.f.Hang != "", orphan: len(j.f.Orphans) > 0, escape: len(j.f.Escapes) > 0,
		killed: j.f.Killed, stuck: j.stuck(),
		checked: j.f.Check.Given, checkFails: j.f.Check.Failed, saysLost: j.f.Check.saysLost(),
		gone:     len(j.gone()) > 0,
		asStatus: j.f.Status == j.Once.Status,
		left:     j.left(),
		asBefore: j.asBefore(),
		syncLost: j.f.SyncLost != "",
		next:     j.next(),
	}
}

func (j judge) left() left {
	switch {
	case len(j.wrong(j.f.Tree)) == 0:
		return leftAsControl
	case len(j.bad(j.f.Tree)) == 0:
		return leftExtra
	}
	return leftOther
}

func (j judge) next() next {
	want := j.reference()
	got := j.f.Next
	switch {
	case got.Status != want && got.Status != 0:
		if j.named() != "" {
			return nextNames
		}
		return nextFails
	case got.Status != want:
		return nextOther
	case got.Own:
		return nextAsControl
	case len(j.wrong(got.Tree)) == 0:
		return nextAsControl
	case len(j.bad(got.Tree)) == 0:
		return nextExtra
	case len(j.torn()) > 0:
		return nextTorn
	}
	return nextOther
}

// reference is the status that the next run should end with. Where the faulted
// run had completed the effect, though it reported failure, that may be the
// second control's: after a complete commit there is rightly nothing to commit.
// What else is left then does not undo the effect, nor does what the next run
// puts right.
func (j judge) reference() int {
	got := j.f.Next
	switch {
	case got.Own:
		return j.Control.Next
	case got.Status == j.Twice.Status && !j.asBefore() && (j.complete(j.f.Tree) || j.complete(got.Tree)):
		return j.Twice.Status
	}
	return j.Once.Status
}

// complete reports whether a tree holds all that the control's does; modes and
// extra files aside.
func (j judge) complete(d tree.Delta) bool {
	return !slices.ContainsFunc(j.bad(d), func(path string) bool {
		got, want := j.at(d, path), j.at(j.Once.Tree, path)
		return got.Kind != want.Kind || got.Sum != want.Sum && !j.Volatile[path]
	})
}

// at is what stands under a path in a tree that differs from the base by d.
func (j judge) at(d tree.Delta, path string) tree.Entry {
	return d.At(j.Base, path)
}

// asControl reports whether a path is as after one control run or after two. One
// whose contents vary is not where it stands as before, and every control had
// changed it.
func (j judge) asControl(path string, e tree.Entry) bool {
	return Chance(path, j.at(j.Once.Tree, path), e) || j.alike(path, e, j.Once) || j.hasTwice() && j.alike(path, e, j.Twice)
}

// Chance reports whether a folder is missing whose name varies from run to run:
// what would stand in it can have come to stand in one that was there before
// (.git/objects/36), and is looked at by itself.
func Chance(path string, want, got tree.Entry) bool {
	return want.Kind == tree.Dir && got.Kind == tree.Absent && unnumbered(path) != path
}

func (j judge) alike(path string, e tree.Entry, control Run) bool {
	want := j.at(control.Tree, path)
	if !j.Volatile[path] || tree.Same(e, want, false) {
		return tree.Same(e, want, false)
	}
	return tree.Same(e, want, true) && (j.Kept[path] || !tree.Same(e, j.Base[path], false))
}

func (j judge) hasTwice() bool { return j.Twice.Status == j.Once.Status }

// wrong lists the paths at which a tree is not as the control's.
func (j judge) wrong(d tree.Delta) []string {
	var out []string
	for _, path := range j.paths(d) {
		if !j.asControl(path, j.at(d, path)) && !j.holds(d, path) {
			out = append(out, path)
		}
	}
	return out
}

// holds reports whether path is a folder of a name that varies, too many by
// itself, in which something stands: that counts.
func (j judge) holds(d tree.Delta, path string) bool {
	own := unnumbered(path)
	if own == path || d[path].Kind != tree.Dir || !j.extra(path) {
		return false
	}
	for p, e := range d {
		if e.Kind != tree.Absent && strings.HasPrefix(unnumbered(p), own+"/") {
			return true
		}
	}
	return false
}

// bad lists the wrong paths that are no extra ones.
func (j judge) bad(d tree.Delta) []string {
	return slices.DeleteFunc(j.wrong(d), j.extra)
}

// extra reports whether a path is there neither before nor in any control.
func (j judge) extra(path string) bool {
	return j.Base[path].Kind == tree.Absent && j.at(j.Once.Tree, path).Kind == tree.Absent &&
		(!j.hasTwice() || j.at(j.Twice.Tree, path).Kind == tree.Absent)
}

// torn lists the files that are neither as before nor as control after the next
// run.
func (j judge) torn() []string { return j.halfway(j.f.Next.Tree) }

// halfway lists the files that are neither as before nor as control in d. A log
// that only grew, as it does in the control, is none, nor is a file of which only
// the mode is another.
func (j judge) halfway(d tree.Delta) []string {
	return slices.DeleteFunc(j.bad(d), func(path string) bool {
		e := j.at(d, path)
		want := j.at(j.Once.Tree, path)
		return tree.Same(e, j.Base[path], false) || e.Grown && want.Grown || e.Kind == want.Kind && e.Sum == want.Sum
	})
}

// damaged lists the files that had been there and that the faulted run left
// halfway: a next run that something blocks mends none of them. Where the user's
// check holds they count as sound.
func (j judge) damaged() []string {
	if j.f.Check.Given {
		return nil
	}
	return slices.DeleteFunc(j.halfway(j.f.Tree), func(path string) bool { return j.Base[path].Kind == tree.Absent })
}

// gone lists what a program that had ended with success has done in vain. Only
// where a next run of the user's looks on is that to be seen: the program itself
// would do all of it again.
func (j judge) gone() []string {
	if !j.f.Done || !j.f.Next.Own {
		return nil
	}
	return slices.DeleteFunc(j.Once.Tree.Paths(), func(path string) bool {
		got := j.at(j.f.Next.Tree, path)
		return j.asControl(path, got) || !tree.Same(j.Base[path], got, j.Volatile[path])
	})
}

func (j judge) asBefore() bool {
	for path, e := range j.f.Tree {
		if !tree.Same(e, j.Base[path], false) {
			return false
		}
	}
	return true
}

// paths lists every path that differs from the base in d or in a control.
func (j judge) paths(d tree.Delta) []string {
	all := d.Paths()
	all = append(all, j.Once.Tree.Paths()...)
	if j.hasTwice() {
		all = append(all, j.Twice.Tree.Paths()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
