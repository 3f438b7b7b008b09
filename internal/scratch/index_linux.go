package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// node is one entry of a tree that was walked, with all that a copy takes over.
type node struct {
	tree.Entry
	name, path string // path is relative to the tree; "." is the tree itself
	mode       uint32 // as stat has it, with the type
	uid, gid   uint32
	mtime      unix.Timespec
	target     string // of a link
	holds      bool   // the tree's own path stands in its contents or target
	xattrs     []xattr
	group      *group  // its hard links, where there are several in the tree
	kids       []*node // of a directory, sorted by name
}

// group is the names of one file.
type group struct{ members []*node }

func (n *node) kind() uint32 { return n.mode & unix.S_IFMT }

func (n *node) kid(name string) *node {
	i, ok := slices.BinarySearchFunc(n.kids, name, func(k *node, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return nil
	}
	return n.kids[i]
}

// find is the node at a clean relative path, or nil.
func (n *node) find(path string) *node {
	if path == "." {
		return n
	}
	for n != nil && path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		n = n.kid(name)
	}
	return n
}

// each visits n and all below it, parents first.
func (n *node) each(visit func(*node)) {
	visit(n)
	for _, k := range n.kids {
		k.each(visit)
	}
}

func (n *node) set(st *unix.Stat_t) {
	n.mode, n.uid, n.gid, n.mtime = st.Mode, st.Uid, st.Gid, st.Mtim
	n.Entry = entryOf(st)
}

var highBits = [...]struct {
	stat uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}

// entryOf is what stat alone tells.
func entryOf(st *unix.Stat_t) tree.Entry {
	e := tree.Entry{Perm: fs.FileMode(st.Mode & 0o777), Kind: tree.Other}
	for _, bit := range highBits {
		if st.Mode&bit.stat != 0 {
			e.Perm |= bit.mode
		}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind, e.Size = tree.File, st.Size
	case unix.S_IFDIR:
		e.Kind = tree.Dir
	case unix.S_IFLNK:
		e.Kind = tree.Link
	}
	return e
}

// special is what stands for contents where there are none to read.
func special(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "FIFO"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}

type inode struct{ dev, ino uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// scanner walks a tree into nodes. It does not look into files.
type scanner struct {
	dir   string // for errors
	own   bool   // the tree is ours: what is shut is opened, and stays so
	avoid inode  // a directory that must not be in it
	files map[inode]*group
	bytes int64 // that the files take
	plain bool  // the file system has no extended attributes
}

// scan walks the open directory fd.
func (s *scanner) scan(fd int) (*node, error) {
	s.files = make(map[inode]*group)
	root := &node{name: ".", path: "."}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, pathError("stat", s.dir, err)
	}
	root.set(&st)
	var err error
	root.xattrs, err = readXattrs(fd, ".")
	s.plain = err == unix.ENOTSUP
	if err := s.list(fd, root); err != nil {
		return nil, err
	}
	root.each(func(n *node) {
		if n.group != nil && len(n.group.members) == 1 {
			n.group = nil // its other names are outside
		}
	})
	return root, nil
}

func (s *scanner) list(fd int, dir *node) error {
	all, err := names(fd)
	if err != nil {
		return s.fail("read directory", dir.path, err)
	}
	dir.kids = make([]*node, 0, len(all))
	for _, name := range all {
		k := &node{name: name, path: path.Join(dir.path, name)}
		keep, err := s.look(fd, k)
		if err != nil {
			return err
		}
		if keep {
			dir.kids = append(dir.kids, k)
		}
	}
	return nil
}

// look fills in k, and reports whether it can be copied: a device cannot.
func (s *scanner) look(dir int, k *node) (keep bool, err error) {
	st, err := statAt(dir, k.name)
	if err != nil {
		return false, s.fail("stat", k.path, err)
	}
	k.set(&st)
	switch k.kind() {
	case unix.S_IFCHR, unix.S_IFBLK:
		return false, nil
	case unix.S_IFLNK:
		k.target, err = readlinkAt(dir, k.name)
		return true, s.fail("read link", k.path, err)
	case unix.S_IFREG:
		s.count(k, &st)
	}
	k.xattrs = s.attrs(dir, k.name)
	if k.Kind == tree.Dir {
		return true, s.enter(dir, k, inodeOf(&st))
	}
	return true, nil
}

func (s *scanner) count(k *node, st *unix.Stat_t) {
	if st.Nlink > 1 {
		g := s.files[inodeOf(st)]
		if g == nil {
			g = new(group)
			s.files[inodeOf(st)] = g
		}
		g.members = append(g.members, k)
		k.group = g
		if len(g.members) > 1 {
			return
		}
	}
	s.bytes += st.Blocks * 512
}

func (s *scanner) enter(dir int, k *node, id inode) error {
	if id == s.avoid {
		return fmt.Errorf("copy %s: the copies would lie inside it, at %s: set TMPDIR to a directory outside", s.dir, k.path)
	}
	if s.own && k.mode&0o700 != 0o700 {
		if err := chmodAt(dir, k.name, k.mode|0o700); err != nil {
			return s.fail("chmod", k.path, err)
		}
	}
	fd, err := openAt(dir, k.name, listFlags, 0)
	if err != nil {
		return s.fail("open directory", k.path, err)
	}
	defer unix.Close(fd)
	return s.list(fd, k)
}

func (s *scanner) attrs(dir int, name string) []xattr {
	if s.plain {
		return nil
	}
	all, _ := readXattrs(dir, name)
	return all
}

func (s *scanner) fail(op, rel string, err error) error {
	return treeError(op, s.dir, rel, err)
}

// treeError names the path and, where there is one, the cure.
func treeError(op, dir, rel string, err error) error {
	if err == nil {
		return nil
	}
	err = pathError(op, path.Join(dir, rel), err)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: make it readable, or start from a directory without it", err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: set TMPDIR to a larger disk, or give a smaller tree", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: nothing may change the directory while it is copied", err)
	}
	return err
}
