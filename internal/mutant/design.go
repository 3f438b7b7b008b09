// Package mutant holds the well-known broken designs, which the lab must catch, behind the interface of the real one.
//
// Each stands in a file of its own: what is wrong, by which mechanism, and the fix as a diff of a few lines. All of them
// pass a run with a single client, which is why their unit tests never found them.
package mutant

import (
	"fmt"
	"strings"

	"faultlab/exit"
	"faultlab/fence"
	"faultlab/guard"
	"faultlab/lock"
)

// Held is a lock that was acquired.
type Held interface {
	Token() string // names this acquisition; printed, and shown by a refusal
	Release() error
}

// Design is a way to do what more than one process does at a time: to take a lock and see to it that it is given back, to
// write under a lease, and to keep out of the repository. A broken one is broken in one of these.
type Design struct {
	Name  string // as in `worker run --mutant NAME`
	About string // one line: what is wrong
	// Acquire takes the lock at an absolute path, or fails and says why.
	Acquire func(path string, o lock.Options) (Held, error)
	// Register is told, in the moment the lock is taken, how to give it back however the process ends. The function it
	// returns is called when that has been done.
	Register func(release func() error) (forget func())
	// Token chooses the token under which to write. Nil: the one that was granted.
	Token func(own fence.Lease, c fence.Client, s fence.Store) (fence.Token, error)
	// Outside decides whether a path lies outside the repository: nil if so. Nil: package guard.
	Outside func(path string) error
	// Fix is the diff that mends the design: lines of its file, prefixed by - and +. Empty for a design that needs none.
	Fix string
}

// Real is the design that the project stands for: package lock, released by package exit.
var Real = Design{
	Name:     "create",
	About:    "one atomic create-exclusive open; what exists is refused",
	Acquire:  func(path string, o lock.Options) (Held, error) { return held(lock.Acquire(path, o)) },
	Register: atExit,
	Token:    ownToken,
	Outside:  outsideRepository,
}

// Flock is the second real design.
var Flock = Design{
	Name:     "flock",
	About:    "a flock that the kernel holds, on a file that stays",
	Acquire:  func(path string, o lock.Options) (Held, error) { return held(lock.AcquireFlock(path, o)) },
	Register: atExit,
	Token:    ownToken,
	Outside:  outsideRepository,
}

// All are the broken designs. A new one is a file of its own and a line here.
var All = []Design{
	createThenWrite,
	cwdGuard,
	linkThenReclaim,
	noRollback,
	releaseAtTail,
	sharedToken,
	unlinkFlock,
}

// ByName finds a broken design; the error lists what there is.
func ByName(name string) (Design, error) {
	names := make([]string, len(All))
	for i, d := range All {
		if d.Name == name {
			return d.complete(), nil
		}
		names[i] = d.Name
	}
	return Design{}, fmt.Errorf("unknown mutant %q: want one of %s", name, strings.Join(names, ", "))
}

// complete fills in what a design does as it should be done.
func (d Design) complete() Design {
	if d.Token == nil {
		d.Token = Real.Token
	}
	if d.Outside == nil {
		d.Outside = Real.Outside
	}
	return d
}

func ownToken(own fence.Lease, _ fence.Client, _ fence.Store) (fence.Token, error) {
	return own.Token, nil
}

func outsideRepository(path string) error {
	root, err := guard.Find(guard.Options{})
	if err != nil {
		return err
	}
	return root.Outside(path)
}

// held keeps a nil *T from becoming a Held that is not nil.
func held[T Held](l T, err error) (Held, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// refused is the refusal in the words of the real design, so that scripts read the same message from all.
func refused(path string, o lock.Options) error {
	seen, err := lock.Inspect(path)
	if err != nil {
		return err
	}
	refusal := &lock.HeldError{Status: seen}
	if o.Clear != nil && seen.Token != "" {
		refusal.Clear = o.Clear(seen.Token)
	}
	return refusal
}

// atExit registers with package exit: the release runs once, however the process ends.
func atExit(release func() error) (forget func()) { return exit.Register(release) }
