package faultlab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// conditions adds ours to a project's own. Ours are asked first: one that knows
// no such condition may say false to it, and skip for ever what it stands before.
func conditions(own func(string) (bool, error)) func(string) (bool, error) {
	return func(cond string) (bool, error) {
		if own == nil || cond == "faultfs" || cond == "long" || cond == "root" {
			return condition(cond)
		}
		return own(cond)
	}
}

func condition(cond string) (bool, error) {
	switch cond {
	case "faultfs":
		err := works()
		if err != nil && mustFail(err) {
			return false, err
		}
		return err == nil, nil
	case "long":
		return os.Getenv("FAULTLAB_LONG") == "1", nil
	case "root":
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition")
}

// broken is what is wrong and no lack of the machine's. To skip for it would be
// to pass without having looked.
type broken struct{ error }

func mustFail(err error) bool { return required() || errors.As(err, new(broken)) }

func required() bool { return os.Getenv("FAULTLAB_REQUIRE") == "1" }

// needs skips a script for want of a program, or fails it.
func needs(ts *testscript.TestScript, _ bool, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	for _, name := range args {
		err := lacks(ts, name)
		if err == nil {
			continue
		}
		if s := of(ts); s != nil && !mustFail(err) {
			s.t.Skip("needs " + name + ": " + err.Error())
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func lacks(ts *testscript.TestScript, name string) error {
	if name == "faultfs" {
		return works()
	}
	if !onPath(ts.Getenv("PATH"), name) {
		return errors.New("not on PATH: install it")
	}
	return nil
}

// onPath looks along the script's own PATH.
func onPath(path, name string) bool {
	for _, dir := range strings.Split(path, string(os.PathListSeparator)) {
		if _, err := exec.LookPath(dir + string(os.PathSeparator) + name); err == nil {
			return true
		}
	}
	return false
}

// works is probe's answer, which holds for the life of the process.
var works = sync.OnceValue(probe)

// probe tries whether faultfs can fail a call of another program here. Only
// where it says itself that the experiment did not take place is that the
// machine's lack.
func probe() error {
	path, err := exec.LookPath("faultfs")
	if err != nil {
		if runtime.GOOS != "linux" {
			return errors.New("it works on Linux only")
		}
		return broken{errors.New("not on PATH: call faultlab.Main in TestMain")}
	}
	dir, err := os.MkdirTemp("", "faultlab-probe-")
	if err != nil {
		return broken{err}
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "run", "--on", "create path=probe do fail ENOSPC",
		"--expect", "fail", "--", "/bin/sh", "-c", ": > probe")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case cmd.ProcessState.ExitCode() == void:
		return fmt.Errorf("it cannot work here: %s", bytes.TrimSpace(out))
	}
	return broken{fmt.Errorf("it is broken (%w): %s", err, bytes.TrimSpace(out))}
}

// void is faultfs's status where the experiment did not take place.
const void = 125
