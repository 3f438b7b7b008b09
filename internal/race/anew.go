//go:build linux

package race

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// A program may do now and then what it seldom does: the name of a git object is made
// from the time, and once in thirty seconds its directory is there already. What
// branches off such a play cannot be played again. So a play whose branches depart
// is itself played anew, later, and its new branches stand for the old ones.

// origin is a play that branches have left.
type origin struct {
	branch branch
	anew   int // how often it was played again
}

// mostAnew bounds how often one play is made again. What departs even then is no
// accident.
const mostAnew = 2

// again puts the play that a departed branch had left first in line, without what is
// left of its old branches. It reports whether that can help: the branch is void
// otherwise.
func (e *explorer) again(b branch) bool {
	o := b.from
	switch {
	case o == nil || b.age == mostAnew:
		return false
	case b.age < o.anew: // a new one stands in its place
		return true
	}
	o.anew++
	e.anew++
	for cost := range e.branches {
		e.branches[cost] = slices.DeleteFunc(e.branches[cost], func(c branch) bool { return c.from == o })
	}
	e.branches[o.branch.cost] = slices.Insert(e.branches[o.branch.cost], 0, o.branch)
	return true
}

// origin is what the branches of a play that was just made leave.
func (e *explorer) origin(b branch) *origin {
	if b.self == nil {
		b.self = new(origin)
		b.self.branch = b
	}
	return b.self
}

// add takes down a branch that was not played yet.
func (e *explorer) add(o *origin, b branch) {
	if b.from, b.age = o, o.anew; o.anew == 0 || !e.taken[b.key()] {
		e.branches[b.cost] = append(e.branches[b.cost], b)
	}
}

// key tells branches apart.
func (b *branch) key() uint64 {
	h := fnv.New64a()
	var buf [10]byte
	for _, m := range b.moves {
		buf[8], buf[9] = byte(m.actor), 0
		if m.dies {
			buf[9] = 1
		}
		binary.LittleEndian.PutUint64(buf[:], m.point)
		_, _ = h.Write(buf[:])
	}
	return h.Sum64()
}
