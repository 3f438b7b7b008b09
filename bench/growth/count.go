package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

type growth struct {
	faultfs           string
	most, preemptions int
}

// schedules is a number of them, or that there are more.
type schedules struct {
	n    int
	more bool
}

func (s schedules) String() string {
	if s.more {
		return fmt.Sprintf(">%d", s.n)
	}
	return fmt.Sprint(s.n)
}

// count has faultfs play actors of so many operations each.
func (g *growth) count(actors, operations int, flags ...string) (schedules, error) {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return schedules{}, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return schedules{}, err
	}
	report := filepath.Join(dir, "report.json")
	args := append([]string{"race", "--json", report, "--timeout", "1m", "--keep-going", "--check", "true",
		"--preemptions", fmt.Sprint(g.preemptions), "--max-schedules", fmt.Sprint(g.most),
		"--setup", "touch shared own.1 own.2 own.3 own.4"}, flags...)
	args = append(args, "--")
	for i := range actors {
		if i > 0 {
			args = append(args, ":::")
		}
		args = append(args, self, role, fmt.Sprint("own.", i+1), fmt.Sprint(operations))
	}
	said, err := exec.Command(g.faultfs, args...).CombinedOutput()
	const void = 125
	var status *exec.ExitError
	if err != nil && !(errors.As(err, &status) && status.ExitCode() == void) {
		return schedules{}, fmt.Errorf("%s race: %w: %s", g.faultfs, err, strings.TrimSpace(string(said)))
	}
	return read(report, string(said))
}

// read takes the number from a report.
func read(report, said string) (schedules, error) {
	text, err := os.ReadFile(report)
	if err != nil {
		return schedules{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(said))
	}
	var r struct {
		Coverage struct {
			Ran, Void int
			Complete  bool
			Why       string
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return schedules{}, err
	}
	if c := r.Coverage; c.Void > 0 || !c.Complete && c.Why != "--max-schedules is reached" {
		return schedules{}, fmt.Errorf("no count: %s", strings.TrimSpace(said))
	}
	return schedules{r.Coverage.Ran, !r.Coverage.Complete}, nil
}
