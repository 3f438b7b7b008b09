//go:build linux

// Tour shows what the lab is for, on shipped input and in some seconds: real
// worker processes contend for a lock file while the disk is full, syncs fail
// and holders are killed under them, started from places that nobody expected.
// The real design holds; each broken one is caught, with a line to repeat it.
//
//	go run ./internal/tour
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-multierror"
)

func main() {
	if err := tour(); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func tour() error {
	l, err := newLab()
	if err != nil {
		return err
	}
	defer l.close()
	var wrong *multierror.Error
	for _, a := range attacks {
		fmt.Printf("\n%s\n", a.title)
		for _, design := range append([]string{""}, a.mutants...) {
			if err := l.show(a, design); err != nil {
				wrong = multierror.Append(wrong, err)
			}
		}
	}
	fmt.Println()
	return wrong.ErrorOrNil()
}

// show makes one attack on one design, the real one where design is empty. It
// is an error if the real one does not hold, or a broken one does.
func (l *lab) show(a attack, design string) error {
	name := design
	if name == "" {
		name = "the real design"
	}
	t, err := l.trial(design)
	if err != nil {
		return err
	}
	broken, what, err := a.run(t)
	if err == nil {
		err = t.end()
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", a.title, name, err)
	}
	mark := "holds "
	if broken {
		mark = "BROKEN"
	}
	fmt.Printf("  %s  %-19s %s\n", mark, name, what)
	if broken != (design != "") {
		return fmt.Errorf("%s, %s: broken is %v", a.title, name, broken)
	}
	if broken {
		fmt.Printf("          again: %s\n", t.repeat)
	}
	return nil
}

// lab has the programs and the input.
type lab struct {
	dir, repo string
	trials    int
}

func newLab() (*lab, error) {
	repo, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(repo, "cmd/faultfs")); err != nil {
		return nil, fmt.Errorf("run it in the root of the repository: %w", err)
	}
	dir, err := os.MkdirTemp("", "faultlab-tour-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, repo: repo}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin")+"/", "./cmd/faultfs", "./cmd/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		l.close()
		return nil, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	if out, err := exec.Command(l.bin("faultfs"), "doctor").Output(); err != nil {
		l.close()
		return nil, fmt.Errorf("this machine cannot run faultfs: %w\n%s", err, out)
	}
	return l, nil
}

func (l *lab) bin(name string) string  { return filepath.Join(l.dir, "bin", name) }
func (l *lab) eval(name string) string { return filepath.Join(l.repo, "testdata", "eval", name) }

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// place is where the next worker starts: never in the repository, and now and
// then in a directory that is gone.
func (l *lab) place() (dir string, deleted bool, err error) {
	l.trials++
	switch l.trials % 4 {
	case 0:
		return "/", false, nil
	case 1:
		return os.TempDir(), false, nil
	case 2:
		dir, err = os.MkdirTemp(l.dir, "sibling-")
		return dir, false, err
	}
	dir, err = os.MkdirTemp(l.dir, "deleted-")
	return dir, true, err
}

// quote writes a command as a shell takes it.
func quote(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if strings.ContainsAny(a, " *'") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		b.WriteString(a)
	}
	return b.String()
}
