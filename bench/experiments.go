package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// How often whole experiments are measured: each round takes some twenty seconds.
const (
	experimentRounds = 3
	loops            = 20 // of what is measured by hand, a round
	schedules        = 60 // of a race, a round
)

// measureExperiments compares whole experiments with what a shell loop around
// bare programs, or around strace, would take: everything included, controls,
// copies and reports.
func (s *setting) measureExperiments(r *report) error {
	repo, err := s.repository()
	if err != nil {
		return err
	}
	sweeps := &table{title: "an experiment on git commit, and the commit after it", unit: time.Millisecond}
	bare := sweeps.add("both bare, a copy each time", loop{func() error { return s.commits(repo) }}, nil)
	_, missing := exec.LookPath("strace")
	traced := sweeps.add("a loop around strace -e inject", loop{func() error { return s.tracedCommits(repo) }}, missing)
	sweep := sweeps.add("faultfs sweep, all of it", counted{s.sweep(repo), "ran"}, nil)

	races := &table{title: "a run of two programs that each count up a file", unit: time.Millisecond}
	inTurn := races.add("both bare, one after the other", loop{s.countTwice}, nil)
	race := races.add("faultfs race, a schedule", counted{s.race(), "ran"}, nil)

	for _, t := range []*table{sweeps, races} {
		for _, row := range t.rows {
			row.base = t.rows[0]
		}
	}
	r.tables = append(r.tables, sweeps, races)
	r.bar("an experiment of a sweep, times a strace loop's", 1.0/3, timesOf(sweep, traced)).optional = missing != nil
	r.bar("an experiment of a sweep, times its programs bare", 2, timesOf(sweep, bare))
	r.bar("a schedule of a race, times its programs bare", 1.5, timesOf(race, inTurn))
	return runSome(append(append([]*row{}, sweeps.rows...), races.rows...), experimentRounds)
}

// runSome measures every row so many times, in turn.
func runSome(rows []*row, rounds int) error {
	for range rounds {
		for _, r := range rows {
			if r.missing != "" {
				continue
			}
			sample, err := r.probe.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			r.samples = append(r.samples, sample)
		}
	}
	return nil
}

// loop is something done by hand, several times.
type loop struct{ once func() error }

func (l loop) measure() (float64, error) {
	began := time.Now()
	for range loops {
		if err := l.once(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(began).Nanoseconds()) / loops, nil
}

// counted is a command of faultfs, by the experiments that its report counts.
type counted struct {
	args []string
	what string
}

func (c counted) measure() (float64, error) {
	file := filepath.Join(os.TempDir(), "faultlab-bench-"+strconv.Itoa(os.Getpid())+".json")
	defer os.Remove(file)
	args := append([]string{c.args[0], c.args[1], "--json", file}, c.args[2:]...)
	began := time.Now()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	took := time.Since(began)
	text, unread := os.ReadFile(file)
	if unread != nil {
		return 0, fmt.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var doc struct{ Coverage map[string]any }
	if err := json.Unmarshal(text, &doc); err != nil {
		return 0, err
	}
	n, _ := doc.Coverage[c.what].(float64)
	if n == 0 {
		return 0, fmt.Errorf("%s: no experiment ran\n%s", strings.Join(args, " "), out)
	}
	return float64(took.Nanoseconds()) / n, nil
}

const gitSetup = "git init -q . && git config user.email a@example.org && git config user.name n && echo a >a && git add a"

// repository is a small one with something to commit.
func (s *setting) repository() (string, error) {
	dir := filepath.Join(s.dir, "repository")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	return dir, command(dir, "sh", "-c", gitSetup)
}

// copied runs f in a copy of the repository.
func (s *setting) copied(repo string, f func(dir string) error) error {
	dir := filepath.Join(s.dir, "copy")
	defer os.RemoveAll(dir)
	if err := command(s.dir, "cp", "-a", repo, dir); err != nil {
		return err
	}
	return f(dir)
}

func (s *setting) commits(repo string) error {
	return s.copied(repo, func(dir string) error {
		if err := command(dir, "git", "commit", "-qm", "x"); err != nil {
			return err
		}
		_ = command(dir, "git", "commit", "-qm", "x") // rightly refused
		return nil
	})
}

func (s *setting) tracedCommits(repo string) error {
	return s.copied(repo, func(dir string) error {
		_ = command(dir, "strace", "-f", "-o", os.DevNull, "-e", "inject=write:error=ENOSPC:when=3", "git", "commit", "-qm", "x")
		_ = command(dir, "git", "commit", "-qm", "x")
		return nil
	})
}

func (s *setting) sweep(repo string) []string {
	return []string{s.faultfs, "sweep", "--tree", repo, "--", "git", "commit", "-qm", "x"}
}

const countUp = "n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) >count"

func (s *setting) countTwice() error {
	dir, err := os.MkdirTemp(s.dir, "count")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for range 2 {
		if err := command(dir, "sh", "-c", countUp); err != nil {
			return err
		}
	}
	return nil
}

func (s *setting) race() []string {
	return []string{s.faultfs, "race", "--keep-going", "--preemptions", "4", "--max-schedules", strconv.Itoa(schedules),
		"--", "sh", "-c", countUp, ":::", "sh", "-c", countUp}
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
