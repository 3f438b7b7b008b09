// Package rule holds what a user says should go wrong: on an operation, do a
// fault. It reads and prints rules, and a Matcher decides, operation by
// operation, which rule fires.
//
// It is pure: no system calls and no files, and the numbers of errnos and
// signals are Linux's wherever it is built.
package rule

import (
	"fmt"
	"strings"

	"faultlab/internal/op"
)

// Rule does Action on the operations that Selector names.
type Rule struct {
	Selector
	Action
	// Pos is where the rule was written; zero where it was built in memory.
	// Two rules are the same rule whatever their Pos.
	Pos Pos
}

// Pos is a place in a rules file, or in a command-line flag.
type Pos struct {
	File string // empty for a flag
	Line int    // from 1
	Col  int    // from 1, in bytes
}

// String prints r canonically, "on write path=run.lock nth=1 do fail ENOSPC",
// so that Parse reads the same rule.
func (r Rule) String() string {
	return "on " + r.Selector.String() + " do " + r.Action.String()
}

// Selector says which operations. The zero value of each field but Word means
// any.
type Selector struct {
	// Word is a kind, "mutate", or the exact name of a system call. What is
	// both a kind and a call ("open") is the kind.
	Word string
	// Path is a glob over op.Path and op.To, relative to the tree. Without a
	// slash it is compared with the base name at any depth; a leading slash
	// makes it absolute; a leading "./" ties a single name to the top of the
	// tree; "{1}" stands for the first of the names that varied there.
	Path string
	// Nth is which of the operations that match everything else.
	Nth Range
	// Proc is a glob over op.Proc and op.Script.
	Proc string
	// Actor is 'A' to 'Z'.
	Actor byte
	// Mode is how the file is open, or will be by an open.
	Mode op.Mode
	// Hold is what a lock asks for.
	Hold op.Hold
	// Budget is the size, in bytes, of the disk that the matching writes
	// share. Nothing below 1 is a budget.
	Budget int64
}

// String prints s canonically, "write path=run.lock nth=1".
func (s Selector) String() string {
	var b strings.Builder
	b.WriteString(s.Word)
	if s.Path != "" {
		b.WriteString(" path=" + op.Quote(s.Path))
	}
	if s.Nth != (Range{}) {
		b.WriteString(" nth=" + s.Nth.String())
	}
	if s.Proc != "" {
		b.WriteString(" proc=" + op.Quote(s.Proc))
	}
	if s.Actor != 0 {
		fmt.Fprintf(&b, " actor=%c", s.Actor)
	}
	if s.Mode != 0 {
		b.WriteString(" mode=" + s.Mode.String())
	}
	if s.Hold != 0 {
		b.WriteString(" lock=" + s.Hold.String())
	}
	if s.Budget > 0 {
		fmt.Fprintf(&b, " budget=%d", s.Budget)
	}
	return b.String()
}

// Calls lists, sorted, the system calls that must be trapped for s to be
// decided. Where the path holds a placeholder this is every call that can name
// a file, for only so do names first appear in the order in which a trace of
// everything saw them.
func (s Selector) Calls() []string {
	if hasHole(s.Path) {
		return op.Calls(naming | wordKinds(s.Word))
	}
	if _, isKind := op.ParseKind(s.Word); isKind || s.Word == mutate {
		return op.Calls(wordKinds(s.Word))
	}
	return []string{s.Word}
}

// naming holds the kinds whose calls take a file's name.
var naming = op.SetOf(op.Open, op.Create, op.Stat, op.Truncate, op.Rename, op.Link,
	op.Unlink, op.Mkdir, op.Rmdir, op.Attr, op.Chdir, op.Connect)

const mutate = "mutate"

// wordKinds is the set of kinds that an operation selected by word can have;
// empty where the word is none.
func wordKinds(word string) op.Set {
	if word == mutate {
		return op.Mutate
	}
	if k, ok := op.ParseKind(word); ok {
		return op.SetOf(k)
	}
	if _, ok := op.CallKind(word); ok {
		return op.Possible(word)
	}
	return 0
}

// At selects p: same actor, kind, path and number. A selector counts renames and
// links by either name, an op.Counter by the first alone, so that the number of
// such a point can be another where names are moved in a chain.
func At(p op.Point) Selector {
	return Selector{Word: p.Kind.String(), Path: op.Literal(p.Path),
		Nth: Range{p.Nth, p.Nth}, Actor: p.Actor}
}

// Range is First to Last, both included. The zero Range holds every number;
// Last 0 after a First leaves the end open.
type Range struct{ First, Last int }

// Has reports whether n lies in r.
func (r Range) Has(n int) bool { return n >= r.First && (r.Last == 0 || n <= r.Last) }

// Meets reports whether r and t share a number.
func (r Range) Meets(t Range) bool {
	return (r.Last == 0 || t.First <= r.Last) && (t.Last == 0 || r.First <= t.Last)
}

// String prints r as nth takes it: "3", "3..", "3..7". The zero Range, which
// no nth says, is "1..".
func (r Range) String() string {
	switch {
	case r == Range{}:
		return "1.."
	case r.Last == 0:
		return fmt.Sprintf("%d..", r.First)
	case r.First == r.Last:
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d..%d", r.First, r.Last)
}
