package rule

import (
	"slices"

	"faultlab/internal/op"
)

// The errnos that say what state the machine is in.
const (
	eperm  Errno = 1
	eio    Errno = 5
	eacces Errno = 13
	enfile Errno = 23
	emfile Errno = 24
	enospc Errno = 28
	erofs  Errno = 30
	enolck Errno = 37
	edquot Errno = 122
)

// What a state of the machine fails, beside the kinds at which it showed.
var (
	// takesSpace needs room on the disk: for data, an inode or a name. Cutting
	// off, removing and closing go on, and so does reading.
	takesSpace = op.SetOf(op.Create, op.Write, op.Allocate, op.Mkdir, op.Link, op.Rename)
	// toDisk and fromDisk are the two ways over which a disk can be lost.
	toDisk   = op.Mutate | op.SetOf(op.Sync)
	fromDisk = op.SetOf(op.Read, op.Readdir, op.Open)
	// takesDescriptor ends in a new descriptor; mknod and bind, which create
	// too, do not.
	takesDescriptor = op.SetOf(op.Open, op.Create)
)

// lasting is the set of kinds that fail for as long as the state lasts that
// showed itself with errno at an operation of the kinds at:
//
//	ENOSPC EDQUOT   create write allocate mkdir link rename
//	EROFS           all that changes the tree, and opens that can write
//	EIO             at what goes to the disk (mutate, sync): all of that;
//	                at read, readdir, open: all of these
//	EMFILE ENFILE   open create
//	ENOLCK          lock
//	EACCES EPERM    only the same kind, and on the same path
//	any other       only the same kind
func lasting(errno Errno, at op.Set) op.Set {
	switch errno {
	case enospc, edquot:
		return at | takesSpace
	case erofs:
		return at | op.Mutate
	case emfile, enfile:
		return at | takesDescriptor
	case enolck:
		return at | op.SetOf(op.Lock)
	case eio:
		return at | lostWay(at, toDisk) | lostWay(at, fromDisk)
	}
	return at
}

func lostWay(at, way op.Set) op.Set {
	if at.Meets(way) {
		return way
	}
	return 0
}

// local reports whether errno says something of one path only.
func local(errno Errno) bool { return errno == eacces || errno == eperm }

// stays reports whether a leaves the machine in a state that lasts.
func (a Action) stays() bool {
	return a.Stay && a.Errno != 0 && (a.Verb == DoFail || a.Verb == DoShort)
}

// Calls lists, sorted, the system calls that must be trapped for r to be
// decided: the selector's, and those that fail while a state lasts.
func (r Rule) Calls() []string {
	calls := r.Selector.Calls()
	if !r.stays() {
		return calls
	}
	kinds := lasting(r.Errno, wordKinds(r.Word))
	if r.Errno == erofs {
		kinds |= op.SetOf(op.Open)
	}
	calls = append(calls, op.Calls(kinds)...)
	slices.Sort(calls)
	return slices.Compact(calls)
}

// state is what a rule that stays has left the machine in. The zero state
// fails nothing.
type state struct {
	errno Errno
	kinds op.Set
	path  string // empty: everywhere in the tree
}

// stateAfter is the state that shows itself when r fires at o. What lies
// outside the tree need not be on the same disk, so nothing is known there of
// other paths.
func stateAfter(r *Rule, o *op.Op) state {
	at := o.Kinds()
	if meant := at & wordKinds(r.Word); meant != 0 {
		at = meant
	}
	s := state{errno: r.Errno, kinds: lasting(r.Errno, at)}
	if local(r.Errno) || !inTree(o) {
		s.path = o.Path
	}
	return s
}

// fails reports whether o cannot succeed in this state.
func (s *state) fails(o *op.Op, kinds op.Set) bool {
	switch {
	case s.errno == 0:
		return false
	case !kinds.Meets(s.kinds) && !(s.errno == erofs && o.Writes):
		return false
	case s.path != "" && s.path != o.Path && s.path != o.To, s.path == "" && !inTree(o):
		return false
	}
	return !s.spares(o)
}

// spares reports whether o is of a kind that fails, yet never comes to where
// the state shows.
func (s *state) spares(o *op.Op) bool {
	if s.errno == emfile || s.errno == enfile {
		return o.Kind == op.Create && !o.Writes
	}
	switch o.Kind {
	case op.Create, op.Mkdir, op.Link:
		return o.Exists && !o.Writes // EEXIST
	case op.Open:
		return !o.Exists // ENOENT
	case op.Write:
		return o.Size == 0
	}
	return false
}

func inTree(o *op.Op) bool { return within(o.Path) || within(o.To) }

func within(path string) bool { return path != "" && path[0] != '/' }
