//go:build unix

package fence

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

// A file that is not a grantor's state or a store: one line that names it and
// says what to do, and the file as it was.
func TestBadFiles(t *testing.T) {
	bytesAt := func(b []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows := []struct {
		what string
		make func(t *testing.T, path string)
		say  string
	}{
		{"directory", func(t *testing.T, p string) { os.Mkdir(p, 0o700) }, "a directory"},
		{"fifo", func(t *testing.T, p string) { syscall.Mkfifo(p, 0o600) }, "a pipe"},
		{"link to a device", func(t *testing.T, p string) { os.Symlink("/dev/null", p) }, "a device"},
		{"empty", bytesAt(nil), "is empty"},
		{"one byte", bytesAt([]byte("x")), "is not a bbolt file"},
		{"text", bytesAt(make([]byte, 70000)), "is not a bbolt file"},
		{"dangling link", func(t *testing.T, p string) { os.Symlink("nowhere", p) }, "a link to a file that does not exist"},
		{"link to itself", func(t *testing.T, p string) { os.Symlink(filepath.Base(p), p) }, "open"},
		{"another program's bbolt", func(t *testing.T, p string) {
			db := must[*bbolt.DB](t)(bbolt.Open(p, 0o600, nil))
			db.Close()
		}, "of another program"},
	}
	for _, r := range rows {
		t.Run(r.what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			r.make(t, path)
			before := content(path)
			named, _ := filepath.EvalSymlinks(path)
			named = cmp.Or(named, path)
			_, err := OpenGrantor(path, VirtualClock())
			wantError[error](t, err, named, r.say)
			err = Store{Path: path}.Put("k", tok(1), nil)
			wantError[error](t, err, named, r.say)
			_, err = Store{Path: path}.Get("k")
			wantError[error](t, err, named, r.say)
			if after := content(path); after != before {
				t.Error("the file was changed")
			}
		})
	}
}

// content of a regular file.
func content(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, _ := os.ReadFile(path)
	return string(b)
}

func TestKindsAreNotMixed(t *testing.T) {
	dir := t.TempDir()
	s := Store{Path: filepath.Join(dir, "s.db")}
	s.Put("k", tok(1), nil)
	_, err := OpenGrantor(s.Path, VirtualClock())
	wantError[*FileError](t, err, "fenced values v1", "leases v1")
	g := openTest(t, filepath.Join(dir, "l.db"), VirtualClock())
	g.Close()
	wantError[*FileError](t, Store{Path: filepath.Join(dir, "l.db")}.Put("k", tok(1), nil), "leases v1")
}

// A file cut at any length is an error or whole: no fault, no panic, and no
// mark but the one that was written.
func TestCutOff(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	for n := range uint64(6) {
		if err := s.Put("k", tok(n+1), make([]byte, 9000)); err != nil {
			t.Fatal(err)
		}
	}
	whole := content(s.Path)
	for size := 0; size < len(whole); size += 512 {
		path := filepath.Join(t.TempDir(), "cut.db")
		os.WriteFile(path, []byte(whole[:size]), 0o600)
		cut := Store{Path: path}
		v, err := cut.Get("k")
		perr := cut.Put("k", tok(1), nil)
		if err == nil && v.Token == tok(6) {
			wantError[*StaleError](t, perr)
			continue
		}
		wantError[*FileError](t, err, path)
		wantError[*FileError](t, perr, path)
	}
}

// Any page damaged: never a panic, never a lower mark.
func TestDamaged(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	for n := range uint64(6) {
		if err := s.Put("k", tok(n+1), make([]byte, 9000)); err != nil {
			t.Fatal(err)
		}
	}
	whole := content(s.Path)
	for page := 2 * 4096; page < len(whole); page += 4096 {
		b := []byte(whole)
		copy(b[page:], "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4\xf3\xf2\xf1\xf0\xff\xff\xff\xff\xff\xff\xff\xff")
		path := filepath.Join(t.TempDir(), "damaged.db")
		os.WriteFile(path, b, 0o600)
		d := Store{Path: path}
		if v, err := d.Get("k"); err == nil && v.Token != tok(6) {
			t.Errorf("page at %d: mark %v", page, v.Token)
		}
		err := d.Put("k", tok(1), nil)
		var locked *LockedError
		if err == nil || errors.As(err, &locked) { // locked: by the map that a panic left
			t.Errorf("page at %d: a stale write: %v", page, err)
		}
	}
}

func TestNoDirectoryAndNoPermission(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "no", "s.db")
	wantError[error](t, Store{Path: path}.Put("k", tok(1), nil), path, "make its directory first")
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	wantError[error](t, Store{Path: filepath.Join(dir, "s.db")}.Put("k", tok(1), nil), "permission denied", "writable for this user")
}

// A crash in the middle of a creation leaves the name beside with anything in
// it; the next creator uses it and leaves nothing.
func TestHalfMadeFileIsTakenOver(t *testing.T) {
	for _, half := range []string{"", "half", string(make([]byte, 16384)), string(make([]byte, 99999))} {
		dir := t.TempDir()
		s := Store{Path: filepath.Join(dir, "s.db")}
		os.WriteFile(filepath.Join(dir, ".s.db.creating"), []byte(half), 0o600)
		if err := s.Put("k", tok(1), nil); err != nil {
			t.Errorf("%d bytes: %v", len(half), err)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 {
			t.Errorf("%d bytes: the directory holds %v", len(half), names)
		}
	}
}

// A lock on a file that has lost its name keeps nobody out: R08.
func TestLockOfALostName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beside")
	first := must[*os.File](t)(lockBeside(path, 0))
	late := must[*os.File](t)(os.OpenFile(path, os.O_RDWR, 0))
	defer late.Close()
	if err := lockNamed(late, path); err == nil || errors.Is(err, errAgain) {
		t.Errorf("locked twice: %v", err)
	}
	os.Rename(path, path+".new")
	first.Close()
	if err := lockNamed(late, path); !errors.Is(err, errAgain) {
		t.Errorf("the name is gone: %v", err)
	}
	must[*os.File](t)(os.Create(path)).Close()
	if err := lockNamed(late, path); !errors.Is(err, errAgain) {
		t.Errorf("the name is another file's: %v", err)
	}
}
