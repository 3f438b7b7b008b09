package faultlab

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// faultfs is where the shim's program lies.
const faultfs = "faultlab/cmd/faultfs"

// session is one run of a project's tests. Testscript calls its Run only in the
// test process itself, not where the test binary is run as one of the commands.
type session struct {
	tests    testscript.TestingM
	commands map[string]func()
	build    []string
}

// Run implements testscript.TestingM.
func (s *session) Run() int {
	dir, clean, err := s.programs()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultlab:", err)
		return 1
	}
	defer clean()
	heedSignals()
	if dir != "" {
		_ = os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	return s.tests.Run()
}

// heedSignals undoes for the scripts' programs what a shell does that runs the
// tests in the background (or nohup): they would inherit that it ignores
// interrupts, and testscript ends them by one. The tests themselves go on
// ignoring what they did.
func heedSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// programs finds or builds what the scripts run.
func (s *session) programs() (dir string, clean func(), err error) {
	nothing := func() {}
	if runsNoTest() {
		return "", nothing, nil
	}
	if dir := os.Getenv("FAULTLAB_BIN"); dir != "" {
		dir, err = filepath.Abs(dir)
		return dir, nothing, err
	}
	if dir, err = os.MkdirTemp("", "faultlab-"); err != nil {
		return "", nothing, fmt.Errorf("make a directory for the programs: %w", err)
	}
	clean = func() { _ = os.RemoveAll(dir) }
	if err := s.buildInto(dir); err != nil {
		clean()
		return "", nothing, err
	}
	return dir, clean, nil
}

// runsNoTest reports whether the test binary only lists tests, or is one of
// the many workers of a fuzz test.
func runsNoTest() bool {
	if !flag.Parsed() {
		flag.Parse()
	}
	for name, idle := range map[string]string{"test.list": "", "test.fuzzworker": "false"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != idle {
			return true
		}
	}
	return false
}

// buildInto builds faultfs and the project's programs side by side.
func (s *session) buildInto(dir string) error {
	var faultfsErr, projectErr error
	var both sync.WaitGroup
	if runtime.GOOS == "linux" {
		both.Go(func() { faultfsErr = explain(goBuild(dir, []string{"CGO_ENABLED=0"}, "-ldflags=-s -w", faultfs)) })
	}
	if len(s.build) > 0 {
		both.Go(func() { projectErr = goBuild(dir, nil, append(inherited(), s.build...)...) })
	}
	both.Wait()
	if err := errors.Join(faultfsErr, projectErr); err != nil {
		return err
	}
	return s.clash(dir)
}

// inherited is how the test binary itself was built, as flags.
func inherited() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var flags []string
	for _, s := range info.Settings {
		switch {
		case (s.Key == "-race" || s.Key == "-cover") && s.Value == "true":
			flags = append(flags, s.Key)
		case s.Key == "-tags":
			flags = append(flags, "-tags="+s.Value)
		}
	}
	return flags
}

func goBuild(dir string, env []string, args ...string) error {
	// The slash makes it a directory for one package, too.
	args = append([]string{"build", "-o", dir + string(filepath.Separator)}, args...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// explain says what to do where go.sum lacks what only faultfs needs.
func explain(err error) error {
	if err != nil && strings.Contains(err.Error(), "go.sum") {
		return fmt.Errorf("%w\n(to add what is missing: go get %s)", err, faultfs)
	}
	return err
}

// clash reports a command that is both a function and a program: which of them
// a script would get depends on how it calls it.
func (s *session) clash(dir string) error {
	for name := range s.commands {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s is both a function and a program: rename one of them", name)
		}
	}
	return nil
}
