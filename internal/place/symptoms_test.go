//go:build linux

package place

import (
	"testing"

	"golang.org/x/sys/unix"

	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

func TestCrash(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		exit   shim.Exit
		stderr string
		want   string
	}{
		{shim.Exit{}, "panic: x\n\ngoroutine 1 [running]:\n", ""},
		{shim.Exit{Code: 1}, "open x: permission denied\n", ""},
		{shim.Exit{Signal: unix.SIGSEGV}, "", "SIGSEGV"},
		{shim.Exit{Signal: unix.SIGTERM}, "", "SIGTERM"},
		{shim.Exit{Code: 139}, "Segmentation fault\n", "SIGSEGV"},
		{shim.Exit{Code: 134}, "", "SIGABRT"},
		{shim.Exit{Code: 128}, "fatal: not a git repository\n", ""},
		{shim.Exit{Code: 143}, "", ""},
		{shim.Exit{Code: 2}, "note\npanic: no home\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: no home"},
		{shim.Exit{Code: 2}, "do not panic: all is well\n", ""},
		{shim.Exit{Code: 101}, "\nthread 'main' panicked at src/main.rs:2:5:\nno home\n", "thread 'main' panicked at src/main.rs:2:5:"},
		{shim.Exit{Code: 101}, "thread 'main' panicked at library/std/src/io/stdio.rs:1165:9:\nfailed printing to stdout: Broken pipe\n", ""},
		{shim.Exit{Code: 1}, "Traceback (most recent call last):\nKeyError: 'HOME'\n", ""},
	} {
		if got := crashOf(&trial.Outcome{Exit: test.exit, Stderr: test.stderr}); got != test.want {
			t.Errorf("%+v %q: %q, want %q", test.exit, test.stderr, got, test.want)
		}
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	r := Row{ends: []unix.Signal{unix.SIGPIPE}}
	for _, test := range []struct {
		exit shim.Exit
		want bool
	}{
		{shim.Exit{Signal: unix.SIGPIPE}, true}, {shim.Exit{Code: 141}, true},
		{shim.Exit{Signal: unix.SIGSEGV}, false}, {shim.Exit{Code: 1}, false}, {shim.Exit{}, false},
	} {
		if got := r.ended(&trial.Outcome{Exit: test.exit}); got != test.want {
			t.Errorf("%+v: %v", test.exit, got)
		}
	}
}

// The same mistake has one name, wherever it is made.
func TestCalled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dir, path, want string }{
		{"/", "/result", "result in the working directory"},
		{"/", "/", "the working directory itself"},
		{elsewhere, elsewhere, "the working directory itself"},
		{"/", "/etc/passwd", "/etc/passwd"},
		{elsewhere, elsewhere + "/result", "result in the working directory"},
		{elsewhere, elsewhere + "/a/b", "a/b in the working directory"},
		{"{case}/link", elsewhere + "/result", "result in the working directory"},
		{"", elsewhere + "/log", "log in the folder that $PWD names"},
		{"", otherRepo + "/.git/index.lock", ".git/index.lock in the other repository"},
		{"", "/root/.cache", "/root/.cache"},
	} {
		r := Row{Start: trial.Start{Dir: test.dir}}
		if got := r.called(test.path); got != test.want {
			t.Errorf("%s from %q: %q, want %q", test.path, test.dir, got, test.want)
		}
	}
}

func TestSubfolder(t *testing.T) {
	t.Parallel()
	dir := tree.Entry{Kind: tree.Dir}
	base := tree.Snapshot{".git": dir, "b": dir, "a": {Kind: tree.File}, "b/a": dir, "c": dir}
	if got := subfolder(base); got != "b" {
		t.Errorf("got %q", got)
	}
	if got := subfolder(tree.Snapshot{".git": dir}); got != ".git" {
		t.Errorf("got %q", got)
	}
	if got := subfolder(tree.Snapshot{"a": {Kind: tree.File}}); got != "" {
		t.Errorf("got %q", got)
	}
}
