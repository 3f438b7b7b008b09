//go:build linux

package place

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"faultlab/internal/launch"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

func TestMain(m *testing.M) {
	launch.Main()
	os.Exit(shim.Main(m.Run))
}

// probes are shell conditions that hold in a start, and in no plain one.
var probes = map[string]string{
	"cwd=/":                "test $(readlink /proc/$$/cwd) = / && grep -qzx PWD=/ /proc/$$/environ",
	"cwd=elsewhere":        "readlink /proc/$$/cwd | grep -q '/case/elsewhere$'",
	"cwd=subfolder":        "test $(readlink /proc/$$/cwd) = $FAULTFS_TREE/sub",
	"cwd=link":             "test $(readlink /proc/$$/cwd) = $FAULTFS_TREE && grep -qz 'PWD=.*/case/link$' /proc/$$/environ",
	"cwd=link-physical":    "test $(readlink /proc/$$/cwd) = $FAULTFS_TREE && grep -qzx PWD=$FAULTFS_TREE /proc/$$/environ && test -L ${FAULTFS_TREE%/*}/case/link",
	"cwd=link-subfolder":   "test $(readlink /proc/$$/cwd) = $FAULTFS_TREE/sub && grep -qz 'PWD=.*/case/link$' /proc/$$/environ",
	"cwd=link-elsewhere":   "readlink /proc/$$/cwd | grep -q '/case/elsewhere$' && grep -qz 'PWD=.*/case/link$' /proc/$$/environ",
	"cwd=deleted":          "readlink /proc/$$/cwd | grep -q '/case/gone (deleted)$'",
	"cwd=vanishing":        "readlink /proc/$$/cwd | grep -q '/case/gone (deleted)$'",
	"cwd=unreadable":       "readlink /proc/$$/cwd | grep -q '/case/locked$' && ! ls . && ! echo x >x",
	"PWD=unset":            "! grep -qz ^PWD= /proc/$$/environ",
	"PWD=lying":            "test $(readlink /proc/$$/cwd) = $FAULTFS_TREE && grep -qz '^PWD=.*/case/elsewhere$' /proc/$$/environ",
	"PWD=relative":         "grep -qzx PWD=. /proc/$$/environ",
	"HOME=unset":           "! grep -qz ^HOME= /proc/$$/environ",
	"HOME=empty":           "grep -qzx HOME= /proc/$$/environ",
	"HOME=missing":         `test -n "$HOME" && ! test -e $HOME && test -d $(dirname $HOME)`,
	"HOME=file":            "test -f $HOME",
	"HOME=relative":        "test $HOME = home",
	"TMPDIR=missing":       "! test -e $TMPDIR && f=$(mktemp -p /tmp) && echo x >$f && mv $f $f.2",
	"TMPDIR=other-disk":    "test $(stat -Lc %d $TMPDIR) != $(stat -c %d $FAULTFS_TREE) && mktemp",
	"GIT_DIR=other":        "test -f $GIT_DIR/HEAD",
	"GIT_INDEX_FILE=other": "test -d ${GIT_INDEX_FILE%/index}/refs",
	"GIT_WORK_TREE=other":  "test -f $GIT_WORK_TREE/.git/config",
	"env=empty":            "test $(tr '\\0' '\\n' </proc/$$/environ | grep -vc ^FAULTFS_TREE=) = 0 && mktemp -d",
	"env=cron":             "grep -qzx PATH=/usr/bin:/bin /proc/$$/environ && ! grep -Eqz '^(TERM|LANG|TMPDIR)=' /proc/$$/environ",
	"program=link":         "case $0 in */case/sh) test -L $0;; *) false;; esac",
	"program=relative":     "case $0 in ../*/sh) test $0 -ef /bin/sh;; *) false;; esac",
	"closed=0":             "! test -e /proc/$$/fd/0 && test -e /proc/$$/fd/1 && test -e /proc/$$/fd/2",
	"closed=1":             "test -e /proc/$$/fd/0 && ! test -e /proc/$$/fd/1 && test -e /proc/$$/fd/2",
	"closed=0,1":           "! test -e /proc/$$/fd/0 && ! test -e /proc/$$/fd/1 && test -e /proc/$$/fd/2",
	"closed=2":             "test -e /proc/$$/fd/0 && test -e /proc/$$/fd/1 && ! test -e /proc/$$/fd/2",
	"closed=0,2":           "! test -e /proc/$$/fd/0 && test -e /proc/$$/fd/1 && ! test -e /proc/$$/fd/2",
	"closed=1,2":           "test -e /proc/$$/fd/0 && ! test -e /proc/$$/fd/1 && ! test -e /proc/$$/fd/2",
	"closed=0,1,2":         "! test -e /proc/$$/fd/0 && ! test -e /proc/$$/fd/1 && ! test -e /proc/$$/fd/2",
	"stdin=pipe":           "readlink /proc/$$/fd/0 | grep -q ^pipe: && test -z \"$(cat)\"",
	"stdout=/dev/full":     "test $(readlink /proc/$$/fd/1) = /dev/full && ! echo x",
	"stdout=pipe":          "! (trap '' PIPE; echo x)",
	"umask=000":            "test $(umask) = 0000",
	"umask=077":            "test $(umask) = 0077",
	"nofile=32":            "test $(ulimit -Hn) = 32",
	"fsize=4096":           "! head -c 5000 /dev/zero >$FAULTFS_TREE/zeros; test $(stat -c %s $FAULTFS_TREE/zeros) = 4096",
	"ignored=SIGPIPE":      "grep -q 'SigIgn:.*[13579bdf]...$' /proc/$$/status",
	"ignored=SIGHUP":       "grep -q 'SigIgn:.*[13579bdf]$' /proc/$$/status",
	"ignored=SIGINT":       "grep -q 'SigIgn:.*[2367abef]$' /proc/$$/status",
	"user=65534":           "test $(id -u) = 65534 && echo x >$FAULTFS_TREE/sub/x && test $(stat -c %u $FAULTFS_TREE/sub) = 65534",
}

// Every row is the start that it says, and the plain start is none of them.
func TestRows(t *testing.T) {
	t.Parallel()
	for _, row := range List() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			probe, ok := probes[row.Name]
			if !ok {
				t.Fatal("no probe")
			}
			r := newRunner(t, "{ "+probe+"; } && echo yes >$FAULTFS_TREE/yes")
			p := &Place{rows: rows(target{program: "/bin/sh", base: "sh", subfolder: "sub"})}
			run, err := r.Do(t.Context(), p.row(row.Name).made())
			if errors.Is(err, trial.ErrUnreached) && lacking(row.Name) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Subject.Outside) > 0 {
				t.Errorf("escapes: %v", run.Subject.Outside)
			}
			if _, yes := run.Tree["yes"]; !yes {
				t.Errorf("it is another start; %+v", run.Subject)
			}
			if inherited(row.Name) {
				return
			}
			if plain, err := r.Do(t.Context(), trial.Case{}); err != nil || plain.Tree["yes"].Size > 0 {
				t.Errorf("the plain start is the same; %+v, %v", plain.Subject, err)
			}
		})
	}
}

// inherited reports whether whoever started the test has done what a row does: nohup
// ignores SIGHUP, and a shell SIGINT of what runs behind it.
func inherited(row string) bool {
	return row == "ignored=SIGHUP" && signal.Ignored(syscall.SIGHUP) || row == "ignored=SIGINT" && signal.Ignored(syscall.SIGINT)
}

// lacking reports whether a row may be one that this machine, or this user,
// cannot have.
func lacking(row string) bool {
	return row == "TMPDIR=other-disk" || row == "user=65534" && os.Geteuid() != 0
}

func newRunner(t *testing.T, script string) *trial.Runner {
	t.Helper()
	r, err := trial.New(context.Background(), trial.Spec{
		Program: "/bin/sh", Args: []string{"sh", "-c", script}, Setup: "mkdir sub", Next: "true",
		Timeout: 10 * time.Second, Jobs: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
