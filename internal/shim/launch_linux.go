package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start runs cmd under supervision. It returns once the program has been
// executed; everything it does from its first instruction on is seen.
func Start(cmd Command, cfg Config) (*Run, error) {
	root, err := ResolveTree(cfg.Tree)
	if err != nil {
		return nil, err
	}
	r := newRun(cfg, root)
	if cfg.Recording != nil {
		if r.rec, err = newRecorder(r, cmd.Stdout); err != nil {
			return nil, err
		}
	}
	launched := make(chan error, 1)
	go r.launch(cmd, launched)
	select {
	case err := <-launched:
		if err != nil {
			r.abandon()
			return nil, err
		}
		return r, nil
	case <-time.After(startLimit):
		go r.disown(launched)
		return nil, Voidf("start %s: it has not been executed after %v", cmd.Path, startLimit)
	}
}

// startLimit is how long it may take to execute a program, on a machine that is busy
// with much else. A file system that does not answer must not keep everybody.
const startLimit = time.Minute

// disown ends a program that came too late.
func (r *Run) disown(launched <-chan error) {
	if <-launched == nil {
		r.Kill()
	}
}

// abandon gives back what a run had that never began. The launching thread is
// the filter's last user, and ends.
func (r *Run) abandon() {
	if r.listener < 0 {
		return
	}
	<-r.ended
	r.look.close()
	_ = unix.Close(r.listener)
}

// ResolveTree is the true absolute path of a directory.
func ResolveTree(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("resolve the tree %s: %w", dir, err)
	}
	if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
		return "", fmt.Errorf("the tree %s is not a directory", dir)
	}
	return abs, nil
}

// launch puts the filter on a thread of its own, starts the program from it,
// and lets the thread die: its filter cannot be taken off, and as long as it
// lives the listener would not tell us of the subject's end.
//
// The receiving goroutine must run before the filter is there, because from then on
// this thread's own calls may be trapped, those of the runtime, too: a lock that it
// waits for makes it wake the poller by a write.
func (r *Run) launch(cmd Command, launched chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
	if cmd.Dir != "" {
		// A chdir between vfork and exec would be trapped while the collector
		// may be waiting for us; here it is not yet.
		if err := r.enter(cmd.Dir); err != nil {
			launched <- err
			return
		}
	}
	if err := preflight(cmd); err != nil {
		launched <- startError(cmd.Path, err)
		return
	}
	prog, err := filter(append(r.cfg.trapped(), r.cfg.clockTraps()...))
	if err != nil {
		launched <- err
		return
	}
	r.launcher = unix.Gettid()
	receiving := make(chan struct{})
	go func() {
		close(receiving)
		r.serve()
	}()
	<-receiving
	r.listener, err = install(prog)
	r.installed.Store(true)
	if err != nil {
		launched <- installError(err)
		return
	}
	guardListener(r.listener)
	if r.cfg.Clock != 0 {
		defer steady()()
	}
	pid, err := syscall.ForkExec(cmd.Path, cmd.Args, &syscall.ProcAttr{
		Env:   cmd.Env,
		Files: cmd.files(),
		Sys:   &syscall.SysProcAttr{Setpgid: true, Foreground: cmd.Terminal != nil, Ctty: 0},
	})
	if err != nil {
		launched <- startError(cmd.Path, err)
		return
	}
	if r.tether, err = tie(pid); err != nil {
		r.note("%v: who kills faultfs's two processes at once leaves it alone", err)
	}
	r.started(pid)
	launched <- nil
}

// awaitListener waits until the filter is on. It takes no lock and no channel, for
// whatever the launching thread did to tell of it could be trapped.
func (r *Run) awaitListener() bool {
	for !r.installed.Load() {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil)
	}
	return r.listener >= 0
}

// files are the program's descriptors, from 0 on.
func (c *Command) files() []uintptr {
	return []uintptr{c.Stdin.Fd(), c.Stdout.Fd(), c.Stderr.Fd()}
}

func startError(path string, err error) error {
	if errors.Is(err, unix.ENOEXEC) {
		return fmt.Errorf("start %s: %w: a script begins with a line such as #!/bin/sh", path, err)
	}
	return fmt.Errorf("start %s: %w", path, err)
}

// enter changes the calling thread's working directory and no other's.
func (r *Run) enter(dir string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("give the launching thread a directory of its own: %w", err)
	}
	err := unix.Chdir(dir)
	if err == unix.EACCES && dir == r.cfg.Tree {
		err = enterShut(dir)
	}
	if err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	return nil
}

// enterShut enters the tree of its owner's, which an earlier program has shut, and
// leaves it shut: the program is to start in it, as from a shell that was there.
func enterShut(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	if err := unix.Chmod(dir, st.Mode&0o7777|0o700); err != nil {
		return err
	}
	return errors.Join(unix.Chdir(dir), unix.Chmod(dir, st.Mode&0o7777))
}

func installError(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return Voidf("this process is already supervised by another seccomp listener, and the kernel allows one: run faultfs outside of it")
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return Voidf("the kernel refuses a seccomp listener with WAIT_KILLABLE_RECV (%v): Linux 5.19 or newer is needed; see faultfs doctor", err)
	}
	return Voidf("install the seccomp filter: %v; see faultfs doctor", err)
}
