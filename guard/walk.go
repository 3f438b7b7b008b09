package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may lead through, as in Linux.
const maxLinks = 40

// place is where a path leads: a directory entry that exists, its path free of
// links, and the elements below it that do not exist yet.
type place struct {
	dir     string
	missing []string
}

func (p place) String() string { return filepath.Join(append([]string{p.dir}, p.missing...)...) }

// walker follows a path as the kernel does.
type walker struct {
	path  string // as it was given, for messages
	links int
}

// walk resolves a path. A relative one begins at the directory that the process
// is really in, which the kernel tells, not at $PWD.
func walk(path string) (place, error) {
	w := &walker{path: path}
	if path == "" {
		return place{}, w.undecided("the path is empty", "give a path", nil)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return place{}, w.undecided("the path has a zero byte in it", "give a path without", nil)
	}
	start := place{}
	if !filepath.IsAbs(path) {
		dir, err := workingDir()
		if err != nil {
			return place{}, w.undecided("the path is relative and the working directory is gone or out of reach", "give an absolute path, or start from a directory that exists", err)
		}
		// By its own path, which may lead through links where a system keeps
		// the spelling of the last chdir.
		if start, err = w.from(place{}, dir); err != nil {
			return place{}, err
		}
	}
	return w.from(start, path)
}

// from walks path, beginning at p unless it is absolute.
func (w *walker) from(p place, path string) (place, error) {
	vol := filepath.VolumeName(path)
	switch {
	case !filepath.IsAbs(path) && (vol != "" || path != "" && os.IsPathSeparator(path[0])):
		return place{}, w.undecided("it depends on the current directory of a drive", "give the path with its drive", nil)
	case filepath.IsAbs(path):
		p, path = place{dir: vol + string(filepath.Separator)}, path[len(vol):]
	}
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		var err error
		if p, err = w.step(p, name); err != nil {
			return place{}, err
		}
	}
	return p, nil
}

// step goes on from p to name.
func (w *walker) step(p place, name string) (place, error) {
	switch {
	case name == ".":
		return p, nil
	case name == ".." && len(p.missing) > 0:
		// Today the kernel would refuse; tomorrow the missing element may be a
		// link, and ".." of it anywhere.
		return place{}, w.undecided("it has .. after "+show(p.String())+", which does not exist", "give the path without ..", nil)
	case name == "..":
		// Free of links, so this is its parent's path too.
		return place{dir: filepath.Dir(p.dir)}, w.directory(p.dir)
	case len(p.missing) > 0:
		p.missing = append(p.missing[:len(p.missing):len(p.missing)], name)
		return p, nil
	}
	next := filepath.Join(p.dir, name)
	info, err := os.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := w.directory(p.dir); err != nil {
			return place{}, err
		}
		return place{p.dir, []string{name}}, nil
	case err != nil:
		return place{}, w.undecided("cannot look at "+show(next), "make its directory searchable for this user, and put no file where a directory should be", err)
	case mayBeLink(info.Mode()):
		return w.follow(p, next, info)
	}
	return place{dir: next}, nil
}

// directory makes sure that what is missing could be made here one day.
func (w *walker) directory(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return w.undecided("nothing can be below "+show(dir), "give another path", err)
	}
	return nil
}

// mayBeLink: Windows has junctions and other reparse points as irregular.
func mayBeLink(m fs.FileMode) bool { return m&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// follow goes where a link leads, which is relative to the link's directory.
func (w *walker) follow(p place, link string, info fs.FileInfo) (place, error) {
	if w.links++; w.links > maxLinks {
		return place{}, w.undecided("it leads through more than 40 symbolic links, or round in a circle", "give the path that is meant, without links", nil)
	}
	target, err := os.Readlink(link)
	if err != nil && info.Mode()&fs.ModeSymlink == 0 {
		return place{dir: link}, nil // irregular and no link
	}
	if err != nil {
		return place{}, w.undecided("cannot read the link "+show(link), "give the path that is meant, without links", err)
	}
	to, err := w.from(p, target)
	if err != nil {
		return place{}, err
	}
	return to, w.believed(link, to)
}

// believed compares with where the kernel goes. Links of /proc say a name and
// lead to a thing: to a directory of another process's root, to a file that was
// deleted.
func (w *walker) believed(link string, to place) error {
	real, err := os.Stat(link)
	if errors.Is(err, fs.ErrNotExist) && len(to.missing) > 0 {
		return nil
	}
	if err == nil && len(to.missing) == 0 {
		here, herr := os.Stat(to.dir)
		if herr == nil && os.SameFile(real, here) {
			return nil
		}
		err = herr
	}
	return w.undecided("the link "+show(link)+" does not lead to where it says", "give the path that is meant, without links", err)
}

func (w *walker) undecided(why, cure string, err error) error {
	return &UndecidedError{w.path, why, cure, err}
}
