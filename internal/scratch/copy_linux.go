package scratch

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// Copy is one private copy of a base, in which runs take place one after the
// other. Runs say what they touch, so that neither Delta nor Reset need look at
// the rest.
type Copy struct {
	base   *Base
	folder string
	id     identity // of the tree, as it was made

	mu      sync.Mutex
	read    *reader
	touched map[string]bool
	all     bool
}

// NewCopy copies the frozen base. Copies may be made and used at once.
func (b *Base) NewCopy() (*Copy, error) {
	if b.snap == nil {
		panic("scratch: NewCopy before Freeze")
	}
	if err := b.space.checkFree(b.Dir(), b.bytes); err != nil {
		return nil, err
	}
	folder, err := b.space.folder()
	if err != nil {
		return nil, err
	}
	c := &Copy{base: b, folder: folder, touched: make(map[string]bool)}
	c.read = newReader(c.Tree())
	if err := c.make(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// make builds the whole tree, where none stands.
func (c *Copy) make() error {
	fds, err := c.open()
	if err != nil {
		return err
	}
	defer fds.close()
	if err := newBuilder(c.base.Dir(), c.Tree(), fds.holder).whole(c.base.root, fds.from); err != nil {
		return err
	}
	return c.identify(fds.holder)
}

func (c *Copy) identify(holder int) (err error) {
	c.id, err = identityOf(holder)
	return pathError("stat", c.Tree(), err)
}

// identity tells a directory from one made in its place, to which the file system
// may have given the same inode.
type identity struct {
	inode inode
	born  unix.StatxTimestamp // zero where the file system does not say
}

func identityOf(holder int) (id identity, err error) {
	st, err := statAt(holder, treeName)
	if err != nil {
		return id, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return id, unix.ENOTDIR
	}
	id.inode = inodeOf(&st)
	var x unix.Statx_t
	if unix.Statx(holder, treeName, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &x) == nil && x.Mask&unix.STATX_BTIME != 0 {
		id.born = x.Btime
	}
	return id, nil
}

// descriptors are what work on a copy begins from.
type descriptors struct{ from, holder int } // the base's tree, the copy's folder

func (c *Copy) open() (d descriptors, err error) {
	if d.from, err = unix.Open(c.base.Dir(), listFlags, 0); err != nil {
		return d, pathError("open", c.base.Dir(), err)
	}
	if d.holder, err = openDir(unix.AT_FDCWD, c.folder, ".", nil); err != nil {
		unix.Close(d.from)
		return d, pathError("open", c.folder, err)
	}
	return d, nil
}

func (d descriptors) close() {
	unix.Close(d.from)
	unix.Close(d.holder)
}

// Tree is the tree to run in, absolute and without links. All copies' paths have
// one length.
func (c *Copy) Tree() string { return filepath.Join(c.folder, treeName) }

// Tmp is the runs' own TMPDIR; Reset empties it.
func (c *Copy) Tmp() string { return filepath.Join(c.folder, "tmp") }

// Out is where the output of runs goes; Reset empties it.
func (c *Copy) Out() string { return filepath.Join(c.folder, "out") }

// Close removes the copy. A space's Close removes all that are left.
func (c *Copy) Close() error {
	err := removeAt(unix.AT_FDCWD, c.folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Touch says that what stands at path, relative to the tree, was or may have been
// changed: made, written, removed, or given other attributes. A directory
// stands for all below it, since it may have been moved; "." only for itself. The
// path goes through no link. A rename or a hard link touches both its names.
// What lies outside the tree is passed over.
func (c *Copy) Touch(p string) {
	if rel, ok := strings.CutPrefix(p, c.Tree()+"/"); ok {
		p = rel
	}
	p = path.Clean(p)
	if path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touched[p] = true
}

// Touched lists the paths that were touched since the last Reset, sorted; false
// where TouchAll has been called.
func (c *Copy) Touched() ([]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.touched)), !c.all
}

// TouchAll says that nothing is known of what has changed.
func (c *Copy) TouchAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = true
}

// intact reports whether the directory that was made still stands as the tree.
func (c *Copy) intact(holder int) bool {
	id, err := identityOf(holder)
	return err == nil && id == c.id
}

// scope is where a copy may differ from its base: subtrees, none within another,
// whose parents are directories in both.
type scope struct {
	root   int // the copy's tree
	base   *node
	sound  map[string]bool // by directory: it and all above it are such
	paths  map[string]bool
	groups map[*group]bool // hard links of which a name is in paths
	opened opening
}

// scopeOf works out the scope of what was touched. A name that is touched may
// have been reached by way of a directory that was replaced, and a file of
// several names is changed under all of them.
func (c *Copy) scopeOf(root int, opened opening) (*scope, error) {
	s := &scope{
		root: root, base: c.base.root, opened: opened,
		sound: map[string]bool{".": true}, paths: make(map[string]bool), groups: make(map[*group]bool),
	}
	for p := range c.touched {
		if p != "." {
			if err := s.add(p); err != nil {
				return nil, err
			}
		}
	}
	for p := range s.paths {
		if s.covered(p) {
			delete(s.paths, p)
		}
	}
	return s, nil
}

func (s *scope) add(p string) error {
	top, err := s.top(p)
	if err != nil || s.paths[top] || s.covered(top) {
		return err
	}
	s.paths[top] = true
	n := s.base.find(top)
	if n == nil {
		return nil
	}
	var more []string
	n.each(func(n *node) {
		if n.group == nil || s.groups[n.group] {
			return
		}
		s.groups[n.group] = true
		for _, m := range n.group.members {
			more = append(more, m.path)
		}
	})
	for _, p := range more {
		if err := s.add(p); err != nil {
			return err
		}
	}
	return nil
}

// covered reports whether a directory above p is in the scope.
func (s *scope) covered(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if s.paths[dir] {
			return true
		}
	}
	return false
}

// top is the uppermost of p and what lies above it whose parent is sound.
func (s *scope) top(p string) (string, error) {
	dir := path.Dir(p)
	sound, known := s.sound[dir]
	if !known {
		var err error
		if sound, err = s.look(dir); err != nil {
			return "", err
		}
		s.sound[dir] = sound
	}
	if sound {
		return p, nil
	}
	return s.top(dir)
}

func (s *scope) look(dir string) (bool, error) {
	if n := s.base.find(dir); n == nil || n.Kind != tree.Dir {
		return false, nil
	}
	fd, err := descend(s.root, dir, s.opened)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, pathError("open", dir, err)
	}
	unix.Close(fd)
	return true, nil
}
