// Package tree says what a directory holds, and in what two states of it
// differ. It is pure: package scratch reads and writes.
package tree

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Kind is what stands under a name.
type Kind uint8

// The kinds. Absent, the zero value, is no entry at all.
const (
	Absent Kind = iota
	File
	Dir
	Link  // symbolic
	Other // a socket, a FIFO, a device
)

var kindNames = [...]string{"absent", "file", "directory", "link", "special file"}

func (k Kind) String() string { return kindNames[k] }

// HeadSize is how many bytes of a file an Entry keeps for people to look at.
const HeadSize = 512

// Entry is what stands under one name. Times are not part of it.
type Entry struct {
	Kind Kind
	Perm fs.FileMode // permission bits, set-id and sticky
	Size int64       // bytes, of a file
	// Sum is the SHA-256 of a file's contents or a link's target, in which the
	// tree's own path reads "{tree}".
	Sum [32]byte
	// Grown says of a file that what stood there in the base is where it
	// begins, and that more has come.
	Grown bool
	Head  string // the first bytes of a file, or a link's target
}

// Empty reports whether e is a file without contents.
func (e Entry) Empty() bool { return e.Kind == File && e.Size == 0 }

// Same reports whether two entries are equal. Of volatile ones, which differ
// from run to run by themselves, only the kind counts, and whether there is
// anything in it.
func Same(a, b Entry, volatile bool) bool {
	if volatile {
		return a.Kind == b.Kind && a.Empty() == b.Empty()
	}
	return a.Kind == b.Kind && a.Perm == b.Perm && a.Sum == b.Sum
}

// String describes e for people: "file, 12 bytes", "absent".
func (e Entry) String() string {
	switch e.Kind {
	case File:
		return fmt.Sprintf("file, %d bytes", e.Size)
	case Link:
		return "link to " + e.Head
	}
	return e.Kind.String()
}

// Snapshot holds every entry of a tree by its path: slash-separated, relative,
// the tree itself left out.
type Snapshot map[string]Entry

// Delta is what a tree holds other than its base: by path what stands there
// now, Absent for what has gone.
type Delta map[string]Entry

// Diff is what got holds other than base.
func Diff(base, got Snapshot) Delta {
	d := make(Delta)
	for path, e := range got {
		if b, ok := base[path]; !ok || !Same(b, e, false) {
			d[path] = e
		}
	}
	for path := range base {
		if _, ok := got[path]; !ok {
			d[path] = Entry{}
		}
	}
	return d
}

// At is what stands under a path in the tree that differs from base by d.
func (d Delta) At(base Snapshot, path string) Entry {
	if e, ok := d[path]; ok {
		return e
	}
	return base[path]
}

// Paths lists the paths of d, sorted.
func (d Delta) Paths() []string { return slices.Sorted(maps.Keys(d)) }

// Renamed is d with every path as name gives it.
func (d Delta) Renamed(name func(string) string) Delta {
	out := make(Delta, len(d))
	for path, e := range d {
		out[name(path)] = e
	}
	return out
}

// Without is d less the paths that drop reports.
func (d Delta) Without(drop func(string) bool) Delta {
	out := make(Delta, len(d))
	for path, e := range d {
		if !drop(path) {
			out[path] = e
		}
	}
	return out
}
