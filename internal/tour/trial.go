//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limit bounds everything that is waited for.
const limit = 30 * time.Second

// trial is one attack on one design, in a data directory of its own.
type trial struct {
	lab     *lab
	data    string
	mutant  string
	repeat  string // the run that shows it
	started []*process
}

func (l *lab) trial(mutant string) (*trial, error) {
	data, err := os.MkdirTemp(l.dir, "data-")
	return &trial{lab: l, data: data, mutant: mutant}, err
}

// process is a worker, under faultfs where there are rules.
type process struct {
	cmd  *exec.Cmd
	out  output
	errs output
	done chan struct{}
}

// output is what a process has printed so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// inside reports whether the worker has said that it holds the lock.
func (p *process) inside() bool { return strings.HasPrefix(p.out.String(), "locked ") }

// status waits for the end.
func (p *process) status() (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		return 0, fmt.Errorf("%s did not end within %v", p.cmd, limit)
	}
}

// worker starts "worker run" with the rules, from one of the places.
func (t *trial) worker(rules []string, args ...string) (*process, error) {
	command := append([]string{t.lab.bin("worker"), "run", "--candidate", t.lab.eval("candidate.json"),
		"--dataset", t.lab.eval("dataset.jsonl"), "--data", t.data}, args...)
	if t.mutant != "" {
		command = append(command, "--mutant", t.mutant)
	}
	if len(rules) > 0 {
		run := []string{t.lab.bin("faultfs"), "run", "--tree", t.data}
		for _, r := range rules {
			run = append(run, "--on", r)
		}
		command = append(append(run, "--"), command...)
		t.repeat = t.readable(command)
	}
	return t.start(command)
}

// readable is a command as one would type it in the repository.
func (t *trial) readable(command []string) string {
	r := strings.NewReplacer(t.lab.dir+"/bin/", "", t.lab.repo+"/", "", t.data, "DIR")
	return r.Replace(quote(command))
}

func (t *trial) start(command []string) (*process, error) {
	dir, deleted, err := t.lab.place()
	if err != nil {
		return nil, err
	}
	if deleted { // by the shell, once it stands in it
		command = append([]string{"sh", "-c", `rmdir "$PWD" && exec "$@"`, "sh"}, command...)
	}
	p := &process{cmd: exec.Command(command[0], command[1:]...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.errs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.started = append(t.started, p)
	return p, nil
}

// run is worker, and its status.
func (t *trial) run(rules []string, args ...string) (*process, int, error) {
	p, err := t.worker(rules, args...)
	if err != nil {
		return nil, 0, err
	}
	status, err := p.status()
	if err == nil && status == 125 {
		err = errors.New(strings.TrimSpace(p.errs.String()))
	}
	return p, status, err
}

// await waits until something is so, or until p has ended.
func (t *trial) await(p *process, so func() bool) error {
	end := time.After(limit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-p.done:
			return nil
		case <-end:
			return fmt.Errorf("waited %v in vain; it said: %s%s", limit, p.out.String(), p.errs.String())
		}
	}
	return nil
}

func (t *trial) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(t.data, name))
	return err == nil
}

// release lets held operations go on.
func (t *trial) release() error { return os.WriteFile(filepath.Join(t.data, "go"), nil, 0o666) }

// end ends whoever still runs.
func (t *trial) end() error {
	for _, p := range t.started {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if _, err := p.status(); err != nil {
			_ = p.cmd.Process.Kill()
			return err
		}
	}
	return nil
}
