package faultlab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

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
		if err != nil && required() {
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
		if s := of(ts); s != nil && !required() {
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

// probe tries whether faultfs can fail a call of another program here.
func probe() error {
	path, err := exec.LookPath("faultfs")
	if err != nil {
		return errors.New("not on PATH: call faultlab.Main in TestMain")
	}
	dir, err := os.MkdirTemp("", "faultlab-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "run", "--on", "create path=probe do fail ENOSPC",
		"--expect", "fail", "--", "/bin/sh", "-c", ": > probe")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("it cannot work here (%w): %s", err, bytes.TrimSpace(out))
	}
	return nil
}
