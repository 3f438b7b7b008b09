//go:build linux

package race

import (
	"faultlab/internal/op"
)

// resource is one thing that the order of two operations can matter for.
type resource struct {
	aspect aspect
	path   string
}

// aspect is which side of a path.
type aspect uint8

const (
	entry   aspect = iota // which file a name stands for, if any
	data                  // what a file holds, and its attributes
	listing               // which names a folder holds
	lock                  // who has the locks of a file
)

// access is how an operation uses a resource.
type access struct {
	resource
	changes bool
}

// accesses lists what an operation depends on and what it changes. A path stands
// for the file that it names at that moment; alias gives one name to the files
// that hard links have made one.
func accesses(o *op.Op, alias func(string) string) []access {
	var out []access
	add := func(a aspect, path string, changes bool) {
		if path != "" && path[0] != '/' {
			if a == data || a == lock {
				path = alias(path)
			}
			out = append(out, access{resource{a, path}, changes})
		}
	}
	name := func(path string, changes bool) {
		add(entry, path, changes)
		if changes {
			add(listing, op.Parent(path), true)
		}
		for dir := op.Parent(path); dir != "." && path != "." && path != ""; dir = op.Parent(dir) {
			add(entry, dir, false)
		}
	}
	switch o.Kind {
	case op.Open:
		name(o.Path, false)
		if o.Writes && o.Size == 0 { // an empty file is cut off: it may be filled before
			add(data, o.Path, true)
		}
	case op.Create, op.Mkdir:
		name(o.Path, !o.Exists)
	case op.Unlink, op.Rmdir:
		name(o.Path, true)
	case op.Rename:
		name(o.Path, true)
		name(o.To, true)
	case op.Link:
		if o.To == "" { // symbolic
			name(o.Path, !o.Exists)
			break
		}
		name(o.Path, false)
		name(o.To, !o.Exists)
	case op.Stat, op.Chdir:
		name(o.Path, false)
		add(data, o.Path, false)
	case op.Connect: // what is asked there changes what others are told
		name(o.Path, false)
		add(data, o.Path, true)
	case op.Readdir:
		add(listing, o.Path, false)
	case op.Read:
		add(data, o.Path, false)
	case op.Write, op.Allocate:
		add(data, o.Path, true)
	case op.Truncate:
		name(o.Path, false)
		add(data, o.Path, true)
	case op.Attr:
		name(o.Path, false)
		add(data, o.Path, true)
	case op.Lock:
		add(lock, o.Path, true)
	}
	return out
}

// meet reports whether the order of two lists of accesses matters.
func meet(a, b []access) bool {
	for _, x := range a {
		for _, y := range b {
			if x.resource == y.resource && (x.changes || y.changes) {
				return true
			}
		}
	}
	return false
}

// looks reports whether an operation finds out something and changes nothing.
func looks(o *op.Op) bool {
	switch o.Kind {
	case op.Create, op.Mkdir, op.Link:
		return o.Exists && !o.Writes
	case op.Open:
		return o.Also != op.Truncate
	case op.Stat, op.Read, op.Readdir, op.Connect, op.Lock:
		return true
	}
	return false
}

// onlyLooks reports whether nothing of an operation is left when its actor dies: it
// takes no lock, and asks nobody.
func onlyLooks(o *op.Op) bool { return looks(o) && o.Kind != op.Lock && o.Kind != op.Connect }

// aliases are the names that hard links have made one file's.
type aliases map[string]string

func (a aliases) of(path string) string {
	for {
		first, ok := a[path]
		if !ok {
			return path
		}
		path = first
	}
}

// saw takes note of a link that may have been made.
func (a aliases) saw(o *op.Op) {
	if o.Kind == op.Link && o.To != "" && !o.Exists {
		if from, to := a.of(o.Path), a.of(o.To); from != to {
			a[to] = from
		}
	}
}

// shared is what several actors use and at least one changes: only there does
// the order of operations matter. Between runs names that vary are one.
type shared map[resource]bool

// ledger is who used what in one run.
type ledger struct {
	known   shared
	key     func(path string) string // makes names that vary one
	users   map[resource]uint32      // by actor, as bits
	changed map[resource]bool
	alias   aliases
	found   shared // what is shared, and was not known to be
	served  served // what the server has a part in; nil where there is none
	more    bool   // of that than was known
}

func newLedger(known shared, key func(string) string) *ledger {
	return &ledger{known: known, key: key, users: make(map[resource]uint32),
		changed: make(map[resource]bool), alias: make(aliases), found: make(shared)}
}

// note enters an operation of an actor, and reports whether its order matters as
// far as is known.
func (l *ledger) note(actor int, o *op.Op) (matters bool) {
	for _, a := range l.uses(o) {
		l.users[a.resource] |= 1 << actor
		l.changed[a.resource] = l.changed[a.resource] || a.changes
		key := resource{a.aspect, l.key(a.path)}
		if l.known[key] {
			matters = true
		} else if l.changed[a.resource] && several(l.users[a.resource]) {
			l.found[key] = true
		}
	}
	l.alias.saw(o)
	return matters
}

// several reports whether more than one bit is set.
func several(bits uint32) bool { return bits&(bits-1) != 0 }
