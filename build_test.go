package faultlab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestBuild: what cannot be built is said, and leaves nothing behind.
func TestBuild(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("FAULTLAB_BIN", "")
	s := session{build: []string{"./absent"}}
	if _, _, err := s.programs(); err == nil || !strings.Contains(err.Error(), "absent: directory not found") {
		t.Errorf("no package: %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	err := goBuild(tmp, nil, "-nope", "./testdata/subjects/subject")
	if err == nil || !strings.Contains(err.Error(), "flag provided but not defined: -nope") {
		t.Errorf("bad flag: %v", err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "tool"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	s = session{commands: map[string]func(){"tool": nil}}
	if err := s.clash(tmp); err == nil || !strings.Contains(err.Error(), "tool is both a function and a program") {
		t.Errorf("clash: %v", err)
	}
	err = explain(errors.New("missing go.sum entry for module providing package x"))
	if !strings.Contains(err.Error(), "go get faultlab/cmd/faultfs") {
		t.Errorf("go.sum: %v", err)
	}
}

// TestPrebuilt: with FAULTLAB_BIN nothing is built, and nothing removed.
func TestPrebuilt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FAULTLAB_BIN", dir)
	got, clean, err := (&session{build: []string{"./absent"}}).programs()
	if err != nil || got != dir {
		t.Fatalf("%q, %v", got, err)
	}
	clean()
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

// TestMissing: what a script needs and is not there skips it, with the reason,
// or fails it where FAULTLAB_REQUIRE=1.
func TestMissing(t *testing.T) {
	real := works
	t.Cleanup(func() { works = real })
	for _, c := range []struct {
		name, script, require string
		skipped, failed       bool
		says                  string
	}{
		{"program", "needs sh no-such-program\nexec false", "", true, false, "needs no-such-program: not on PATH"},
		{"program, required", "needs sh no-such-program", "1", false, true, "no-such-program: not on PATH"},
		{"faultfs", "needs faultfs\nexec false", "", true, false, "needs faultfs: the kernel is too old"},
		{"faultfs, required", "needs faultfs", "1", false, true, "the kernel is too old"},
		{"condition", "[faultfs] exec false\n[!faultfs] skip old", "", true, false, "old"},
		{"broken", "needs faultfs", "", false, true, "it is broken"},
		{"broken condition", "[!faultfs] skip old", "", false, true, "it is broken"},
		{"condition, required", "[!faultfs] skip old", "1", false, true, "the kernel is too old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("FAULTLAB_REQUIRE", c.require)
			works = func() error { return errors.New("the kernel is too old") }
			if strings.HasPrefix(c.name, "broken") {
				works = func() error { return broken{errors.New("it is broken")} }
			}
			o := play(t, c.script, testscript.Params{})
			if o.skipped != c.skipped || o.failed != c.failed || !strings.Contains(o.log.String(), c.says) {
				t.Errorf("skipped %v, failed %v, want %v, %v and %q in\n%s", o.skipped, o.failed, c.skipped, c.failed, c.says, o.log.String())
			}
		})
	}
}

// TestProbe asks the question of programs that are not faultfs. Only a void run
// may skip a script: one that is broken must never make everything pass.
func TestProbe(t *testing.T) {
	t.Setenv("FAULTLAB_REQUIRE", "") // what it decides is under test
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		program, want string
		fails         bool
	}{
		{"", "call faultlab.Main in TestMain", true},
		{"#!/bin/sh\necho 'faultfs: void: no seccomp here'; exit 125\n", "it cannot work here: faultfs: void: no seccomp here", false},
		{"#!/bin/sh\necho 'it succeeded'; exit 1\n", "it is broken (exit status 1): it succeeded", true},
		{"#!/bin/sh\nkill -SEGV $$\n", "it is broken (signal: segmentation fault)", true},
	} {
		if c.program != "" {
			if err := os.WriteFile(filepath.Join(dir, "faultfs"), []byte(c.program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		err := probe()
		if err == nil || !strings.Contains(err.Error(), c.want) || mustFail(err) != c.fails {
			t.Errorf("%q: %v, which fails: %v", c.program, err, mustFail(err))
		}
	}
}

// TestTidy: a project that uses the lab finds in it all that its go.sum needs,
// because this file, which is never built, imports the program.
func TestTidy(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-tags=faultlab_tools", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), faultfs) {
		t.Errorf("tools.go does not import %s", faultfs)
	}
}
