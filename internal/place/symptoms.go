//go:build linux

package place

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

// placed puts a run into the verdict's terms.
func (p *Place) placed(row *Row, run trial.Run) verdict.Placed {
	got, control := &run.Subject, &p.controls.Run.Subject
	f := p.runner.Faulted(run)
	f.Escapes = slices.Clone(f.Escapes)
	for i, name := range f.Escapes {
		f.Escapes[i] = row.called(name)
	}
	out := verdict.Placed{
		Faulted: f, Modes: row.modes, Ended: row.ended(got),
		Said: row.mute || strings.TrimSpace(got.Text()) != "",
	}
	if crash := crashOf(got); !out.Ended && crash != crashOf(control) {
		out.Crash = crash
	}
	out.Lost = row.stdout != seen && control.Stdout != "" && got.Status() == 0
	out.Excused = row.stdout == discard
	return out
}

// called says in words where a path outside of the tree is, so that the same
// mistake is the same finding wherever it is made.
func (r *Row) called(name string) string {
	dir, where := r.Dir, "the working directory"
	switch {
	case strings.HasPrefix(name+"/", otherRepo+"/"):
		dir, where = otherRepo, "the other repository"
	case strings.HasPrefix(name+"/", elsewhere+"/"):
		dir = elsewhere
		if r.Dir == "" {
			where = "the folder that $PWD names"
		}
	case dir == "" || path.Dir(name) != path.Clean(dir):
		return name
	}
	if rest := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"); rest != "" {
		return rest + " in " + where
	}
	return where + " itself"
}

// ended reports whether the start itself has ended the program, or one that it
// had started, as a shell tells it.
func (r *Row) ended(o *trial.Outcome) bool {
	return slices.ContainsFunc(r.ends, func(sig syscall.Signal) bool { return o.Status() == 128+int(sig) })
}

// faults are the signals that end what has gone wrong within.
var faults = []syscall.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS}

var panics = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(panic: |fatal error: |thread '.*panicked at).*`)
})

// crashOf says what ended a program that no program should meet: any signal, a
// fault of a program that it had started, or a panic. A Python traceback is a
// message, if a poor one; so is a panic of Rust's for want of a place to print.
func crashOf(o *trial.Outcome) string {
	switch {
	case o.Signal != 0:
		return unix.SignalName(o.Signal)
	case slices.Contains(faults, syscall.Signal(o.Code-128)):
		return unix.SignalName(syscall.Signal(o.Code - 128))
	case o.Code == 0 || strings.Contains(o.Stderr, "failed printing to std"):
		return ""
	case strings.Contains(o.Stderr, "\ngoroutine ") || strings.Contains(o.Stderr, "panicked at"):
		return panics().FindString(o.Stderr)
	}
	return ""
}
