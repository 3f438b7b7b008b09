//go:build linux

package trial

import (
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
)

// sentry stands at every operation that changes something. It tells the copy
// what was touched, keeps the names, refuses changes outside, and lets the
// case's rules decide on the rest.
type sentry struct {
	rules   *rule.Matcher // nil: none
	named   bool          // some rule goes by a program's name
	start   *setting      // nil: the plain way
	allowed []string      // directories and files outside that may be changed …
	denied  []string      // … but for these
	touch   func(path string)
	names   *Names
	count   op.Counter

	mu      sync.Mutex
	steps   []Step
	outside []string
	lost    lostSync
	// overflowed says that it did more than is remembered.
	overflowed bool
	stuck      []string // what could not be removed, by the case's doing
}

// Step is one operation of a run.
type Step struct {
	op.Op          // by canonical names
	Point op.Point // …
	Fault string   // what the case did to it, or ""
	Error string   // the errno's name, where it is known to have failed
}

// refused marks what the sentry itself has stopped.
var refused = &rule.Rule{Action: rule.Action{Verb: rule.DoFail, Errno: rule.Errno(syscall.EROFS)}}

// Decide implements shim.Decider.
func (s *sentry) Decide(o *op.Op) (rule.Action, *rule.Rule) {
	s.start.first()
	if o.Changes() {
		for _, path := range []string{o.Path, o.To} {
			if path == "" {
				continue
			}
			if uproots(o, path) {
				return rooted.Action, rooted
			}
			if path[0] != '/' {
				s.touch(path)
			} else if s.trespass(o, path) {
				return refused.Action, refused
			}
		}
	}
	if s.rules == nil || o.Outside() {
		return rule.Action{}, nil
	}
	s.mu.Lock() // at a gate operations are decided when they are let go
	defer s.mu.Unlock()
	return s.rules.Decide(o)
}

// rooted is what removing or moving the tree itself comes to, as for a mount
// point: what took its place could lead the next run anywhere.
var rooted = &rule.Rule{Action: rule.Action{Verb: rule.DoFail, Errno: rule.Errno(syscall.EBUSY)}}

func uproots(o *op.Op, path string) bool {
	return path == "." && op.SetOf(op.Rmdir, op.Rename, op.Unlink).Has(o.Kind)
}

// trespass reports whether an operation would change what is not the
// experiment's, and remembers it.
func (s *sentry) trespass(o *op.Op, path string) bool {
	switch o.Kind {
	case op.Write, op.Allocate:
		return false // to an open file: opening it was seen
	case op.Truncate:
		if o.Call == "ftruncate" {
			return false
		}
	case op.Create, op.Mkdir, op.Link:
		if o.Exists {
			return false // it fails by itself
		}
	}
	if !s.start.denies(path) && (s.permits(path) || s.start.temporary(o, path)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.outside, path) && len(s.outside) < maxOutside {
		s.outside = append(s.outside, path)
	}
	return true
}

const maxOutside = 100

func (s *sentry) permits(path string) bool {
	for _, dir := range s.denied {
		if within(path, dir) && !s.start.lends(path) {
			return false
		}
	}
	for _, dir := range s.allowed {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(os.PathSeparator)))
	return ok && (rest == "" || rest[0] == '/')
}

// Saw implements shim.Observer.
func (s *sentry) Saw(o *op.Op, res shim.Result) {
	if o.Outside() {
		return
	}
	step := Step{Op: s.names.Op(*o)}
	step.Point = s.count.Point(&step.Op)
	if res.Rule != nil && res.Rule != refused && res.Rule != rooted {
		step.Fault = res.Rule.Action.String()
	}
	if res.Known && res.Errno != 0 {
		step.Error = rule.Errno(res.Errno).String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost.saw(&step)
	// A rename that fails keeps nobody from removing what should have been moved.
	if step.Fault != "" && step.Error != "" && op.SetOf(op.Unlink, op.Rmdir).Has(step.Kind) && len(s.stuck) < maxOutside {
		s.stuck = append(s.stuck, step.Path)
	}
	if len(s.steps) < maxSteps {
		s.steps = append(s.steps, step)
	} else {
		s.overflowed = true
	}
}

// maxSteps bounds what is remembered of a subject that never tires.
const maxSteps = 100_000

// lostSync follows a file whose sync failed: as long as its data was not
// written and synced again, nobody may call it safe.
type lostSync struct {
	path    string
	written bool
}

func (l *lostSync) saw(s *Step) {
	failedSync := s.Kind == op.Sync && s.Error != ""
	switch {
	case failedSync && l.path == "":
		l.path = s.Path
	case l.path == "":
	case s.Kind == op.Rename && s.Path == l.path:
		l.path = s.To
	case s.Kind == op.Rename && s.To == l.path:
		*l = lostSync{} // another file has its name, and must be synced by itself
	case s.Path != l.path:
	case s.Kind == op.Unlink:
		*l = lostSync{} // nobody relies on it
	case s.Kind == op.Write || s.Kind == op.Truncate:
		l.written = true
	case s.Kind == op.Sync && !failedSync && l.written:
		*l = lostSync{}
	}
}
