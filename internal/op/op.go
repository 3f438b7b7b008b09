// Package op names what a subject does to a tree: the kinds of file-system
// operation, one operation, and the point at which it happened.
//
// It is pure: it knows no kernel, and every other package stands on it.
package op

import (
	"fmt"
	"math/bits"
	"strings"
)

// Kind is a family of system calls that fail, and are tested, alike.
type Kind uint8

// The kinds. None is the zero value: no kind at all.
const (
	None     Kind = iota
	Open          // an existing file
	Create        // a file that was not there: open with O_CREAT, mknod, bind, O_TMPFILE
	Read          // data out of a file
	Readdir       // names out of a directory
	Stat          // only looks: stat, access, readlink
	Write         // data into a file
	Sync          // data or a whole file system to disk
	Truncate      // a new length, O_TRUNC on a file that has data included
	Allocate      // fallocate and the holes it makes
	Rename        // a name moves, replacing what had it
	Link          // a further name: hard or symbolic
	Unlink        // a name goes
	Mkdir         // a new directory
	Rmdir         // a directory goes
	Attr          // mode, owner, times, extended attributes
	Lock          // taking, not releasing: flock, fcntl, OFD
	Close         // a descriptor goes
	Chdir         // another working directory
	Connect       // to a Unix socket that has a name
	kindEnd
)

var kindNames = [kindEnd]string{
	"none", "open", "create", "read", "readdir", "stat", "write", "sync",
	"truncate", "allocate", "rename", "link", "unlink", "mkdir", "rmdir",
	"attr", "lock", "close", "chdir", "connect",
}

func (k Kind) String() string {
	if k < kindEnd {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Kinds lists every kind, in the order of their declaration.
func Kinds() []Kind {
	ks := make([]Kind, 0, kindEnd-1)
	for k := Open; k < kindEnd; k++ {
		ks = append(ks, k)
	}
	return ks
}

// ParseKind reads one kind's name.
func ParseKind(name string) (Kind, bool) {
	for k := Open; k < kindEnd; k++ {
		if kindNames[k] == name {
			return k, true
		}
	}
	return None, false
}

// Set is a set of kinds.
type Set uint32

// Mutate holds every kind that changes the tree.
const Mutate = Set(1<<Create | 1<<Write | 1<<Truncate | 1<<Allocate | 1<<Rename |
	1<<Link | 1<<Unlink | 1<<Mkdir | 1<<Rmdir | 1<<Attr)

// All holds every kind.
const All = Set(1<<kindEnd - 1<<Open)

// SetOf makes a set.
func SetOf(ks ...Kind) Set {
	var s Set
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in s. None is in no set.
func (s Set) Has(k Kind) bool { return k != None && s&(1<<k) != 0 }

// Meets reports whether s and t share a kind.
func (s Set) Meets(t Set) bool { return s&t != 0 }

// Kinds lists the members in the order of their declaration.
func (s Set) Kinds() []Kind {
	var ks []Kind
	for rest := uint32(s & All); rest != 0; rest &= rest - 1 {
		ks = append(ks, Kind(bits.TrailingZeros32(rest)))
	}
	return ks
}

func (s Set) String() string {
	names := make([]string, 0, 4)
	for _, k := range s.Kinds() {
		names = append(names, k.String())
	}
	return strings.Join(names, ",")
}

// Op is one file-system call of a subject on the tree.
type Op struct {
	Actor byte   // which subject: 'A', 'B', …
	Pid   int    // process (thread group)
	Tid   int    // thread that called
	Proc  string // base name of the executed file; empty when nothing asked for it
	// Script is the base name of the script that an interpreter was given.
	Script string
	Call   string // the system call's name
	Kind   Kind
	Also   Kind // the second kind of a call that is two: open and truncate
	// Path is slash-separated and relative to the tree ("." is the tree
	// itself), or absolute where the file lies outside.
	Path string
	To   string // the second name of a rename or link, else empty
	Off  int64  // bytes; -1 where the call has no offset of its own
	Size int64  // bytes asked for; -1 where the call has none
	// Replaces says that a rename's or an open's target had existed.
	Replaces bool
	// Exists says that the name at which the call aims was there when it was
	// trapped: the new one of a rename or a link, else Path. A mkdir, mknod,
	// bind or link of what exists fails by itself. Calls on a descriptor never
	// say it.
	Exists bool
	// Writes says that o is an open that can write: it asks for writing, cuts
	// the file off, or makes it. One that must make a file which is already
	// there fails by itself, and cannot.
	Writes bool
	// Mode is how the file is open, or will be by an open: see Access.
	Mode Mode
	// Hold is what a lock asks for.
	Hold Hold
	// FD is the descriptor on which the call works, where Opened is set.
	FD int
	// Opened finds Mode out, as long as the call waits for its answer. It is
	// dear, so nobody asks who need not know.
	Opened Opened
}

// Access is how the file is open. It may be asked only while o waits for its
// answer.
func (o *Op) Access() Mode {
	if o.Mode == 0 && o.Opened != nil {
		o.Mode = o.Opened.Mode(o.Tid, o.FD)
	}
	return o.Mode
}

// Kinds is the set of kinds that o counts as.
func (o *Op) Kinds() Set { return SetOf(o.Kind, o.Also) &^ 1 }

// Changes reports whether o may change a file or the tree, at once or through
// the descriptor that it opens.
func (o *Op) Changes() bool { return o.Writes || o.Kinds().Meets(Mutate) }

// Outside reports whether none of o's names lies in the tree.
func (o *Op) Outside() bool {
	return (o.Path == "" || o.Path[0] == '/') && (o.To == "" || o.To[0] == '/')
}

// Parent is the folder in which a path's name stands.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}

// Point names an operation by (actor, kind, path, n-th such), never by a
// thread, a process id or a time, so that it is the same in the next run.
type Point struct {
	Actor byte // 0 where there is one actor only
	Kind  Kind
	Path  string
	Nth   int // from 1
}

// String prints p as a rule's selector, which selects just this point: its
// path is a glob that matches no other, quoted where the grammar needs it.
func (p Point) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s path=%s nth=%d", p.Kind, Quote(Literal(p.Path)), p.Nth)
	if p.Actor != 0 {
		fmt.Fprintf(&b, " actor=%c", p.Actor)
	}
	return b.String()
}

// Counter turns operations into points by counting, as a rule's nth does. The
// zero value is ready. It is not safe for concurrent use.
type Counter struct {
	seen map[Point]int // by the point with Nth 0
	// Actors makes points carry their actor.
	Actors bool
}

// Point counts o under each of its kinds and names, and names it by the first
// of each.
func (c *Counter) Point(o *Op) Point {
	if c.seen == nil {
		c.seen = make(map[Point]int)
	}
	p := Point{Kind: o.Kind, Path: o.Path}
	if c.Actors {
		p.Actor = o.Actor
	}
	c.count(p, o.To)
	if o.Also != None {
		also := p
		also.Kind = o.Also
		c.count(also, o.To)
	}
	p.Nth = c.seen[p]
	return p
}

// Next is the point that o would be if it came now. It counts nothing.
func (c *Counter) Next(o *Op) Point {
	p := Point{Kind: o.Kind, Path: o.Path}
	if c.Actors {
		p.Actor = o.Actor
	}
	n := c.seen[p]
	p.Nth = n + 1
	return p
}

func (c *Counter) count(p Point, to string) {
	c.seen[p]++
	if to != "" && to != p.Path {
		p.Path = to
		c.seen[p]++
	}
}

// Last lists, in no order, each point's latest: its Nth says how many there
// were.
func (c *Counter) Last() []Point {
	out := make([]Point, 0, len(c.seen))
	for p, n := range c.seen {
		p.Nth = n
		out = append(out, p)
	}
	return out
}
