package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// Base is what all copies begin as. A setup may work in it before Freeze;
// afterwards nothing may.
type Base struct {
	space  *Space
	folder string
	root   *node // nil until frozen
	bytes  int64
	groups []*group
	snap   tree.Snapshot
}

// NewBase copies dir, which it only reads, into the space; "" is an empty tree.
func (s *Space) NewBase(dir string) (*Base, error) {
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	b := &Base{space: s, folder: folder}
	if dir == "" {
		return b, pathError("mkdir", b.Dir(), os.Mkdir(b.Dir(), 0o755))
	}
	if err := b.copyFrom(dir); err != nil {
		return nil, errors.Join(err, removeAt(unix.AT_FDCWD, folder))
	}
	return b, nil
}

// Dir is the tree that a setup works in.
func (b *Base) Dir() string { return filepath.Join(b.folder, treeName) }

// Tmp is a setup's own TMPDIR.
func (b *Base) Tmp() string { return filepath.Join(b.folder, "tmp") }

// Snapshot is the frozen tree. It is not to be changed.
func (b *Base) Snapshot() tree.Snapshot { return b.snap }

func (b *Base) copyFrom(dir string) error {
	real, err := realDir(dir)
	if err != nil {
		return err
	}
	if inside(b.space.dir, real) {
		return fmt.Errorf("copy %s: the copies would lie inside it, in %s: set TMPDIR to a directory outside", dir, b.space.dir)
	}
	from, err := unix.Open(real, listFlags, 0)
	if err != nil {
		return treeError("open", real, ".", err)
	}
	defer unix.Close(from)
	st, err := statAt(unix.AT_FDCWD, b.space.dir)
	if err != nil {
		return pathError("stat", b.space.dir, err)
	}
	scan := scanner{dir: real, avoid: inodeOf(&st)}
	root, err := scan.scan(from)
	if err != nil {
		return err
	}
	if err := b.space.checkFree(dir, scan.bytes); err != nil {
		return err
	}
	// The list is read to its end: what is built reads through other descriptors.
	return b.build(root, real, from)
}

func (b *Base) build(root *node, real string, from int) error {
	holder, err := unix.Open(b.folder, listFlags, 0)
	if err != nil {
		return pathError("open", b.folder, err)
	}
	defer unix.Close(holder)
	return newBuilder(real, b.Dir(), holder).whole(root, from)
}

// realDir is dir, absolute and without links.
func realDir(dir string) (string, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("copy %s: no such directory: make it, or leave it out to start from an empty one", dir)
	}
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", dir, err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", dir, err)
	}
	if !st.IsDir() {
		return "", fmt.Errorf("copy %s: not a directory: name the one that holds it", dir)
	}
	return real, nil
}

// inside reports whether path is dir or lies below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Freeze takes down what the tree holds. From here on it is read only, and
// copies can be made.
func (b *Base) Freeze() error {
	fd, err := b.openUp()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	st := b.root
	scan := scanner{dir: b.Dir(), own: true}
	root, err := scan.scan(fd)
	if err != nil {
		return err
	}
	root.mode, root.mtime, root.Entry = st.mode, st.mtime, st.Entry
	sums := summer{dir: b.Dir(), read: newReader(b.Dir())}
	if err := sums.walk(fd, root); err != nil {
		return err
	}
	b.root, b.bytes = root, scan.bytes
	b.index()
	return nil
}

// openUp opens the tree's own directory, and notes in root how it was.
func (b *Base) openUp() (int, error) {
	st, err := statAt(unix.AT_FDCWD, b.Dir())
	if err != nil {
		return -1, fmt.Errorf("setup has removed its own directory: %w", pathError("stat", b.Dir(), err))
	}
	fd, err := openDir(unix.AT_FDCWD, b.Dir(), ".", nil)
	if err != nil {
		return -1, pathError("open", b.Dir(), err)
	}
	b.root = new(node)
	b.root.set(&st)
	return fd, nil
}

func (b *Base) index() {
	b.snap = make(tree.Snapshot)
	b.groups = nil
	seen := make(map[*group]bool)
	b.root.each(func(n *node) {
		if n != b.root {
			b.snap[n.path] = n.Entry
		}
		if n.group != nil && !seen[n.group] {
			seen[n.group] = true
			b.groups = append(b.groups, n.group)
		}
	})
}

// summer adds to scanned nodes what is in the files.
type summer struct {
	dir  string
	read *reader
}

func (s *summer) walk(fd int, dir *node) error {
	for _, k := range dir.kids {
		if err := s.node(fd, k); err != nil {
			return treeError("read", s.dir, k.path, err)
		}
	}
	return nil
}

func (s *summer) node(dir int, k *node) error {
	switch k.Kind {
	case tree.Link:
		k.holds = s.read.text(k.target, &k.Entry)
	case tree.Other:
		s.read.text(special(k.mode), &k.Entry)
	case tree.File:
		return s.file(dir, k)
	case tree.Dir:
		fd, err := openAt(dir, k.name, listFlags, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return s.walk(fd, k)
	}
	return nil
}

// file leaves the file readable: how it was is in the node, and copies of
// several goroutines are to read it at once.
func (s *summer) file(dir int, k *node) error {
	if k.mode&0o400 == 0 {
		if err := chmodAt(dir, k.name, k.mode|0o400); err != nil {
			return err
		}
	}
	fd, err := openAt(dir, k.name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	k.holds, err = s.read.file(fd, nil, &k.Entry)
	return err
}
