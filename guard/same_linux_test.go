package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestHardLinks(t *testing.T) {
	w := newWorld(t, plain)
	w.must(os.Link(w.path("w/repo/data/x"), w.path("w/out/hard")))
	w.must(os.Link(w.path("w/out/x"), w.path("w/out/harmless")))
	answers := w.ask(start{}, "$W/w/out/hard", "$W/w/out/harmless")
	w.want("inside", "also in the repository", answers[0])
	if !strings.Contains(answers[0], w.path("w/repo/data/x")) {
		t.Errorf("%q does not say under which name", answers[0])
	}
	w.want("outside", "two names, both outside", answers[1])
	w.must(os.Chmod(w.path("w/repo/data"), 0))
	defer os.Chmod(w.path("w/repo/data"), 0o755)
	w.want("undecided", "cannot be looked for", w.ask(start{with: nobody}, "$W/w/out/hard")[0])

	root, err := Find(Options{Root: w.path("w/repo"), MaxFiles: 3})
	w.must(err)
	if err := root.Outside(w.path("w/out/harmless")); err == nil || !strings.Contains(err.Error(), "more than 3 files") {
		t.Errorf("over the bound: %v", err)
	}
}

func TestUnreadableAbove(t *testing.T) {
	w := newWorld(t, plain)
	w.mkdir("w/out/shut/in")
	w.must(os.Chmod(w.path("w/out/shut"), 0))
	defer os.Chmod(w.path("w/out/shut"), 0o755)
	answers := w.ask(start{with: nobody}, "$W/w/out/shut/in", "$W/w/out/shut")
	w.want("undecided", "below a directory that cannot be searched", answers[0])
	w.want("outside", "that directory itself", answers[1])
}

// Links of /proc lead to things, not to the names that they say.
func TestLinksOfProc(t *testing.T) {
	w := newWorld(t, plain)
	f, err := os.Create(w.path("w/out/deleted"))
	w.must(err)
	defer f.Close()
	w.must(os.Remove(f.Name()))
	in, err := os.Open(w.path("w/repo/data/x"))
	w.must(err)
	defer in.Close()
	answers := w.ask(start{dir: "$W/w/repo/data", with: func(c *exec.Cmd) { c.ExtraFiles = []*os.File{f, in} }},
		"/proc/self/cwd/x", "/proc/self/root$W/w/repo/data/x", "/proc/self/root$W/w/out/x", "/proc/self/fd/3", "/proc/self/fd/4")
	for i, kind := range []string{"inside", "inside", "outside", "undecided", "inside"} {
		w.want(kind, "link of /proc", answers[i])
	}
}

// mounted starts the program in a mount namespace of its own, after the
// commands of the shell.
func (w *world) mounted(script string, paths ...string) []string {
	w.t.Helper()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		if os.Getenv("FAULTLAB_REQUIRE") != "" {
			w.t.Fatal("this machine lets no ordinary user make a mount namespace")
		}
		w.t.Skip("this machine lets no ordinary user make a mount namespace")
	}
	args := []string{"-rm", "sh", "-ec", "cd \"$W\"; " + script + `; cd /; exec "$0" "$@"`, w.exe}
	for _, p := range paths {
		args = append(args, w.subst(p))
	}
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "W="+w.dir)
	return w.answers(cmd)
}

func TestBindMounts(t *testing.T) {
	for _, r := range []struct{ what, script, path, kind string }{
		{"of the root", "mount --bind w/repo else", "$W/else/data/x", "inside"},
		{"of the root, itself", "mount --bind w/repo else", "$W/else", "inside"},
		{"of a directory above", "mount --bind w else", "$W/else/repo/data/x", "inside"},
		{"of a directory above, beside", "mount --bind w else", "$W/else/out/x", "outside"},
		{"of a directory within", "mount --bind w/repo/data else", "$W/else/x", "inside"},
		{"of a directory within, not yet", "mount --bind w/repo/data else", "$W/else/not/yet", "inside"},
		{"of a file within", "touch else/f; mount --bind w/repo/data/x else/f", "$W/else/f", "inside"},
		{"of a sibling with the same prefix", "mount --bind w/repo-old else", "$W/else/x", "outside"},
		{"into the repository", "mount --bind w/out w/repo/data", "$W/w/out/x", "inside"},
		{"into the repository, not that", "mount --bind w/out/deep w/repo/data", "$W/w/out/x", "outside"},
		{"into the repository, around it", "mount --bind w/out/deep w/repo/data", "$W/w/out", "inside"},
		{"another file system in the repository", "mount -t tmpfs none w/repo/data; touch w/repo/data/y", "$W/w/repo/data/y", "inside"},
		{"another file system outside", "mount -t tmpfs none else; touch else/y", "$W/else/y", "outside"},
		{"of that one within, elsewhere", "mount -t tmpfs none w/repo/data; mkdir w/repo/data/d; mount --bind w/repo/data/d else", "$W/else/not-yet", "inside"},
		{"with a blank in its name", "mkdir 'a b'; mount --bind w/repo/data 'a b'", "$W/a b/x", "inside"},
		{"over itself", "mount --bind w/repo w/repo", "$W/w/out/x", "outside"},
		{"over itself, in", "mount --bind w/repo w/repo", "$W/w/repo/data/x", "inside"},
		{"no table of mounts", "mount -t tmpfs none /proc", "$W/w/out/x", "noroot"},
	} {
		t.Run(r.what, func(t *testing.T) {
			w := newWorld(t, plain)
			w.want(r.kind, r.path, w.mounted(r.script, r.path)[0])
		})
	}
}

func TestChroot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to chroot")
	}
	w := newWorld(t, plain)
	// No /proc there: nothing is known of the program.
	cmd := exec.Command("/w/repo/bin/probe", "/w/out/x")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: w.dir}
	cmd.Dir, cmd.Path = "/", "/w/repo/bin/probe"
	w.want("noroot", "in a chroot without /proc", w.answers(cmd)[0])
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`a\040b`: "a b", `a\134040b`: `a\040b`, `\011\012\043`: "\t\n#", "plain": "plain"} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestZeroRoot(t *testing.T) {
	if err := (Root{}).Outside("/nowhere"); err == nil {
		t.Error("the zero root has something outside")
	}
	if _, err := walk("a\x00b"); err == nil {
		t.Error("a path with a zero byte was walked")
	}
	w := newWorld(t, plain)
	root, err := Find(Options{Root: w.path("w/repo")})
	w.must(err)
	w.must(os.Rename(w.path("w/repo"), w.path("w/moved")))
	if err := root.Outside(w.path("w/out")); err == nil {
		t.Error("the repository was moved and something is outside")
	}
	w.mkdir("w/repo")
	if err := root.Outside(w.path("w/out")); err == nil {
		t.Error("another directory is there and something is outside")
	}
	if filepath.IsAbs(root.Path) == false {
		t.Error(root.Path)
	}
}

// By identity, whatever the spelling of either side.
func TestAnyAbove(t *testing.T) {
	w := newWorld(t, plain)
	w.links()
	root, err := os.Stat(w.path("into")) // w/repo under another name
	w.must(err)
	for path, want := range map[string]bool{"w/repo/data/deep": true, "w/repo": true, "w": false, "w/repo-old": false, "else/repo": false} {
		if got, err := anyAbove(w.path(path), root); got != want || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if _, err := anyAbove(w.path("gone"), root); err == nil {
		t.Error("nothing is above what does not exist")
	}
}
