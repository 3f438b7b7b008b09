package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const limit = 20 * time.Second

// The probes, built once: plain, and as a release is built.
var plain, trimmed string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		panic(err)
	}
	os.Chmod(dir, 0o755) // for starts as another user
	plain, trimmed = filepath.Join(dir, "probe"), filepath.Join(dir, "trimmed")
	err = errors.Join(build(plain), build(trimmed, "-trimpath", "-ldflags", "-s -w"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(to string, flags ...string) error {
	args := append([]string{"build", "-o", to}, append(flags, "./testdata/probe")...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s%w", out, err)
	}
	return nil
}

// world is a scratch directory, free of links, with a repository w/repo in it,
// a program in that, and neighbours.
type world struct {
	t   *testing.T
	dir string
	exe string // w/repo/bin/probe
}

func newWorld(t *testing.T, probe string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for d := dir; d != "/" && strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		os.Chmod(d, 0o755) // for starts as another user
	}
	w := &world{t, dir, filepath.Join(dir, "w/repo/bin/probe")}
	w.mkdir("w/repo/.git", "w/repo/bin", "w/repo/data/deep", "w/repo-old", "w/out/deep", "else/repo")
	w.file("w/repo/data/x", "w/out/x", "w/repo-old/x", "w/repo/.git/HEAD")
	w.copy(probe, w.exe)
	return w
}

func (w *world) path(p string) string { return filepath.Join(w.dir, p) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) mkdir(paths ...string) {
	for _, p := range paths {
		w.must(os.MkdirAll(w.path(p), 0o755))
	}
}

func (w *world) file(paths ...string) {
	for _, p := range paths {
		w.must(os.WriteFile(w.path(p), []byte(p), 0o644))
	}
}

func (w *world) link(target, at string) { w.must(os.Symlink(target, w.path(at))) }

func (w *world) copy(from, to string) {
	b, err := os.ReadFile(from)
	w.must(err)
	w.must(os.WriteFile(to, b, 0o755))
}

// start is how a probe is started; "$W" in it is the world.
type start struct {
	exe  string // default: the program in the repository
	dir  string // default: "/"
	env  []string
	with func(*exec.Cmd)
}

// ask starts the program and gives the answers, one for each path.
func (w *world) ask(s start, paths ...string) []string {
	w.t.Helper()
	exe := w.exe
	if s.exe != "" {
		exe = w.subst(s.exe)
	}
	cmd := exec.Command(exe)
	for _, p := range paths {
		cmd.Args = append(cmd.Args, w.subst(p))
	}
	cmd.Dir = "/"
	if s.dir != "" {
		cmd.Dir = w.subst(s.dir)
	}
	cmd.Env = []string{} // as bare as cron's, and with no PWD that exec would set
	for _, e := range s.env {
		cmd.Env = append(cmd.Env, w.subst(e))
	}
	if s.with != nil {
		s.with(cmd)
	}
	return w.answers(cmd)
}

func (w *world) subst(s string) string { return strings.ReplaceAll(s, "$W", w.dir) }

func (w *world) answers(cmd *exec.Cmd) []string {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out), &errs
	w.must(cmd.Start())
	stop := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("%v: %v, %s", cmd.Args, err, &errs)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// want checks one answer: its kind, and that its message is useful.
func (w *world) want(kind, path, answer string) {
	w.t.Helper()
	got, text, _ := strings.Cut(answer, "\t")
	if got != kind {
		w.t.Errorf("%s: %s, want %s: %s", path, got, kind, text)
	}
	if got != "outside" && strings.Count(text, ": ") < 2 {
		w.t.Errorf("%s: no cure in %q", path, text)
	}
}

// nobody starts a program as a user who may not read everything.
func nobody(cmd *exec.Cmd) {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
