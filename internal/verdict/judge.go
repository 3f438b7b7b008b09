package verdict

import (
	"fmt"
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
// run. A log that only grew, as it does in the control, is none, nor
// is a file of which only the mode is another.
func (j judge) torn() []string {
	return slices.DeleteFunc(j.bad(j.f.Next.Tree), func(path string) bool {
		e := j.at(j.f.Next.Tree, path)
		want := j.at(j.Once.Tree, path)
		return tree.Same(e, j.Base[path], false) || e.Grown && want.Grown || e.Kind == want.Kind && e.Sum == want.Sum
	})
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

func (j judge) cause(v Verdict) string {
	switch v {
	case Hang:
		return j.f.Hang
	case Orphan:
		return "a process lives on: " + programs(j.f.Orphans)
	case Escape:
		return "writes outside the tree: " + list(j.f.Escapes)
	case Violated:
		return "the check fails" + because(j.f.Check.Output)
	case Lost:
		return j.lostCause()
	case Silent:
		return j.silentCause()
	case Refused:
		return j.named() + " is left behind and blocks the next run, which names it"
	case Wedged:
		return "the next run fails without saying what is in its way; left behind: " + list(j.changed(j.f.Tree))
	case Torn:
		return list(j.torn()) + ": neither old nor new, and the next run does not mend it"
	case Litter:
		return "left behind, and not cleared by the next run: " + list(j.litter())
	}
	return ""
}

// lostCause leaves out what it is that was lost: it is another thing after each
// fault, and of one root.
func (j judge) lostCause() string {
	if j.f.Check.saysLost() {
		return "what had been acknowledged is not there"
	}
	return "the program had ended with success, and what it had done is gone"
}

func (j judge) silentCause() string {
	wrong := j.wrong(j.f.Tree)
	if len(wrong) == 0 {
		return "a failed sync is reported as success: " + j.f.SyncLost
	}
	return fmt.Sprintf("ends with status %d as if all were well, but %s", j.f.Status, j.describe(wrong, j.f.Tree))
}

// describe says what is wrong with a few paths.
func (j judge) describe(paths []string, d tree.Delta) string {
	var parts []string
	for _, path := range paths {
		got, want := j.at(d, path), j.at(j.Once.Tree, path)
		switch {
		case want.Kind == tree.Absent:
			parts = append(parts, path+" is left behind")
		case got.Kind == tree.Absent:
			parts = append(parts, path+" is missing")
		case got.Empty() && !want.Empty():
			parts = append(parts, path+" is empty")
		case got.Sum == want.Sum && got.Kind == want.Kind:
			parts = append(parts, fmt.Sprintf("%s has mode %04o and not %04o", path, uint32(got.Perm), uint32(want.Perm)))
		case j.Base[path].Kind != tree.Absent && tree.Same(got, j.Base[path], false):
			parts = append(parts, path+" is as before")
		default:
			parts = append(parts, path+" is not as it should be")
		}
	}
	return list(parts)
}

// litter lists the extra files of the state in which they were judged.
func (j judge) litter() []string {
	d := j.f.Next.Tree
	if j.f.Status == j.Once.Status && !j.f.Killed {
		d = j.f.Tree
	}
	return j.extras(d)
}

// extras lists the paths in d that are there neither before nor in any control.
func (j judge) extras(d tree.Delta) []string {
	return slices.DeleteFunc(j.wrong(d), func(p string) bool { return !j.extra(p) })
}

// changed lists what is not as before.
func (j judge) changed(d tree.Delta) []string {
	paths := slices.DeleteFunc(d.Paths(), func(path string) bool { return d[path].Kind == tree.Absent })
	if len(paths) == 0 {
		return []string{"nothing"}
	}
	return paths
}

// detail says how the runs ended.
func (j judge) detail() string {
	var b strings.Builder
	switch {
	case j.f.Hang != "":
		return j.f.Hang
	case j.f.Killed:
		b.WriteString("killed")
	default:
		fmt.Fprintf(&b, "exit status %d (control %d)", j.f.Status, j.Once.Status)
	}
	if len(j.f.Tree) == 0 {
		b.WriteString(", the tree as before")
	} else {
		b.WriteString(", left: " + j.state(j.f.Tree))
	}
	fmt.Fprintf(&b, "; the next run: status %d (control %d)", j.f.Next.Status, j.reference())
	if !j.f.Next.Own {
		if wrong := j.wrong(j.f.Next.Tree); len(wrong) > 0 {
			b.WriteString(", not as control: " + j.describe(wrong, j.f.Next.Tree))
		}
	}
	if j.f.Next.Status != 0 {
		b.WriteString(because(j.f.Next.Output))
	}
	if gone := j.gone(); len(gone) > 0 {
		b.WriteString("; gone: " + list(gone))
	}
	if j.f.Check.Failed {
		b.WriteString("; the check fails" + because(j.f.Check.Output))
	}
	return b.String()
}

func (j judge) state(d tree.Delta) string {
	var parts []string
	for _, path := range d.Paths() {
		parts = append(parts, fmt.Sprintf("%s (%v)", path, d[path]))
	}
	return list(parts)
}

// because quotes the last line of some output.
func because(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	const longest = 200
	if len(last) > longest {
		last = strings.ToValidUTF8(last[:longest], "") + "…"
	}
	return ": " + last
}

// list joins a few names and counts the rest.
func list(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// programs strips the process ids from orphans, for they vary.
func programs(orphans []string) string {
	var out []string
	for _, o := range orphans {
		_, name, _ := strings.Cut(o, " ")
		out = append(out, name)
	}
	slices.Sort(out)
	return list(slices.Compact(out))
}
