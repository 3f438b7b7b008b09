//go:build linux

package sweep

import (
	"slices"
	"syscall"

	"faultlab/internal/op"
	"faultlab/internal/rule"
)

// fault is what is tried at a point.
type fault struct {
	name string // the column in a report, and what --faults takes first
	rule.Action
	open bool // the rule stays on for every later operation on the path
}

// errnos are the errors that each kind can really meet. A path that is read only
// for a while is no such thing: EROFS comes to stay.
var errnos = map[op.Kind][]syscall.Errno{
	op.Open:     {syscall.EACCES, syscall.EMFILE, syscall.EIO},
	op.Create:   {syscall.ENOSPC, syscall.EACCES, syscall.EMFILE, syscall.EIO, syscall.EROFS},
	op.Read:     {syscall.EIO},
	op.Readdir:  {syscall.EIO},
	op.Stat:     {syscall.EACCES, syscall.EIO},
	op.Write:    {syscall.ENOSPC, syscall.EIO},
	op.Sync:     {syscall.EIO},
	op.Truncate: {syscall.EIO, syscall.EROFS},
	op.Allocate: {syscall.ENOSPC, syscall.EIO},
	op.Rename:   {syscall.ENOSPC, syscall.EIO, syscall.EROFS},
	op.Link:     {syscall.ENOSPC, syscall.EIO, syscall.EROFS},
	op.Unlink:   {syscall.EIO, syscall.EROFS},
	op.Mkdir:    {syscall.ENOSPC, syscall.EIO, syscall.EROFS},
	op.Rmdir:    {syscall.EIO, syscall.EROFS},
	op.Attr:     {syscall.EPERM, syscall.EIO, syscall.EROFS},
	op.Lock:     {syscall.ENOLCK},
	op.Close:    {syscall.EIO},
	op.Chdir:    {syscall.EACCES},
	op.Connect:  {syscall.ECONNREFUSED},
}

// Kinds are those at which a fault is tried when nobody asks for others: a stat
// that fails by itself is not of this world.
var Kinds = op.All &^ op.SetOf(op.Stat)

// faultsAt lists what can happen at an operation.
func faultsAt(o *op.Op) []fault {
	var out []fault
	kind := o.Kind
	if o.Also == op.Open {
		kind = op.Open // truncated by being opened: it fails as an open does
	}
	for _, errno := range errnos[kind] {
		out = append(out, failing(errno)...)
	}
	half := o.Size / 2
	if o.Kind == op.Write && half > 0 {
		short := rule.Action{Verb: rule.DoShort, Bytes: half}
		full := short
		full.Errno = rule.Errno(syscall.ENOSPC)
		out = append(out, fault{name: "short", Action: short}, fault{name: "short, then ENOSPC", Action: full, open: true})
	}
	return append(out, kills(o, half)...)
}

// failing is an error once, and from there on.
func failing(errno syscall.Errno) []fault {
	once := rule.Action{Verb: rule.DoFail, Errno: rule.Errno(errno)}
	stays := once
	stays.Stay = true
	name := once.Errno.String()
	forGood := fault{name: name + " stays", Action: stays}
	if errno == syscall.EROFS {
		return []fault{forGood}
	}
	return []fault{{name: name, Action: once}, forGood}
}

// kills are the deaths at an operation. Before or after one that changes nothing
// is the same as after or before its neighbours.
func kills(o *op.Op, half int64) []fault {
	if !o.Kinds().Meets(op.Mutate) {
		return nil
	}
	kill := rule.Action{Verb: rule.DoKill}
	after, mid := kill, kill
	after.When = rule.After
	out := []fault{{name: "kill", Action: kill}}
	if o.Kind == op.Write && half > 0 {
		mid.When, mid.Bytes = rule.Mid, half
		out = append(out, fault{name: "kill mid", Action: mid})
	}
	return append(out, fault{name: "kill after", Action: after})
}

// Faults lists the words that Options.Faults may hold.
func Faults() []string {
	words := []string{"short", "kill"}
	for _, list := range errnos {
		for _, errno := range list {
			words = append(words, rule.Errno(errno).String())
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
