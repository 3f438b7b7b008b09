package scratch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

type change struct {
	name  string
	touch string   // separated by |
	delta []string // paths, sorted
	do    func(at func(string) string) error
}

func chain(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return chain(err, f.Close())
}

var changes = []change{
	{"nothing", "plain|d", nil, func(at func(string) string) error { return nil }},
	{"write over", "empty", []string{"empty"}, func(at func(string) string) error {
		return os.WriteFile(at("empty"), []byte("x"), 0)
	}},
	{"append", "d/other", []string{"d/other"}, func(at func(string) string) error { return appendTo(at("d/other"), "more\n") }},
	{"same size, time put back", "d/other", []string{"d/other"}, func(at func(string) string) error {
		st, err := os.Stat(at("d/other"))
		return chain(err, os.WriteFile(at("d/other"), []byte("TWO\n"), 0), os.Chtimes(at("d/other"), st.ModTime(), st.ModTime()))
	}},
	{"unlink", "d/other", []string{"d/other"}, func(at func(string) string) error { return os.Remove(at("d/other")) }},
	{"create", "d/new", []string{"d/new"}, func(at func(string) string) error { return os.WriteFile(at("d/new"), nil, 0o600) }},
	{"rename a file over another", "d/other|empty", []string{"d/other", "empty"}, func(at func(string) string) error {
		return os.Rename(at("d/other"), at("empty"))
	}},
	{"rename a directory", "d/deep|moved", []string{"d/deep", "d/deep/er", "d/deep/er/file", "moved", "moved/er", "moved/er/file"},
		func(at func(string) string) error { return os.Rename(at("d/deep"), at("moved")) }},
	{"rename a directory, write below", "d/deep|moved|moved/er/file", []string{"d/deep", "d/deep/er", "d/deep/er/file", "moved", "moved/er", "moved/er/file"},
		func(at func(string) string) error {
			return chain(os.Rename(at("d/deep"), at("moved")), appendTo(at("moved/er/file"), "x"))
		}},
	{"a file for a directory", "d/deep", []string{"d/deep", "d/deep/er", "d/deep/er/file"}, func(at func(string) string) error {
		return chain(os.RemoveAll(at("d/deep")), os.WriteFile(at("d/deep"), nil, 0o644))
	}},
	{"a link to elsewhere for a directory", "d/deep/er|d/deep/er/file", []string{"d/deep/er", "d/deep/er/file"}, func(at func(string) string) error {
		return chain(os.RemoveAll(at("d/deep/er")), os.Symlink("/", at("d/deep/er")))
	}},
	{"a directory for a file", "empty|empty/below", []string{"empty", "empty/below"}, func(at func(string) string) error {
		return chain(os.Remove(at("empty")), os.MkdirAll(at("empty/below"), 0o755))
	}},
	{"mkdir -p, only the last named", "n/e/w", []string{"n", "n/e", "n/e/w"}, func(at func(string) string) error { return os.MkdirAll(at("n/e/w"), 0o700) }},
	{"chmod 000 of a directory", "d", []string{"d"}, func(at func(string) string) error { return os.Chmod(at("d"), 0) }},
	{"chmod 000 of a directory, written before", "d|d/other", []string{"d", "d/other"}, func(at func(string) string) error {
		return chain(appendTo(at("d/other"), "x"), os.Chmod(at("d"), 0))
	}},
	{"chmod 000 of a new one in a new one", "n|n/e|n/e/w", []string{"n", "n/e", "n/e/w"}, func(at func(string) string) error {
		return chain(os.MkdirAll(at("n/e"), 0o700), os.WriteFile(at("n/e/w"), nil, 0), os.Chmod(at("n/e"), 0), os.Chmod(at("n"), 0))
	}},
	{"chmod of the tree", ".", nil, func(at func(string) string) error { return os.Chmod(at("."), 0) }},
	{"chmod of a file", "plain", []string{"d/hard", "hard", "plain"}, func(at func(string) string) error { return os.Chmod(at("plain"), 0) }},
	{"set-id", "tool", []string{"tool"}, func(at func(string) string) error { return os.Chmod(at("tool"), 0o755) }},
	{"time alone", "d/other|d", nil, func(at func(string) string) error {
		return chain(unix.Utimes(at("d/other"), make([]unix.Timeval, 2)), unix.Utimes(at("d"), make([]unix.Timeval, 2)))
	}},
	{"link loops", "loop|soft|a|b", []string{"a", "b", "loop", "soft"}, func(at func(string) string) error {
		return chain(os.Remove(at("loop")), os.Remove(at("soft")), os.Symlink("soft", at("soft")), os.Symlink("b", at("a")), os.Symlink("a", at("b")))
	}},
	{"written under its other name", "hard", []string{"d/hard", "hard", "plain"}, func(at func(string) string) error { return appendTo(at("hard"), "x") }},
	{"a hard link cut", "hard", []string{"hard"}, func(at func(string) string) error { return os.Remove(at("hard")) }},
	{"a hard link replaced by an equal file", "hard", nil, func(at func(string) string) error {
		return chain(os.Remove(at("hard")), os.WriteFile(at("hard"), []byte("one\n"), 0o644))
	}},
	{"a hard link more", "d/other|third", []string{"third"}, func(at func(string) string) error { return os.Link(at("d/other"), at("third")) }},
	{"a hard link out of the tree", "d/other", nil, func(at func(string) string) error { return os.Link(at("d/other"), at("../tmp/kept")) }},
	{"a directory with a hard link moved, and written", "d|e|e/hard", nil, func(at func(string) string) error {
		return chain(os.Rename(at("d"), at("e")), appendTo(at("e/hard"), "x"))
	}},
	{"odd names", odd + "|" + odd + "2", []string{odd, odd + "/" + odd, odd + "2", odd + "2/" + odd}, func(at func(string) string) error {
		return os.Rename(at(odd), at(odd+"2"))
	}},
	{"an empty directory goes", "void", []string{"void"}, func(at func(string) string) error { return os.Remove(at("void")) }},
	{"into a read-only directory", "shut|shut/x", []string{"shut/x"}, func(at func(string) string) error {
		return chain(os.Chmod(at("shut"), 0o755), os.WriteFile(at("shut/x"), nil, 0o600), os.Chmod(at("shut"), 0o555))
	}},
	{"special files", "fifo|sock", []string{"fifo", "sock"}, func(at func(string) string) error {
		return chain(os.Remove(at("fifo")), os.Remove(at("sock")), unix.Mkfifo(at("sock"), 0o600))
	}},
	{"the tree itself goes", ".", nil, func(at func(string) string) error { return os.RemoveAll(at(".")) }},
	{"the tree is another", ".", nil, func(at func(string) string) error {
		return chain(os.Rename(at("."), at("../away")), os.Mkdir(at("../tree"), 0o755))
	}},
	{"the tree is another, perhaps of the same inode", ".", nil, func(at func(string) string) error {
		return chain(os.Rename(at("."), at("../away")), os.RemoveAll(at("../away")), os.Mkdir(at("../tree"), 0o755))
	}},
	{"a path written down", "d/other", []string{"d/other"}, func(at func(string) string) error { return os.WriteFile(at("d/other"), []byte(at("x")), 0) }},
	{"outside", "../x|/etc/passwd|..", nil, func(at func(string) string) error { return os.WriteFile(at("../x"), nil, 0) }},
}

func TestChanges(t *testing.T) {
	dir := sample(t)
	before := picture(t, dir)
	c := newCopy(t, frozen(t, newSpace(t), dir))
	for _, ch := range changes {
		t.Run(ch.name, func(t *testing.T) {
			at := func(p string) string { return filepath.Join(c.Tree(), p) }
			write(t, filepath.Join(c.Tmp(), "x/y"), "")
			write(t, filepath.Join(c.Out(), "stdout"), "")
			must(t, ch.do(at))
			for p := range strings.SplitSeq(ch.touch, "|") {
				c.Touch(p)
			}
			deltas(t, c, ch.delta)
			must(t, c.Reset())
			samePicture(t, "after reset", before, picture(t, c.Tree()))
			for _, d := range []string{c.Tmp(), c.Out()} {
				if left, err := os.ReadDir(d); err != nil || len(left) > 0 {
					t.Errorf("%s holds %v, %v", d, left, err)
				}
			}
			if left, _ := os.ReadDir(filepath.Dir(c.Tree())); len(left) != 3 {
				t.Errorf("beside the tree are left %v", left)
			}
		})
	}
	samePicture(t, "original", before, picture(t, dir))
}

// deltas compares the delta of what was touched with that of a full walk, and
// with want unless that is nil.
func deltas(t testing.TB, c *Copy, want []string) {
	t.Helper()
	some, err := c.Delta()
	must(t, err)
	all := fullDelta(t, c)
	if !maps.Equal(some, all) {
		t.Errorf("of what was touched: %v\nof everything: %v", some, all)
	}
	if want != nil && !slices.Equal(all.Paths(), want) {
		t.Errorf("changed: %q, not %q", all.Paths(), want)
	}
}

// fullDelta walks everything, and leaves what was touched as it is.
func fullDelta(t testing.TB, c *Copy) tree.Delta {
	t.Helper()
	c.TouchAll()
	d, err := c.Delta()
	must(t, err)
	c.all = false
	return d
}

func TestTouchAll(t *testing.T) {
	dir := sample(t)
	c := newCopy(t, frozen(t, newSpace(t), dir))
	for _, ch := range changes {
		must(t, ch.do(func(p string) string { return filepath.Join(c.Tree(), p) }))
		c.TouchAll()
		must(t, c.Reset())
		samePicture(t, ch.name, picture(t, dir), picture(t, c.Tree()))
	}
}
