//go:build linux

package trial

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"sync"

	"faultlab/internal/op"
	"faultlab/internal/scratch"
	"faultlab/internal/tree"
)

// memo remembers what the next run and the check made of a state. Many cases
// leave the same one, and each different one is looked at once. The controls, which
// are there to differ, are not remembered.
type memo struct {
	mu    sync.Mutex
	known map[state]aftermath // nil: not yet
}

// begin forgets all, and remembers from now on.
func (m *memo) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = make(map[state]aftermath)
}

// state is all that the next run and the check can tell two cases apart by, hashed.
type state [sha256.Size]byte

// aftermath is what followed a state.
type aftermath struct {
	next, check Outcome
	after       tree.Delta
}

// of hashes the state that a case's run has left; false where that is not all that
// the next run and the check may see: files that are ignored or outside, a tree of
// another owner, attributes, of which no more than the mode is known. Nor do the
// contents alone make it: a file that was written anew has another time, too, by
// which a program may go.
func (m *memo) of(r *Runner, c Case, at *scratch.Copy, run Run) (state, bool) {
	if len(r.spec.Ignore) > 0 || len(r.allowed) > 0 || c.Start.Prepare != nil || slices.ContainsFunc(run.Ops, dresses) {
		return state{}, false
	}
	if left, err := os.ReadDir(at.Tmp()); err != nil || len(left) > 0 {
		return state{}, false
	}
	h := sha256.New()
	if r.spec.Check != "" {
		if run.Subject.Cut {
			return state{}, false
		}
		fmt.Fprintf(h, "%s %q %q\n", told(run.Subject), run.Subject.Stdout, run.Subject.Stderr)
	}
	touched, ok := at.Touched()
	if !ok {
		return state{}, false
	}
	for i, path := range touched {
		touched[i] = r.pattern.Key(path)
	}
	slices.Sort(touched)
	fmt.Fprintf(h, "%q\n", slices.Compact(touched))
	for _, path := range run.Tree.Paths() {
		e := run.Tree[path]
		fmt.Fprintf(h, "%q %d %o %d %x\n", path, e.Kind, e.Perm, e.Size, e.Sum)
	}
	return state(h.Sum(nil)), true
}

// dresses reports whether a step changes what a state does not tell.
func dresses(s Step) bool { return s.Kind == op.Attr || s.Kind == op.Link }

func (m *memo) get(s state) (aftermath, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.known[s]
	return a, ok
}

// maxKnown bounds what is remembered.
const maxKnown = 4096

// put remembers what followed, but for what may have been the machine's fault.
func (m *memo) put(s state, a aftermath) {
	if a.next.Hang != "" || a.check.Hang != "" || len(a.next.Orphans) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil && len(m.known) < maxKnown {
		m.known[s] = a
	}
}
