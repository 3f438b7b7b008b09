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

	"golang.org/x/sync/errgroup"
)

// How often whole experiments are measured: each round takes half a minute.
const (
	experimentRounds = 3
	loops            = 20 // of what is measured by hand, a round
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
	bare := sweeps.add("both bare, a copy each time", loop{s.commits(repo), 1}, nil)
	bareTwo := sweeps.add("the same, two at once", loop{s.commits(repo), 2}, nil)
	_, missing := exec.LookPath("strace")
	traced := sweeps.add("a loop around strace -e inject", loop{s.tracedCommits(repo), 1}, missing)
	sweep := sweeps.add("faultfs sweep --jobs 1, all of it", counted{s.sweep(repo, "1"), "ran"}, nil)
	sweepTwo := sweeps.add("faultfs sweep --jobs 2, all of it", counted{s.sweep(repo, "2"), "ran"}, nil)

	races := &table{title: "a run of two workers on one data directory", unit: time.Millisecond}
	inTurn := races.add("both bare, one after the other", loop{s.workers, 1}, nil)
	inTurnTwo := races.add("the same, two pairs at once", loop{s.workers, 2}, nil)
	race := races.add("faultfs race --jobs 1, a schedule", counted{s.race("1"), "ran"}, nil)
	raceTwo := races.add("faultfs race --jobs 2, a schedule", counted{s.race("2"), "ran"}, nil)

	crashes, err := s.crashes(r)
	if err != nil {
		return err
	}
	var rows []*row
	for _, t := range []*table{sweeps, races, crashes} {
		rows = append(rows, t.rows...)
		for _, row := range t.rows {
			row.base = t.rows[0]
		}
	}
	r.tables = append(r.tables, sweeps, races, crashes)
	r.bar("an experiment of a sweep, times a strace loop's", 1.0/3, timesOf(sweepTwo, traced)).optional = missing != nil
	r.bar("an experiment of a sweep, times its programs bare", 2, timesOf(sweep, bare))
	r.bar("a schedule of a race, times its programs bare", 1.5, timesOf(race, inTurn))
	r.bar("what two bare loops gain, times what two jobs of a sweep gain", 1/0.9, gains(bare, bareTwo, sweep, sweepTwo))
	r.bar("what two bare loops gain, times what two jobs of a race gain", 1/0.9, gains(inTurn, inTurnTwo, race, raceTwo))
	return runSome(rows, experimentRounds)
}

// gains compares what two at once gain bare with what they gain in experiments.
func gains(one, two, ours, oursTwo *row) func() (float64, string) {
	return func() (float64, string) { return one.ratio(two) / ours.ratio(oursTwo), "" }
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

// loop is something done by hand, several times, by some at once: each in a
// directory of its own.
type loop struct {
	once   func(dir string) error
	atOnce int
}

func (l loop) measure() (float64, error) {
	began := time.Now()
	var all errgroup.Group
	for range l.atOnce {
		all.Go(func() error {
			for range loops / l.atOnce {
				if err := inScratch(l.once); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := all.Wait()
	return float64(time.Since(began).Nanoseconds()) / loops, err
}

// inScratch runs f in a new directory, and removes that.
func inScratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "faultlab-bench-loop-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
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

// commits commits twice in a copy of the repository.
func (s *setting) commits(repo string) func(dir string) error {
	return func(dir string) error {
		if err := command(dir, "cp", "-a", repo+"/.", dir); err != nil {
			return err
		}
		if err := command(dir, "git", "commit", "-qm", "x"); err != nil {
			return err
		}
		_ = command(dir, "git", "commit", "-qm", "x") // rightly refused
		return nil
	}
}

func (s *setting) tracedCommits(repo string) func(dir string) error {
	return func(dir string) error {
		if err := command(dir, "cp", "-a", repo+"/.", dir); err != nil {
			return err
		}
		_ = command(dir, "strace", "-f", "-o", os.DevNull, "-e", "inject=write:error=ENOSPC:when=3", "git", "commit", "-qm", "x")
		_ = command(dir, "git", "commit", "-qm", "x")
		return nil
	}
}

func (s *setting) sweep(repo, jobs string) []string {
	return []string{s.faultfs, "sweep", "--jobs", jobs, "--faults", "EIO", "--tree", repo, "--", "git", "commit", "-qm", "x"}
}

// worker is the command line of the reference worker on a data directory.
func (s *setting) worker(data string) []string {
	return []string{s.workerFile, "run", "--candidate", filepath.Join(s.dir, "candidate"), "--dataset", filepath.Join(s.dir, "dataset"), "--data", data}
}

func (s *setting) workers(dir string) error {
	line := s.worker(dir)
	if err := command(dir, line[0], line[1:]...); err != nil {
		return err
	}
	_ = command(dir, line[0], line[1:]...) // it finds nothing better
	return nil
}

func (s *setting) race(jobs string) []string {
	one := s.worker("{tree}")
	line := append([]string{s.faultfs, "race", "--jobs", jobs, "--preemptions", "1", "--tree", s.data, "--"}, one...)
	return append(append(line, ":::"), one...)
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
