//go:build linux

package place

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/trial"
)

// preparation makes what a start needs in the case's folder.
type preparation = func(tree, folder string) (undo func(), err error)

// target is what is started, as far as rows depend on it.
type target struct {
	program   string // absolute, or beginning with {tree}
	base      string // what it is called
	subfolder string // of the tree; "" where it has none
}

func both(a, b preparation) preparation {
	return func(tree, folder string) (func(), error) {
		if _, err := a(tree, folder); err != nil {
			return nil, err
		}
		return b(tree, folder)
	}
}

func folders(names ...string) preparation {
	return func(_, folder string) (func(), error) {
		var errs []error
		for _, name := range names {
			errs = append(errs, os.Mkdir(filepath.Join(folder, name), 0o755))
		}
		return nil, errors.Join(errs...)
	}
}

func file(name string) preparation {
	return func(_, folder string) (func(), error) {
		return nil, os.WriteFile(filepath.Join(folder, name), nil, 0o644)
	}
}

// link makes a symbolic link in the case's folder.
func link(to, name string) preparation {
	return func(tree, folder string) (func(), error) {
		return nil, os.Symlink(strings.Replace(to, "{tree}", tree, 1), filepath.Join(folder, name))
	}
}

func vanish(name string) func(folder string) {
	return func(folder string) { _ = os.Remove(filepath.Join(folder, name)) }
}

// repository makes the least that git takes for a repository.
func repository(name string) preparation {
	return func(_, folder string) (func(), error) {
		dir := filepath.Join(folder, name, ".git")
		var errs []error
		for _, sub := range []string{"objects", "refs"} {
			errs = append(errs, os.MkdirAll(filepath.Join(dir, sub), 0o755))
		}
		for file, text := range map[string]string{
			"HEAD":   "ref: refs/heads/main\n",
			"config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
		} {
			errs = append(errs, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
		}
		return nil, errors.Join(errs...)
	}
}

// cron is what cron gives to a job.
func cron() []string {
	env := []string{"PATH=/usr/bin:/bin", "SHELL=/bin/sh"}
	for _, name := range []string{"HOME", "LOGNAME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (t target) hasSubfolder(string, string) (func(), error) {
	if t.subfolder == "" {
		return nil, trial.Unhad("the tree has no folder: a --tree or --setup that makes one would show it")
	}
	return nil, nil
}

// device is the number of the disk that a path is on, 0 where it is not there.
func device(path string) uint64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return uint64(st.Dev)
}

// giveAway makes the copy another user's, and opens the way to it.
func (t target) giveAway(tree, folder string) (func(), error) {
	if os.Geteuid() != 0 {
		return nil, trial.Unhad("only root can start a program as another user")
	}
	home := path.Dir(tree)
	space := path.Dir(home)
	for dir := path.Dir(space); ; dir = path.Dir(dir) {
		if fi, err := os.Stat(dir); err != nil || fi.Mode()&0o001 == 0 {
			return nil, trial.Unhad("another user cannot enter %s, where the copies are: set TMPDIR", dir)
		}
		if dir == "/" {
			break
		}
	}
	var g gift
	for _, dir := range []string{space, home} {
		g.open(dir)
	}
	for _, dir := range []string{tree, folder, filepath.Join(home, "tmp")} {
		g.give(dir)
	}
	return g.back, errors.Join(g.errs...)
}

// gift remembers whose files were.
type gift struct {
	was  []owned
	errs []error
}

type owned struct {
	path string
	st   unix.Stat_t
}

func (g *gift) note(path string) bool {
	o := owned{path: path}
	err := unix.Lstat(path, &o.st)
	g.errs = append(g.errs, err)
	g.was = append(g.was, o)
	return err == nil
}

// open lets others pass through a folder of our own.
func (g *gift) open(dir string) {
	if g.note(dir) {
		g.errs = append(g.errs, os.Chmod(dir, 0o711))
	}
}

func (g *gift) give(dir string) {
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && g.note(path) {
			err = os.Lchown(path, nobody, nobody)
		}
		return err
	})
	g.errs = append(g.errs, err)
}

// back gives back what is still the same file.
func (g *gift) back() {
	for _, o := range slices.Backward(g.was) {
		var now unix.Stat_t
		if unix.Lstat(o.path, &now) != nil || now.Ino != o.st.Ino || now.Dev != o.st.Dev {
			continue
		}
		_ = os.Lchown(o.path, int(o.st.Uid), int(o.st.Gid))
		// The change of owner has taken set-id bits, too. What the program itself
		// has changed is restored after us.
		if now.Mode&unix.S_IFMT != unix.S_IFLNK {
			_ = unix.Chmod(o.path, o.st.Mode&0o7777)
		}
	}
}
