package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// probe is one thing that is measured, once in every round.
type probe interface {
	// measure takes one sample, in nanoseconds.
	measure() (float64, error)
}

// patience bounds one sample: what takes longer hangs.
const patience = 10 * time.Second

// host is a subject that lives on, under some wrapper or none.
type host struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// newHost starts a program that ends in a subject.
func newHost(cmd *exec.Cmd) (*host, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &host{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if _, _, err := h.batch("getppid", 1); err != nil { // it runs, or it never will
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *host) batch(call string, count int) (nanoseconds, failed int, err error) {
	watchdog := time.AfterFunc(patience, func() { _ = h.cmd.Process.Kill() })
	defer watchdog.Stop()
	if _, err := fmt.Fprintln(h.in, call, count); err != nil {
		return 0, 0, fmt.Errorf("ask for %d of %s: %w", count, call, err)
	}
	if _, err := fmt.Fscan(h.out, &nanoseconds, &failed); err != nil {
		return 0, 0, fmt.Errorf("hear of %d of %s: %w", count, call, err)
	}
	return nanoseconds, failed, nil
}

// stop ends the subject in its own way, so that no mount and no file is left.
func (h *host) stop() error {
	_ = h.in.Close()
	watchdog := time.AfterFunc(patience, func() { _ = h.cmd.Process.Kill() })
	defer watchdog.Stop()
	return h.cmd.Wait()
}

// calls times one call in a host.
type calls struct {
	host  *host
	call  string
	count int  // a batch
	fail  bool // every call is to fail, or to fall short
}

func (c calls) measure() (float64, error) {
	ns, failed, err := c.host.batch(c.call, c.count)
	if err != nil {
		return 0, err
	}
	want := 0
	if c.fail {
		want = c.count
	}
	if failed != want {
		return 0, fmt.Errorf("%d of %d calls of %s failed, want %d", failed, c.count, c.call, want)
	}
	return float64(ns) / float64(c.count), nil
}

// program times a program from its start to its end.
type program struct {
	args   []string
	dir    string
	status int
	// alone starts a supervisor without its guard: it is handed the end of a
	// socket that nobody listens to.
	alone bool
}

func (p program) measure() (float64, error) {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Dir = p.dir
	if p.alone {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer unix.Close(pair[0])
		theirs := os.NewFile(uintptr(pair[1]), "guard")
		defer theirs.Close()
		cmd.ExtraFiles = []*os.File{theirs}
		cmd.Env = append(os.Environ(), "FAULTFS_GUARD=3")
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	watchdog := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	state, err := cmd.Process.Wait()
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if state.ExitCode() != p.status {
		return 0, fmt.Errorf("%v ended with %v, want exit status %d", p.args, state, p.status)
	}
	return float64(took.Nanoseconds()), nil
}
