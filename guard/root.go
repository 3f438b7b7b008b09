package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fixed is the root given when the program was built, by
// -ldflags "-X faultlab/guard.fixed=/absolute/path". It cannot be set otherwise.
var fixed string

// DefaultMarkers is what makes a directory a root. A go.mod does not: a module
// within a repository would make a root smaller than the repository.
var DefaultMarkers = []string{".git"}

// DefaultMaxFiles is how many files Outside looks at for another name of a file.
const DefaultMaxFiles = 1_000_000

// Options says how to find a root.
type Options struct {
	// Root is the root itself, an absolute path. It is for programs that know it
	// from their own source; never fill it from a flag or the environment. A
	// root fixed by -ldflags goes before it.
	Root string

	// Markers are names, of files or directories, of which one in a directory
	// makes it the root. Nil: DefaultMarkers.
	Markers []string

	// MaxFiles bounds the search for other names of a file with hard links; a
	// repository with more files is "cannot tell". 0: DefaultMaxFiles.
	MaxFiles int
}

// Root is a repository's root. Make one with Find; the zero Root has nothing
// outside.
type Root struct {
	Path string // free of links
	By   string // why this one: "built in", "given by the program", "has .git"

	info     os.FileInfo
	maxFiles int
}

// Find tells the root: the one fixed when the program was built, else the one
// in o, else the nearest directory above the executable that holds a marker.
// The executable is what the kernel started, links resolved.
//
// The error is a *NoRootError and means that nothing may be taken to lie
// outside.
func Find(o Options) (Root, error) {
	if o.MaxFiles == 0 {
		o.MaxFiles = DefaultMaxFiles
	}
	if o.Markers == nil {
		o.Markers = DefaultMarkers
	}
	switch {
	case fixed != "":
		return given(fixed, "built in", o)
	case o.Root != "":
		return given(o.Root, "given by the program", o)
	}
	return above(o)
}

func given(path, by string, o Options) (Root, error) {
	no := func(why string, err error) (Root, error) {
		return Root{}, &NoRootError{Why: "the root " + show(path) + ", " + by + ", " + why, Err: err,
			Cure: "build the program again with the absolute path of the repository"}
	}
	if !filepath.IsAbs(path) {
		return no("is not absolute", nil)
	}
	at, err := walk(path)
	if err != nil {
		return no("cannot be resolved", err)
	}
	info, err := os.Stat(at.dir)
	switch {
	case err != nil:
		return no("cannot be looked at", err)
	case len(at.missing) > 0:
		return no("does not exist", nil)
	case !info.IsDir():
		return no("is not a directory", nil)
	}
	return Root{at.dir, by, info, o.MaxFiles}, nil
}

// above looks for a marker from the executable upwards.
func above(o Options) (Root, error) {
	exe, err := executable()
	if err != nil {
		return Root{}, err
	}
	for dir := filepath.Dir(exe); ; dir = filepath.Dir(dir) {
		marker, err := markerIn(dir, o.Markers)
		if err != nil {
			return Root{}, &NoRootError{exe, "cannot look for a marker in " + show(dir), "make that directory searchable for this user", err}
		}
		if marker != "" {
			info, err := os.Stat(dir)
			if err != nil {
				return Root{}, &NoRootError{exe, "cannot look at " + show(dir), "make its parent searchable for this user", err}
			}
			return Root{dir, "has " + marker, info, o.MaxFiles}, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return Root{}, &NoRootError{Executable: exe,
		Why:  "no directory above it holds " + strings.Join(o.Markers, " or "),
		Cure: `run the program from within its repository, or fix the root: go build -ldflags "-X faultlab/guard.fixed=/path/of/the/repository"`}
}

// markerIn looks for a marker, which may itself be a link to nowhere.
func markerIn(dir string, markers []string) (string, error) {
	for _, m := range markers {
		switch _, err := os.Lstat(filepath.Join(dir, m)); {
		case err == nil:
			return m, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "", nil
}

// executable is the path of the running program, free of links. The path may be
// out of date: the file may have been moved, removed or replaced since.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", &NoRootError{Why: "the system does not say where the program lies", Cure: "mount /proc, or fix the root when you build", Err: err}
	}
	at, err := walk(path)
	if err == nil && len(at.missing) > 0 {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = sameProgram(at.dir)
	}
	if err != nil {
		return "", &NoRootError{path, "the program was moved, removed or replaced since it was started", "start it again from where it lies now", err}
	}
	return at.dir, nil
}
