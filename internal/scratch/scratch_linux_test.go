package scratch

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSpace(t testing.TB) *Space {
	t.Helper()
	s, err := New()
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(s.Dir()); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", s.Dir(), err)
		}
	})
	return s
}

func frozen(t testing.TB, s *Space, dir string) *Base {
	t.Helper()
	b, err := s.NewBase(dir)
	must(t, err)
	must(t, b.Freeze())
	return b
}

func newCopy(t testing.TB, b *Base) *Copy {
	t.Helper()
	c, err := b.NewCopy()
	must(t, err)
	return c
}

// write makes a file with its directories.
func write(t testing.TB, path, contents string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(contents), 0o644))
}

const odd = "a b\n\xff\xfe'\""

// sample is a tree of everything that is hard to copy.
func sample(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "original")
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("plain"), "one\n")
	write(t, at("empty"), "")
	write(t, at("d/deep/er/file"), strings.Repeat("long ", 15000))
	write(t, at("d/other"), "two\n")
	write(t, at(odd+"/"+odd), "odd\n")
	must(t, os.Mkdir(at("void"), 0o750))
	must(t, os.Mkdir(at("shut"), 0o555))
	must(t, os.Link(at("plain"), at("d/hard")))
	must(t, os.Link(at("plain"), at("hard")))
	must(t, os.Symlink("d/deep", at("soft")))
	must(t, os.Symlink("loop", at("loop")))
	must(t, os.Symlink("/nowhere", at("d/dangling")))
	must(t, unix.Mkfifo(at("fifo"), 0o640))
	must(t, unix.Mknod(at("sock"), unix.S_IFSOCK|0o600, 0))
	write(t, at("tool"), "#!/bin/sh\n")
	must(t, os.Chmod(at("tool"), 0o755|fs.ModeSetuid))
	write(t, at("secret"), "hidden\n")
	must(t, os.Chmod(at("secret"), 0o400))
	backdate(t, dir)
	return dir
}

// backdate gives every entry a time of its own, long ago.
func backdate(t testing.TB, dir string) {
	t.Helper()
	sec := int64(1e9)
	must(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		sec++
		times := []unix.Timespec{{Sec: sec, Nsec: 5}, {Sec: sec, Nsec: 123456789}}
		return unix.UtimesNanoAt(unix.AT_FDCWD, p, times, unix.AT_SYMLINK_NOFOLLOW)
	}))
}

// failer is what testing and rapid have in common.
type failer interface {
	Helper()
	Fatal(...any)
}

// picture describes all of a tree, by means of the standard library alone: kind,
// mode, time, contents, and which names are one file. It is meant for an owner to
// whom everything is open.
func picture(t failer, dir string) map[string]string {
	t.Helper()
	out, names := make(map[string]string), make(map[uint64]string)
	must(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		text := fmt.Sprintf("%o %d:%d %d.%09d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if names[st.Ino] == "" {
				names[st.Ino] = rel
			}
			text += fmt.Sprintf(" links=%d as=%q ", st.Nlink, names[st.Ino])
			text += string(bytes.ReplaceAll(data, []byte(dir), []byte(placeholder)))
		case unix.S_IFLNK:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			text += " -> " + strings.ReplaceAll(target, dir, placeholder)
		}
		out[rel] = text
		return nil
	}))
	return out
}

func samePicture(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if want[p] != got[p] {
			t.Errorf("%s: %q\nis  %.200q\nnot %.200q", what, p, got[p], want[p])
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s: %q is too many: %.200q", what, p, got[p])
		}
	}
}

func TestCopyIsFaithful(t *testing.T) {
	dir := sample(t)
	before := picture(t, dir)
	b := frozen(t, newSpace(t), dir)
	c := newCopy(t, b)
	samePicture(t, "copy", before, picture(t, c.Tree()))
	samePicture(t, "original", before, picture(t, dir))
	inodes := make(map[uint64]bool)
	for _, d := range []string{dir, b.Dir()} {
		must(t, filepath.WalkDir(d, func(p string, _ fs.DirEntry, _ error) error {
			st, err := statAt(unix.AT_FDCWD, p)
			inodes[st.Ino] = true
			return err
		}))
	}
	must(t, filepath.WalkDir(c.Tree(), func(p string, _ fs.DirEntry, _ error) error {
		st, err := statAt(unix.AT_FDCWD, p)
		if inodes[st.Ino] {
			t.Errorf("%s shares its inode", p)
		}
		return err
	}))
}
