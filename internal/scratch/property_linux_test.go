package scratch

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// actor does random things to a copy and says honestly what it touches.
type actor struct {
	c *Copy
	t *rapid.T
}

// few names, in few directories, so that they meet
var pool = []string{"plain", "hard", "d", "d/hard", "d/other", "d/deep", "d/deep/er", "d/deep/er/file", "void", "shut", "x", "x/y", "x/y/z", "loop", "soft", odd, odd + "/" + odd, "fifo"}

func (a actor) name(label string) string { return rapid.SampledFrom(pool).Draw(a.t, label) }

func (a actor) at(p string) string { return filepath.Join(a.c.Tree(), p) }

// real reports whether no link is on the way to p: the supervisor names what is
// touched by its own path.
func (a actor) real(p string) bool {
	dir, err := filepath.EvalSymlinks(a.at(path.Dir(p)))
	return err == nil && dir == a.at(path.Dir(p))
}

// step does one thing; whether it succeeds is no matter.
func (a actor) step() {
	p, q := a.name("path"), a.name("other")
	if !a.real(p) || !a.real(q) {
		return
	}
	switch rapid.SampledFrom([]string{"write", "append", "truncate", "remove", "all", "rename", "mkdir", "link", "symlink", "chmod", "time", "none", "root"}).Draw(a.t, "what") {
	case "write":
		a.file(p, os.O_CREATE|os.O_TRUNC)
	case "append":
		a.file(p, os.O_APPEND)
	case "truncate":
		a.file(p, os.O_TRUNC)
	case "remove":
		os.Remove(a.at(p))
	case "all":
		os.RemoveAll(a.at(p))
	case "rename":
		os.Rename(a.at(p), a.at(q))
		a.c.Touch(q)
	case "mkdir":
		os.Mkdir(a.at(p), 0o755)
	case "link":
		os.Link(a.at(p), a.at(q))
		a.c.Touch(q)
	case "symlink":
		os.Symlink(q, a.at(p))
	case "chmod":
		a.chmod(p)
	case "time":
		os.Chtimes(a.at(p), time.Time{}, time.Unix(5e8, 0))
	case "root":
		os.Chmod(a.at("."), 0o700)
		p = "."
	}
	a.c.Touch(p)
}

func (a actor) chmod(p string) {
	if st, err := os.Lstat(a.at(p)); err == nil && st.Mode().Type()&os.ModeSymlink == 0 {
		os.Chmod(a.at(p), rapid.SampledFrom([]os.FileMode{0, 0o500, 0o644, 0o755}).Draw(a.t, "mode"))
	}
}

// file writes to a regular file only: a FIFO would wait, and a link leads on.
func (a actor) file(p string, flags int) {
	if st, err := os.Lstat(a.at(p)); err == nil && !st.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(a.at(p), os.O_WRONLY|flags, 0o644)
	if err != nil {
		return
	}
	f.WriteString(rapid.SampledFrom([]string{"", "one\n", "two\n", a.c.Tree(), "long enough"}).Draw(a.t, "text"))
	f.Close()
}

func TestRandomChanges(t *testing.T) {
	dir := sample(t)
	before := picture(t, dir)
	c := newCopy(t, frozen(t, newSpace(t), dir))
	rapid.Check(t, func(t *rapid.T) {
		a := actor{c, t}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			a.step()
		}
		some, err := c.Delta()
		if err != nil {
			t.Fatal(err)
		}
		c.all = true
		all, err := c.Delta()
		if err != nil {
			t.Fatal(err)
		}
		c.all = rapid.Float64Range(0, 1).Draw(t, "share") < 0.1
		if !maps.Equal(some, all) {
			t.Errorf("of what was touched: %v\nof everything: %v", some, all)
		}
		if err := c.Reset(); err != nil {
			t.Fatal(err)
		}
		if after := picture(t, c.Tree()); !maps.Equal(after, before) {
			t.Errorf("after reset: %v\nnot %v", after, before)
		}
	})
	samePicture(t, "original", before, picture(t, dir))
}
