package faultlab_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const nobody = 65534

// unprivileged are the scripts that are run twice where time is short: those
// over a mechanism for which the kernel might want a privilege.
const unprivileged = "^(fault_(kinds_data|short|kill|hold|signal|forward|supervisor|git)|sweep_shut)$"

// TestScriptsAsOrdinaryUser runs scripts once more where the tests run as root:
// what needs no privilege must be shown to need none. With FAULTLAB_FULL=1 it
// runs them all, as do tests that an ordinary user starts. The test binary and
// the programs are copied, because neither the directory in which "go test"
// works nor the checkout need be open to others.
func TestScriptsAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("these tests run as an ordinary user already")
	}
	t.Parallel()
	dir := ownedByNobody(t)
	run := "^TestScripts$"
	if os.Getenv("FAULTLAB_FULL") != "1" {
		run += "/" + unprivileged
	}
	cmd := exec.Command(filepath.Join(dir, "lab.test"), "-test.run="+run, "-test.count=1", "-test.timeout="+left(t).String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+filepath.Join(dir, "tmp"),
		"GOCOVERDIR="+filepath.Join(dir, "cover"), "FAULTLAB_BIN="+filepath.Join(dir, "bin"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	}
}

// left is how long the scripts may take, less what it takes to say so.
func left(t *testing.T) time.Duration {
	deadline, ok := t.Deadline()
	if !ok {
		return 10 * time.Minute
	}
	return time.Until(deadline) * 19 / 20
}

// ownedByNobody holds copies of all that the scripts need.
func ownedByNobody(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "faultlab-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"tmp", "cover"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	faultfs, err := exec.LookPath("faultfs")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		filepath.Dir(faultfs): "bin", "testdata/script": "testdata/script", self: "lab.test",
	} {
		to = filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
			t.Fatalf("copy %s: %v\n%s", from, err, out)
		}
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSignalsHeard: a program of a script gets its signals also where the tests
// were started by a shell that ignores them, as one does in the background.
func TestSignalsHeard(t *testing.T) {
	t.Parallel()
	if os.Getenv("FAULTLAB_AGAIN") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", `trap "" INT QUIT HUP; exec "$0" -test.run='^TestSignalsHeard$'`, self)
		cmd.Env = append(os.Environ(), "FAULTLAB_AGAIN=1", "FAULTLAB_BIN="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		cmd := exec.Command("sh", "-c", fmt.Sprintf("kill -%d $$", sig))
		_ = cmd.Run()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != sig {
			t.Errorf("a program that sends itself %v: %v", sig, cmd.ProcessState)
		}
	}
}
