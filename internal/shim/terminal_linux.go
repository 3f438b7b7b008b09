package shim

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A subject that is started from a terminal has it in the foreground, in a
// process group of its own: so ^C reaches it once, from the terminal, and not a
// second time through us. The shell that waits knows only the guard, so a stop
// and a continuation are passed on by hand.

// Terminal is the terminal that a foreground subject was started from.
type Terminal struct{ tty *os.File }

// TerminalOf is in as a terminal whose foreground is the guard's process
// group, or nil.
func TerminalOf(in *os.File) *Terminal {
	t := &Terminal{in}
	if group, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP); err != nil || group != guardGroup() {
		return nil
	}
	return t
}

func guardGroup() int {
	group, err := unix.Getpgid(os.Getppid())
	if err != nil {
		return -1
	}
	return group
}

// Back gives the terminal to the guard's group, where it came from.
func (t *Terminal) Back() { t.give(guardGroup()) }

// give makes a process group the terminal's foreground. A group in the
// background that does so is sent SIGTTOU and stops, unless it blocks it.
func (t *Terminal) give(group int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, block unix.Sigset_t
	block.Val[0] = 1 << (unix.SIGTTOU - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old) != nil {
		return
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }()
	_ = unix.IoctlSetPointerInt(int(t.tty.Fd()), unix.TIOCSPGRP, group)
}

// Suspend stops the guard where the subject has stopped (^Z), so that the shell
// gets its prompt. It does nothing while the subject runs.
func (t *Terminal) Suspend(r *Run) {
	if state := statusField(r.pid, "State"); state == "" || state[0] != 'T' {
		return
	}
	t.Back()
	_ = unix.Kill(-guardGroup(), unix.SIGSTOP)
}

// Resume continues the subject with the guard, in the foreground (fg) or not
// (bg).
func (t *Terminal) Resume(r *Run) {
	if TerminalOf(t.tty) != nil {
		t.give(r.pid)
	}
	_ = unix.Kill(-r.pid, unix.SIGCONT)
}
