package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// idle is a rule that is asked at every write on the tree and never fires.
const idle = "write path=never do fail EIO"

// measureCalls compares single calls, in subjects that live on.
func (s *setting) measureCalls(r *report) error {
	bare, err := s.host(nil, s.subject(s.tree)...)
	if err != nil {
		return fmt.Errorf("a bare subject: %w", err)
	}
	watched, err := s.host(nil, s.run(idle, s.subject(s.tree)...)...)
	if err != nil {
		return fmt.Errorf("a subject under faultfs: %w", err)
	}
	var all []*row
	for _, group := range []func(r *report, bare, watched *host) (*table, error){s.writes, s.untrapped, s.fired} {
		t, err := group(r, bare, watched)
		if err != nil {
			return err
		}
		r.tables = append(r.tables, t)
		all = append(all, t.rows...)
	}
	return runRounds(all, callsLast, mostRounds)
}

// writes is a write on the tree for which faultfs is asked and lets it go on,
// beside all that can stand in its place.
func (s *setting) writes(r *report, bare, watched *host) (*table, error) {
	t := &table{title: "a trapped write whose rule does not fire", unit: time.Microsecond}
	base := t.add("bare", calls{host: bare, call: "pwrite", count: 1000}, nil)
	ours := t.add("faultfs", calls{host: watched, call: "pwrite", count: 400}, nil)

	trip, err := s.barest(t, "barest notification", "role-notify")
	if err != nil {
		return nil, err
	}
	if _, err := s.barest(t, "the same in short turns", "role-notify-short"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if _, err := s.barest(t, "the same in real time", "role-notify-real-time"); err != nil {
			return nil, err
		}
	}

	traced, err := s.strace()
	strace := t.add("strace -e inject", calls{host: traced, call: "pwrite", count: straceBatch}, err)
	mounted, err := s.fuse()
	fuse := t.add("empty FUSE", calls{host: mounted, call: "pwrite", count: 200}, err)

	for _, row := range t.rows {
		row.base = base
	}
	r.bar("a trapped write, times strace's", 0.2, timesOf(ours, strace))
	r.bar("a trapped write, times FUSE's", 0.5, timesOf(ours, fuse)).optional = true
	r.bar("a trapped write, times the barest notification", 1.5, timesOf(ours, trip))
	return t, nil
}

func (s *setting) barest(t *table, name, role string) (*row, error) {
	h, err := s.host(nil, append([]string{s.self, role}, s.subject(s.tree)...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.add(name, calls{host: h, call: "pwrite", count: 400}, nil), nil
}

// strace never gets to the call that it would fail.
func (s *setting) strace() (*host, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, err
	}
	line := []string{strace, "-f", "--seccomp-bpf", "-o", "/dev/null",
		"-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EIO:when=" + straceNever}
	return s.host(nil, append(line, s.subject(s.tree)...)...)
}

// fuse mounts in a mount namespace of its own; an ordinary user needs one of
// users too.
func (s *setting) fuse() (*host, error) {
	dir := filepath.Join(s.dir, "fuse")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return s.host(attr, append([]string{s.self, "role-fuse", dir}, s.subject(dir)...)...)
}

// untrapped are calls that the filter looks at and lets pass.
func (s *setting) untrapped(r *report, bare, watched *host) (*table, error) {
	t := &table{title: "an untrapped call under the filter", unit: time.Nanosecond}
	for _, c := range []struct {
		name  string
		count int
	}{{"getppid", 4000}, {"fault", 200}, {"fstat", 4000}, {"pread", 2000}, {"open+close", 400}} {
		base := t.add(c.name+", bare", calls{host: bare, call: c.name, count: c.count}, nil)
		ours := t.add(c.name+", faultfs", calls{host: watched, call: c.name, count: c.count}, nil)
		base.base, ours.base = base, base
		if c.name == "fstat" {
			r.bar("an untrapped "+c.name+", times bare", 1.2, timesOf(ours, base))
		}
	}
	return t, nil
}

// fired are operations at which a rule does something.
func (s *setting) fired(_ *report, bare, _ *host) (*table, error) {
	t := &table{title: "a rule that fires (for information)", unit: time.Microsecond}
	write := t.add("write, bare", calls{host: bare, call: "pwrite", count: 400}, nil)
	write.base = write
	closing := t.add("open+close, bare", calls{host: bare, call: "open+close", count: 400}, nil)
	closing.base = closing
	for _, c := range []struct {
		on, call string
		count    int
		fails    bool
	}{
		{"write path=hot do fail EIO", "pwrite", 200, true},
		{"write path=hot do short 100", "pwrite", 40, true},
		{"close path=never do fail EIO", "open+close", 200, false},
		{"close path=hot do fail EIO", "open+close", 40, true},
	} {
		h, err := s.host(nil, s.run(c.on, s.subject(s.tree)...)...)
		if err != nil {
			return nil, fmt.Errorf("a subject under %q: %w", c.on, err)
		}
		row := t.add(c.on, calls{host: h, call: c.call, count: c.count, fail: c.fails}, nil)
		row.base = write
		if c.call == "open+close" {
			row.base = closing
		}
	}
	return t, nil
}

// measureStarts compares whole programs, from start to end.
func (s *setting) measureStarts(r *report) error {
	truth, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	t := &table{title: "start and end of a program", unit: time.Millisecond}
	base := t.add("true", program{args: []string{truth}}, nil)
	ours := t.add("faultfs run -- true", program{args: s.run("", truth)}, nil)
	t.add("faultfs run --on … -- true", program{args: s.run(idle, truth)}, nil)
	t.add("supervisor without guard", program{args: s.run("", truth), alone: true}, nil)
	t.add("supervisor without subject (--dry-run)", program{args: append([]string{s.faultfs, "run", "--dry-run"}, "--", truth), alone: true}, nil)
	t.add("an empty Go program", program{args: []string{s.nothing}}, nil)
	t.add("empty Go, empty Go, true", program{args: []string{s.nothing, s.nothing, truth}}, nil)
	echo := []string{"/bin/sh", "-c", "echo text >killed"}
	t.add("sh -c 'echo >FILE'", program{args: echo, dir: s.tree}, nil)
	t.add("the same, do kill", program{args: s.run("write path=killed do kill", echo...), dir: s.tree, status: 128 + 9}, nil)
	t.add("the same, do kill after", program{args: s.run("write path=killed do kill after", echo...), dir: s.tree, status: 128 + 9}, nil)
	for _, row := range t.rows {
		row.base = base
	}
	r.bar("start-up of faultfs run, ms more than bare", 5, func() (float64, string) {
		return ours.over(base) / 1e6, ""
	})
	r.tables = append(r.tables, t)
	return runRounds(t.rows, startsLast, mostRounds)
}
