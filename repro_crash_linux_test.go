package faultlab_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"faultlab"

	"github.com/rogpeppe/go-internal/testscript"
)

// crashed is a program that replaces a file without syncing it, between a link, a
// hard link, a shut folder and bytes that are no text.
const (
	crashedSetup = `mkdir -m 700 keys; printf '\001\000' > keys/bin; ln keys/bin also; ln -s state now; mkfifo pipe
printf old > state; echo 1 > secret; chmod 600 secret; echo x > 'an odd $name'; chmod 500 keys`
	unsynced = "echo new > t; mv -f t state; sync .\n"
	synced   = "echo new > t; sync t; mv -f t state; sync .\n"
	// inspect fails over an empty state, and says what else is not as it was laid.
	inspect = `cd "$FAULTFS_TREE"; fail() { echo $1; exit 1; }
test "$(stat -c %a keys secret also | tr '\n' ' ')" = '500 600 644 ' || fail modes
test $(stat -c %h also) = 2 -a $(readlink now) = state -a -p pipe || fail links
test "$(od -An -tx1 keys/bin)" = ' 01 00' -a "$(cat 'an odd $name')" = x || fail bytes
test -s state || fail empty
`
)

// TestReproCrash writes a script whose files are the state that breaks a program.
// It fails over the broken one, and passes where either the program or its recovery
// is mended.
func TestReproCrash(t *testing.T) {
	t.Parallel()
	needsFaultfs(t)
	dir := t.TempDir()
	put := func(name, text string) { write(t, filepath.Join(dir, name), text) }
	put("save", unsynced)
	put("check", inspect)
	put("recover", "true\n")
	out, status := crashIn(t, dir, "--repro", "found")
	found, _ := filepath.Glob(filepath.Join(dir, "found/*.txtar"))
	if status != 1 || len(found) != 1 {
		t.Fatalf("status %d, %d scripts\n%s", status, len(found), out)
	}
	holds := func(what string, want bool, text string) {
		t.Helper()
		for where, extend := range map[string]func(*testscript.Params){"faultlab": faultlab.Extend, "testscript": func(*testscript.Params) {}} {
			if log, ok := runScript(found[0], extend); ok != want || !strings.Contains(log, text) {
				t.Errorf("%s in %s: passed %v\n%s", what, where, ok, log)
			}
		}
	}
	holds("the broken program", false, "violated  the check fails: empty")
	put("save", synced)
	holds("the mended program", true, "the check fails: empty; whether a crash can leave it")
	put("save", unsynced)
	put("recover", "cd \"$FAULTFS_TREE\"; test -s state || echo new > state\n")
	holds("the mended recovery", true, "no finding in 1 experiment")
	put("save", "true\n")
	put("recover", "true\n")
	holds("a program that does nothing", false, "changes nothing that a crash could cut short")
}

// crashIn runs an experiment over the program in dir.
func crashIn(t *testing.T, dir string, flags ...string) (string, int) {
	t.Helper()
	args := append([]string{"crash", "--setup", crashedSetup, "--next", "sh " + filepath.Join(dir, "recover"),
		"--check", "sh " + filepath.Join(dir, "check"), "--timeout", "60s"}, flags...)
	cmd := exec.Command("faultfs", append(args, "--", "sh", "save")...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(cmd.Env[len(cmd.Env)-1][len("TMPDIR="):], "faultfs-*")); len(left) > 0 {
		t.Errorf("it leaves %q behind", left)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
