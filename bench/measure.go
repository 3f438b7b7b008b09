package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// How long each table is measured. With the build of faultfs and the whole
// experiments all takes some four minutes.
const (
	callsLast  = 38 * time.Second
	startsLast = 30 * time.Second
	storesLast = 8 * time.Second
	// mostRounds keeps strace from its last call: the highest count that its
	// inject takes is 65535, and the rule must not fire.
	mostRounds  = 600
	straceBatch = 100
	straceNever = "65535"
)

// setting is where a measurement takes place.
type setting struct {
	dir     string // scratch, removed at the end
	tree    string
	self    string // this program
	faultfs string
	nothing string // a Go program that does nothing

	workerFile string // the reference worker
	data       string // an empty data directory of it
	hosts      []*host
}

func measure() (r *report, err error) {
	s, err := newSetting()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stopped
		_ = os.RemoveAll(s.dir) // the subjects end with their standard input
		os.Exit(2)
	}()
	if err := s.build(); err != nil {
		return nil, err
	}
	r = &report{}
	r.load[0] = loadField(0)
	if err := s.measureCalls(r); err != nil {
		return nil, err
	}
	if err := s.measureStarts(r); err != nil {
		return nil, err
	}
	if err := s.measureStores(r); err != nil {
		return nil, err
	}
	if err := s.measureExperiments(r); err != nil {
		return nil, err
	}
	r.load[1] = loadField(0)
	r.judge()
	return r, nil
}

// What the reference worker works on.
const (
	candidate = `{"name":"one","weights":{"latency_ms":1,"errors":0,"queue":0},"page":9,"ticket":5}` + "\n"
	dataset   = `{"id":"a","latency_ms":1,"errors":0,"queue":0,"want":"ignore"}` + "\n"
)

func newSetting() (*setting, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "faultlab-bench-")
	if err != nil {
		return nil, err
	}
	s := &setting{dir: dir, self: self, tree: filepath.Join(dir, "tree"), faultfs: filepath.Join(dir, "faultfs"), nothing: filepath.Join(dir, "nothing"),
		workerFile: filepath.Join(dir, "worker"), data: filepath.Join(dir, "data")}
	if err := errors.Join(os.Mkdir(s.tree, 0o777), os.Mkdir(s.data, 0o777),
		os.WriteFile(filepath.Join(dir, "candidate"), []byte(candidate), 0o666),
		os.WriteFile(filepath.Join(dir, "dataset"), []byte(dataset), 0o666), os.WriteFile(filepath.Join(s.tree, hot), block[:], 0o666)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *setting) close() error {
	var errs []error
	for _, h := range s.hosts {
		errs = append(errs, h.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// build makes faultfs as it is released: static, without cgo.
func (s *setting) build() error {
	for _, b := range []struct{ out, dir, pkg string }{
		{s.faultfs, "..", "./cmd/faultfs"},
		{s.workerFile, "..", "./cmd/worker"},
		{s.nothing, ".", "./nothing"},
	} {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", b.out, b.pkg)
		cmd.Dir = b.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.pkg, err, out)
		}
	}
	return nil
}

// subject is the command line of a subject in a directory.
func (s *setting) subject(dir string) []string { return []string{s.self, "role-subject", dir} }

// run is faultfs over a command, with a rule or without.
func (s *setting) run(on string, args ...string) []string {
	line := []string{s.faultfs, "run", "--tree", s.tree}
	if on != "" {
		line = append(line, "--allow-unfired", "--on", on)
	}
	return append(append(line, "--"), args...)
}

// host starts a subject behind the given command line.
func (s *setting) host(attr *syscall.SysProcAttr, args ...string) (*host, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = attr
	// Go's own signals would break off the calls that are timed.
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	h, err := newHost(cmd)
	if err == nil {
		s.hosts = append(s.hosts, h)
	}
	return h, err
}
