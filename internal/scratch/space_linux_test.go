package scratch

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// leave makes what an owner that died would: a space whose lock nobody holds.
func leave(t *testing.T) *Space {
	t.Helper()
	s, err := New()
	must(t, err)
	must(t, s.lock.Close())
	return s
}

func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	foreign := filepath.Join(os.Getenv("TMPDIR"), "faultfs-0123456789ab") // named like one, but not ours
	write(t, filepath.Join(foreign, "notes"), "")
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, filepath.Join(victim, "file"), "")
	live := newSpace(t)
	newCopy(t, frozen(t, live, ""))

	stale := leave(t)
	write(t, filepath.Join(stale.Dir(), "0000/tree/d/file"), "")
	must(t, os.Symlink(victim, filepath.Join(stale.Dir(), "0000/tree/d/link")))
	must(t, os.Chmod(filepath.Join(stale.Dir(), "0000/tree/d"), 0))
	interrupted := filepath.Join(os.Getenv("TMPDIR"), "faultfs-aaaaaaaaaaaa")
	must(t, os.Mkdir(interrupted, 0o700))

	newSpace(t)
	for _, dir := range []string{stale.Dir(), interrupted} {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	for _, p := range []string{live.Dir(), filepath.Join(live.Dir(), "0001/tree"), filepath.Join(foreign, "notes"), filepath.Join(victim, "file")} {
		if _, err := os.Lstat(p); err != nil {
			t.Error(err)
		}
	}
}

func TestSpaceIsPrivate(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(real, link))
	t.Setenv("TMPDIR", link)
	s := newSpace(t)
	st, err := os.Lstat(s.Dir())
	must(t, err)
	if st.Mode().Perm() != 0o700 {
		t.Errorf("mode is %v", st.Mode())
	}
	if filepath.Dir(s.Dir()) != real {
		t.Errorf("%s is not in %s", s.Dir(), real)
	}
	must(t, s.Close())
	if _, err := s.NewBase(""); err == nil {
		t.Error("a closed space makes a base")
	}
}

// A subject may leave anything, and Close must get through it and touch nothing
// else.
func TestClose(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, filepath.Join(victim, "file"), "kept")
	s, err := New()
	must(t, err)
	c := newCopy(t, frozen(t, s, ""))
	at := func(p string) string { return filepath.Join(c.Tree(), p) }
	write(t, at("a/b/c/file"), "")
	must(t, os.Symlink(victim, at("a/b/c/link")))
	must(t, os.Link(filepath.Join(victim, "file"), at("a/b/hard")))
	for _, dir := range []string{"a/b/c", "a/b", "a", "."} {
		must(t, os.Chmod(at(dir), 0))
	}
	must(t, s.Close())
	if _, err := os.Lstat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", s.Dir(), err)
	}
	st, err := statAt(unix.AT_FDCWD, filepath.Join(victim, "file"))
	must(t, err)
	if st.Size != 4 || st.Mode&0o777 != 0o644 {
		t.Errorf("the file that a link named: size %d, mode %o", st.Size, st.Mode)
	}
	must(t, s.Close())
}
