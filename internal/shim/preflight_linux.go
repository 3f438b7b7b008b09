package shim

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Under the filter an exec must not fail: the child, which shares our memory until it
// executes, would tell the reason by a write that is trapped, and this thread, which
// waits for it, keeps one of the runtime's processors from the receiving one. So each
// program is executed once before, traced, up to its first instruction.

// programFile is a program file as it was found.
type programFile struct {
	path     string
	dev, ino uint64
	size     int64
	mode     uint32
	mtime    unix.Timespec
}

// flown are the programs that can be executed.
var flown = struct {
	sync.Mutex
	known map[programFile]bool
}{known: make(map[programFile]bool)}

// maxFlown bounds what is remembered.
const maxFlown = 1024

// preflight says why a program cannot be executed. It must be called on the locked
// thread that will start it, in its directory, and not under the filter yet.
func preflight(cmd Command) error {
	var st unix.Stat_t
	if err := unix.Stat(cmd.Path, &st); err != nil {
		return err
	}
	x := programFile{cmd.Path, st.Dev, st.Ino, st.Size, st.Mode, st.Mtim}
	flown.Lock()
	known := flown.known[x]
	flown.Unlock()
	if known {
		return nil
	}
	if err := execOnce(cmd); err != nil {
		return err
	}
	flown.Lock()
	defer flown.Unlock()
	if len(flown.known) >= maxFlown {
		clear(flown.known)
	}
	flown.known[x] = true
	return nil
}

// execOnce executes a program and ends it before it has done anything. Where nobody may
// be traced it says nothing.
func execOnce(cmd Command) error {
	pid, err := syscall.ForkExec(cmd.Path, cmd.Args, &syscall.ProcAttr{
		Env:   cmd.Env,
		Files: cmd.files(),
		Sys:   &syscall.SysProcAttr{Setpgid: true, Ptrace: true, Pdeathsig: syscall.SIGKILL},
	})
	if err == syscall.EPERM {
		return nil
	}
	if err != nil {
		return err
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	_ = (&tracee{tid: pid}).bury()
	return nil
}
