package fence

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
)

// ErrNoValue is what Get returns, wrapped, for a key that was never written.
var ErrNoValue = errors.New("no value was ever written")

// ErrClosed is what a grantor returns, wrapped, after Close.
var ErrClosed = errors.New("closed")

// InvalidError refuses an argument before anything was done with it.
type InvalidError struct {
	What  string // what kind of thing it is: "name", "token", "ttl"
	Value string
	Want  string // what would have been right
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s %s: want %s", e.What, strconv.Quote(e.Value), e.Want)
}

// HeldError refuses a grant: the name's lease runs, for somebody else or for an
// earlier life of the same holder.
type HeldError struct{ Lease Lease }

func (e *HeldError) Error() string {
	return fmt.Sprintf("grant %s: held by %s under token %s for another %v: wait, or let its holder release it",
		show(e.Lease.Name), show(e.Lease.Holder), e.Lease.Token, e.Lease.Left)
}

// LostError refuses to renew or release: the lease with this token is not, or
// no longer, the one that runs.
type LostError struct {
	Op      string // "renew" or "release"
	Name    string
	Token   Token  // the caller's
	Current *Lease // the lease that runs, or nil
}

func (e *LostError) Error() string {
	now := "nobody holds it now"
	if e.Current != nil {
		now = fmt.Sprintf("now held by %s under token %s", show(e.Current.Holder), e.Current.Token)
	}
	return fmt.Sprintf("%s %s: the lease with token %s is over, %s: stop the work done under it and ask for a new grant",
		e.Op, show(e.Name), e.Token, now)
}

// StaleError refuses a write: the key was already written under a later lease.
// It stays refused however often it is tried.
type StaleError struct {
	Path, Key string
	Token     Token // the caller's
	Mark      Token // the key's high-water mark
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("put %s into %s: token %s is stale, the key was written under token %s: this lease was given on, drop the write and ask for a new grant",
		show(e.Key), show(e.Path), e.Token, e.Mark)
}

// ForeignError refuses a token of another grantor than the one that the store,
// or the grantor itself, belongs to. The numbers of two grantors cannot be
// compared.
type ForeignError struct {
	Op, Path string
	Token    Token  // the caller's
	Grantor  string // whose tokens are taken here
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %s: token %s is from another store's grantor, here only those of %s count: ask the coordinator that this file belongs to, or start a new file for the new one",
		e.Op, show(e.Path), e.Token, e.Grantor)
}

// LockedError says that another process has the file open.
type LockedError struct {
	Path   string
	Holder Holder // zero where the system does not tell
	Waited time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("open %s: in use by %s, waited %v: %s", show(e.Path), e.Holder, e.Waited, e.Holder.cure(e.Path))
}

// FileError says that a file is not what it should be: not bbolt, cut off,
// damaged, empty, a directory, or of the other kind.
type FileError struct {
	Path string
	What string // what it is instead
	Cure string
	Err  error // what found it out, or nil
}

func (e *FileError) Error() string {
	what := e.What
	if e.Err != nil {
		what += " (" + oneLine(e.Err.Error()) + ")"
	}
	return fmt.Sprintf("open %s: %s: %s", show(e.Path), what, e.Cure)
}

func (e *FileError) Unwrap() error { return e.Err }

// Landed says what a file holds after a write that failed.
type Landed int

// What a failed write left. Unknown is what only the next open can tell.
const (
	Unknown    Landed = iota // the old state or the new one
	NotWritten               // the old state, for certain
	Written                  // the new state, and it was synced after all
)

func (l Landed) String() string {
	return [...]string{
		"it may hold the old state or the new one: read it again once the disk works",
		"it holds the old state: try again once the disk works",
		"it holds the new state all the same: read it before trying again",
	}[l]
}

// WriteError says that a write may not be durable.
type WriteError struct {
	Op, Path string
	Landed   Landed
	Err      error
}

func (e *WriteError) Error() string {
	left := e.Landed.String()
	if e.Op == "create" {
		left = "nothing was made: try again once the disk works"
	}
	return fmt.Sprintf("%s %s: %s: %s", e.Op, show(e.Path), oneLine(e.Err.Error()), left)
}

func (e *WriteError) Unwrap() error { return e.Err }

// BackwardsError refuses to move a clock back.
type BackwardsError struct{ By time.Duration }

func (e *BackwardsError) Error() string {
	return fmt.Sprintf("advance the clock by %v: a clock never moves backwards: give a duration above zero", e.By)
}

// show quotes what would not read as one word of a line.
func show(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == ' ' || r == '"' }) {
		return strconv.Quote(s)
	}
	return s
}

// joined hands up several errors together, on one line.
func joined(errs ...error) error {
	m := multierror.Append(nil, errs...)
	m.ErrorFormat = func(errs []error) string {
		var all []string
		for _, err := range errs {
			all = append(all, err.Error())
		}
		return strings.Join(all, "; and ")
	}
	if len(m.Errors) == 1 {
		return m.Errors[0]
	}
	return m.ErrorOrNil()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
