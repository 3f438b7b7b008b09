//go:build linux

package shim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/record"
	"faultlab/internal/shim"
)

// recorded runs a shell command in a fresh tree and returns what was recorded.
func recorded(t *testing.T, prepare, script string) *record.Record {
	t.Helper()
	base := t.TempDir()
	dir, tmp := filepath.Join(base, "tree"), filepath.Join(base, "tmp")
	for _, d := range []string{dir, tmp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if prepare != "" {
		c := exec.Command("sh", "-ec", prepare)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("prepare: %v\n%s", err, out)
		}
	}
	out, err := os.OpenFile(filepath.Join(base, "stdout"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	rec := new(record.Record)
	run, err := shim.Start(shim.Command{
		Path: "/bin/sh", Args: []string{"sh", "-ec", script}, Dir: dir,
		Env:   append(os.Environ(), "TMPDIR="+tmp),
		Stdin: null, Stdout: out, Stderr: os.Stderr,
	}, shim.Config{
		Tree: dir, Actor: 'A', Calls: slices.Concat(op.TreeCalls(), shim.RecordCalls()),
		OpenWrites: true, Outside: true, Recording: &shim.Recording{Record: rec, Tmp: tmp},
	})
	if err != nil {
		skipOrFail(t, err)
	}
	exit, err := run.Wait(shim.Limits{Timeout: 20 * time.Second, Grace: time.Second})
	if err != nil || exit.Status() != 0 {
		t.Fatalf("exit %v, %v", exit, err)
	}
	if rec.Void != "" {
		t.Fatal(rec.Void)
	}
	return rec
}

func skipOrFail(t *testing.T, err error) {
	t.Helper()
	if shim.IsVoid(err) && os.Getenv("FAULTLAB_REQUIRE") == "" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// brief prints events for a table.
func brief(rec *record.Record) string {
	var lines []string
	for _, e := range rec.Events {
		s := e.Op.Kind.String() + " " + e.Op.Path
		switch e.Kind {
		case record.Entry:
			for _, set := range e.Sets {
				s += fmt.Sprintf(" %d/%s=%d", set.Dir, set.Name, set.To)
			}
			if e.Replaces != 0 {
				s += fmt.Sprintf(" replaces %d", e.Replaces)
			}
		case record.Write:
			s += fmt.Sprintf(" %d@%d+%d", e.ID, e.Off, e.Len())
		case record.Size:
			s += fmt.Sprintf(" %d size %d", e.ID, e.Size)
		case record.Attr:
			s += fmt.Sprintf(" %d mode %o", e.ID, e.Mode&0o7777)
		case record.Sync:
			s += fmt.Sprintf(" %d data=%t", e.ID, e.DataOnly)
		case record.Say:
			s = fmt.Sprintf("say %q", e.Data)
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n")
}

func TestRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, prepare, script, want string }{
		{"create, append, say", "", `umask 027; echo one >f; echo two >>f; echo done; chmod 600 f`, `
create f 1/f=3
write f 3@0+4
write f 3@4+4
say "done\n"
attr f 3 mode 600`},
		{"rename over", "echo old >a", `echo new >b; mv -f b a; rm a`, `
create b 1/b=4
write b 4@0+4
rename b 1/b=0 1/a=4 replaces 3
unlink a 1/a=0`},
		{"truncate and links", "echo old >a", `ln a b; ln -s a c; : >a; mkdir d; rmdir d`, `
link a 1/b=3
link c 1/c=4
truncate a 3 size 0
mkdir d 1/d=5
rmdir d 1/d=0`},
		{"through links and descriptors", "mkdir d; ln -s d e; ln -s d/new n", `
exec 5>n; echo x >&5; (echo y) >&5; echo z >/proc/self/fd/5; cd e; echo q >../e/p`, `
create d/new 3/new=6
write d/new 6@0+2
write d/new 6@2+2
truncate d/new 6 size 0
write d/new 6@0+2
create d/p 3/p=7
write d/p 7@0+2`},
		{"stdout reopened", "", `echo a; echo b >/dev/stdout; echo c >>/dev/stdout`, `
say "a\n"
say "b\n"
say "c\n"`},
		{"moved from the directory for temporary files", "", `echo x >$TMPDIR/t; mv $TMPDIR/t here`, `
create /tmp/t 2/t=3
write /tmp/t 3@0+2
rename here 2/t=0 1/here=3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec := recorded(t, c.prepare, c.script)
			got := strings.ReplaceAll(brief(rec), filepath.Dir(rec.Dir), "")
			if got != strings.TrimSpace(c.want) {
				t.Errorf("got\n%s\nwant%s", got, c.want)
			}
		})
	}
}
