package scratch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

func TestNewBaseRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	around := t.TempDir()
	t.Setenv("TMPDIR", around)
	s := newSpace(t)
	for _, test := range []struct{ name, dir, want string }{
		{"missing", filepath.Join(dir, "none"), "no such directory: make it"},
		{"file", filepath.Join(dir, "file"), "not a directory"},
		{"around the space", around, "set TMPDIR to a directory outside"},
		{"the space", s.Dir(), "set TMPDIR to a directory outside"},
	} {
		_, err := s.NewBase(test.dir)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.dir) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if err := s.checkFree("x", 1<<62); err == nil || !strings.Contains(err.Error(), "set TMPDIR to a larger disk") {
		t.Errorf("too large: %v", err)
	}
	if left, _ := os.ReadDir(s.Dir()); len(left) != 1 {
		t.Errorf("refused bases left %v", left)
	}
}

func TestNewBaseUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	for _, name := range []string{"file", "dir"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "dir/x"), "")
		write(t, filepath.Join(dir, "file"), "")
		must(t, os.Chmod(filepath.Join(dir, name), 0))
		_, err := newSpace(t).NewBase(dir)
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) || !strings.Contains(err.Error(), "make it readable") {
			t.Errorf("%s: %v", name, err)
		}
		must(t, os.Chmod(filepath.Join(dir, name), 0o700))
	}
}

// What a setup has shut is copied all the same.
func TestSetupMayShut(t *testing.T) {
	b, err := newSpace(t).NewBase("")
	must(t, err)
	write(t, filepath.Join(b.Dir(), "d/e/file"), "x")
	must(t, os.Link(filepath.Join(b.Dir(), "d/e/file"), filepath.Join(b.Dir(), "z")))
	for _, p := range []string{"d/e/file", "d/e", "d", "."} {
		must(t, os.Chmod(filepath.Join(b.Dir(), p), 0))
	}
	must(t, b.Freeze())
	c := newCopy(t, b)
	for range 2 {
		for _, p := range []string{".", "d", "d/e"} {
			st, err := os.Lstat(filepath.Join(c.Tree(), p))
			must(t, err)
			if st.Mode().Perm() != 0 {
				t.Errorf("%s has mode %v", p, st.Mode())
			}
			must(t, os.Chmod(filepath.Join(c.Tree(), p), 0o700)) // to look further
		}
		c.Touch("d")
		c.Touch("z")
		d, err := c.Delta()
		must(t, err)
		if got := d.Paths(); len(got) != 2 || got[0] != "d" || got[1] != "d/e" {
			t.Errorf("changed: %v", got)
		}
		c.Touch(".")
		must(t, c.Reset())
	}
}

// What a setup writes down of where it is leads each copy to itself, and reads as
// equal, however long the file and wherever the path stands in it.
func TestOwnPath(t *testing.T) {
	b, err := newSpace(t).NewBase("")
	must(t, err)
	at := func(name string) string { return filepath.Join(b.Dir(), name) }
	fill := bytes.Repeat([]byte("x"), 64<<10-7) // the path stands across the end of a buffer
	write(t, at("long"), string(fill)+b.Dir()+"/end")
	write(t, at("binary"), "\x00"+b.Dir()+b.Dir()+"\x00")
	write(t, at("partly"), b.Dir()[:len(b.Dir())-2])
	must(t, os.Symlink(at("long"), at("link")))
	must(t, b.Freeze())
	one, two := newCopy(t, b), newCopy(t, b)
	for _, c := range []*Copy{one, two} {
		data, err := os.ReadFile(filepath.Join(c.Tree(), "link"))
		must(t, err)
		if want := string(fill) + c.Tree() + "/end"; string(data) != want {
			t.Errorf("reads %.300q", data[len(fill):])
		}
		if d := fullDelta(t, c); len(d) > 0 {
			t.Errorf("a fresh copy differs: %v", d)
		}
	}
	if e := b.Snapshot()["link"]; e.Head != "{tree}/long" || e.Kind != tree.Link {
		t.Errorf("link is %+v", e)
	}
	if e := b.Snapshot()["binary"]; e.Head != "\x00{tree}{tree}\x00" || e.Size != int64(2+2*len(b.Dir())) {
		t.Errorf("binary is %+v", e)
	}
	must(t, os.WriteFile(filepath.Join(one.Tree(), "new"), []byte(one.Tree()), 0o600))
	must(t, os.WriteFile(filepath.Join(two.Tree(), "new"), []byte(two.Tree()), 0o600))
	one.Touch("new")
	two.Touch("new")
	x, err := one.Delta()
	must(t, err)
	y, err := two.Delta()
	must(t, err)
	if x["new"] != y["new"] || x["new"].Head != placeholder {
		t.Errorf("%+v is not %+v", x, y)
	}
}

func TestGrown(t *testing.T) {
	b, err := newSpace(t).NewBase("")
	must(t, err)
	old := map[string]string{
		"log": "one\n", "long": strings.Repeat("y", 200<<10), "empty": "", "other": "one\n",
		"same": "one\n", "path": "at " + b.Dir(), "half": b.space.Dir() + "/000",
	}
	for name, text := range old {
		write(t, filepath.Join(b.Dir(), name), text)
	}
	must(t, b.Freeze())
	c := newCopy(t, b)
	for name, more := range map[string]string{"log": "two\n", "long": "z", "empty": "x", "path": "/x", "half": "x", "other": "", "same": "", "new": "x"} {
		p := filepath.Join(c.Tree(), name)
		data, _ := os.ReadFile(p)
		if name == "half" { // what stood there now reads on as the copy's own path
			more = strings.TrimPrefix(c.Tree(), string(data))
		}
		if name == "other" {
			data, more = []byte("ONE\n"), "two\n"
		}
		must(t, os.WriteFile(p, append(data, more...), 0o644))
		c.Touch(name)
	}
	d, err := c.Delta()
	must(t, err)
	for name, want := range map[string]bool{"log": true, "long": true, "empty": false, "path": true, "half": true, "other": false, "new": false} {
		if d[name].Grown != want {
			t.Errorf("%s: grown %v: %v", name, d[name].Grown, d[name])
		}
	}
	if _, ok := d["same"]; ok {
		t.Error("same has changed")
	}
}

func TestHolesAndAttributes(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	f, err := os.Create(sparse)
	must(t, err)
	_, err = f.WriteAt([]byte("data"), 8<<20)
	must(t, err)
	must(t, f.Truncate(64<<20))
	must(t, f.Close())
	attrs := unix.Setxattr(sparse, "user.note", []byte("yes"), 0) == nil
	must(t, os.Chmod(sparse, 0o400))
	c := newCopy(t, frozen(t, newSpace(t), dir))
	check := func() {
		t.Helper()
		copied := filepath.Join(c.Tree(), "sparse")
		st, err := statAt(unix.AT_FDCWD, copied)
		must(t, err)
		if st.Size != 64<<20 || st.Blocks*512 > 1<<20 {
			t.Errorf("size %d, %d bytes on disk", st.Size, st.Blocks*512)
		}
		value := make([]byte, 10)
		n, _ := unix.Getxattr(copied, "user.note", value)
		if attrs && string(value[:max(n, 0)]) != "yes" {
			t.Errorf("attribute is %q", value[:max(n, 0)])
		}
		if d := fullDelta(t, c); len(d) > 0 {
			t.Errorf("differs: %v", d)
		}
	}
	check()
	if attrs {
		copied := filepath.Join(c.Tree(), "sparse")
		must(t, os.Chmod(copied, 0o600))
		must(t, unix.Setxattr(copied, "user.note", []byte("no"), 0))
		must(t, os.Chmod(copied, 0o400))
		c.Touch("sparse")
		must(t, c.Reset())
		check()
	}
}

func TestCopiesAtOnce(t *testing.T) {
	dir := sample(t)
	b := frozen(t, newSpace(t), dir)
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			c, err := b.NewCopy()
			if err != nil {
				t.Error(err)
				return
			}
			for _, ch := range changes[:8] {
				err := ch.do(func(p string) string { return filepath.Join(c.Tree(), p) })
				for p := range strings.SplitSeq(ch.touch, "|") {
					c.Touch(p)
				}
				d, derr := c.Delta()
				if err := chain(err, derr, c.Reset()); err != nil {
					t.Errorf("%s: %v", ch.name, err)
				}
				if ch.delta != nil && strings.Join(d.Paths(), "|") != strings.Join(ch.delta, "|") {
					t.Errorf("%s: changed %q", ch.name, d.Paths())
				}
			}
		})
	}
	done.Wait()
}
