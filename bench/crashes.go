package main

import (
	"os"
	"path/filepath"
	"time"
)

// A program whose crashes leave some hundred states, and what is run in each.
const (
	crashed  = `for i in 1 2 3 4 5 6 7 8; do echo $i >new; mv new now; echo $i >>log; done`
	recovery = `cat now log >report 2>/dev/null; rm -f new`
	verdict  = `test ! -e new`
)

// crashes compare what a state costs with what the commands that are run in
// it cost bare.
func (s *setting) crashes(r *report) (*table, error) {
	tree := filepath.Join(s.dir, "empty")
	if err := os.Mkdir(tree, 0o777); err != nil {
		return nil, err
	}
	t := &table{title: "a state after a crash, its recovery and its check", unit: time.Millisecond}
	bare := t.add("both bare, in a directory of their own", loop{s.recovers, 1}, nil)
	crash := t.add("faultfs crash --jobs 1, all of it", counted{s.crash(tree), "ran"}, nil)
	r.bar("a state after a crash, times its commands bare", 1/0.8, timesOf(crash, bare))
	return t, nil
}

func (s *setting) recovers(dir string) error {
	if err := command(dir, "sh", "-c", recovery); err != nil {
		return err
	}
	return command(dir, "sh", "-c", verdict)
}

func (s *setting) crash(tree string) []string {
	return []string{s.faultfs, "crash", "--jobs", "1", "--tree", tree, "--next", recovery, "--check", verdict, "--", "sh", "-c", crashed}
}
