package scratch

import (
	"path"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// Reset brings the copy back to its base: what was touched, the times of the
// directories that hold it, Tmp and Out. After TouchAll it compares everything.
func (c *Copy) Reset() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	fds, err := c.open()
	if err != nil {
		return err
	}
	defer fds.close()
	if err := c.clean(fds.holder); err != nil {
		return below(c.folder, err)
	}
	if err := c.restore(fds); err != nil {
		return err
	}
	clear(c.touched)
	c.all = false
	return nil
}

// clean empties the folder but for the tree.
func (c *Copy) clean(holder int) error {
	for _, name := range []string{"tmp", "out"} {
		if err := freshDir(holder, name); err != nil {
			return err
		}
	}
	return emptyAt(holder, ".", treeName, "tmp", "out")
}

func (c *Copy) restore(fds descriptors) error {
	b := &restorer{builder: newBuilder(c.base.Dir(), c.Tree(), fds.holder), base: c.base.root, read: c.read}
	if !c.intact(fds.holder) {
		if err := removeAt(fds.holder, treeName); err != nil {
			return below(c.folder, err)
		}
		if err := b.whole(c.base.root, fds.from); err != nil {
			return err
		}
		return c.identify(fds.holder)
	}
	root, err := openDir(fds.holder, treeName, ".", b.opened)
	if err != nil {
		return pathError("open", c.Tree(), err)
	}
	defer unix.Close(root)
	b.root = root
	b.late[c.base.root] = true
	if c.all {
		err = b.everything(c.base, fds.from)
	} else {
		err = b.touched(c, fds.from)
	}
	if err != nil {
		return err
	}
	return b.finish()
}

// restorer is a builder that finds part of the tree in place.
type restorer struct {
	*builder
	base *node
	root int
	read *reader
}

// opened has the attributes of a directory that was opened set again at the end.
func (b *restorer) opened(_ int, p string, _ uint32) error {
	if n := b.base.find(p); n != nil {
		b.late[n] = true
	}
	return nil
}

func (b *restorer) everything(base *Base, from int) error {
	for _, g := range base.groups {
		if err := b.loosen(g); err != nil {
			return err
		}
	}
	return b.list(base.root, from, b.root)
}

func (b *restorer) touched(c *Copy, from int) error {
	s, err := c.scopeOf(b.root, b.opened)
	if err != nil {
		return err
	}
	for g := range s.groups {
		if err := b.loosen(g); err != nil {
			return err
		}
	}
	for p := range s.paths {
		if err := b.path(p, from); err != nil {
			return err
		}
	}
	return nil
}

// path restores what stands at p, whose parent is a directory in both.
func (b *restorer) path(p string, from int) error {
	parent := path.Dir(p)
	to, err := descend(b.root, parent, b.opened)
	if err != nil {
		return pathError("open", path.Join(b.to, parent), err)
	}
	defer unix.Close(to)
	b.late[b.base.find(parent)] = true
	n := b.base.find(p)
	if n == nil {
		return b.remove(to, p)
	}
	src, err := descend(from, parent, nil)
	if err != nil {
		return pathError("open", path.Join(b.from, parent), err)
	}
	defer unix.Close(src)
	return b.sync(n, src, to)
}

func (b *restorer) remove(to int, p string) error {
	return below(path.Join(b.to, path.Dir(p)), removeAt(to, path.Base(p)))
}

// loosen removes the names of a group, to be made anew, unless they still are one
// file, of these names only. Its contents are compared later.
func (b *restorer) loosen(g *group) error {
	if b.tied(g) {
		return nil
	}
	for _, n := range g.members {
		dir, err := descend(b.root, path.Dir(n.path), b.opened)
		if gone(err) {
			continue
		}
		if err != nil {
			return b.fail("open", n, err)
		}
		err = b.remove(dir, n.path)
		unix.Close(dir)
		if err != nil {
			return err
		}
	}
	return nil
}

// tied reports whether all names of g are one file that is unchanged.
func (b *restorer) tied(g *group) bool {
	var id inode
	for i, n := range g.members {
		dir, err := descend(b.root, path.Dir(n.path), b.opened)
		if err != nil {
			return false
		}
		st, err := statAt(dir, n.name)
		same := err == nil && b.sameFile(n, dir, &st)
		unix.Close(dir)
		if i == 0 {
			id = inodeOf(&st)
		}
		if !same || inodeOf(&st) != id {
			return false
		}
	}
	return true
}

// sync makes what stands under n's name in to as n is.
func (b *restorer) sync(n *node, from, to int) error {
	st, err := statAt(to, n.name)
	if err == unix.ENOENT {
		return b.build(n, from, to)
	}
	if err != nil {
		return b.fail("stat", n, err)
	}
	if !b.same(n, to, &st) {
		if err := b.remove(to, n.path); err != nil {
			return err
		}
		return b.build(n, from, to)
	}
	if n.Kind == tree.Dir {
		return b.dirs(n, from, to)
	}
	return b.fix(n, to)
}

// same reports whether n's attributes are all that can be amiss, or n is a
// directory as it was.
func (b *restorer) same(n *node, to int, st *unix.Stat_t) bool {
	if st.Mode&unix.S_IFMT != n.kind() {
		return false
	}
	switch n.Kind {
	case tree.Link:
		target, err := readlinkAt(to, n.name)
		return err == nil && target == b.linkTarget(n)
	case tree.File:
		return b.sameFile(n, to, st)
	}
	return true
}

// sameFile reads a file only where its size and time are the base's. One that has
// a further name is not the same: whoever writes to that would change this.
func (b *restorer) sameFile(n *node, to int, st *unix.Stat_t) bool {
	links := 1
	if n.group != nil {
		links = len(n.group.members)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Nlink) != links || st.Size != n.Size || st.Mtim != n.mtime {
		return false
	}
	e := entryOf(st)
	err := sumFile(b.read, to, n.name, st, nil, &e)
	return err == nil && e.Sum == n.Sum
}

func (b *restorer) dirs(n *node, from, to int) error {
	src, err := openAt(from, n.name, listFlags, 0)
	if err != nil {
		return pathError("open", path.Join(b.from, n.path), err)
	}
	defer unix.Close(src)
	dst, err := openDir(to, n.name, n.path, b.opened)
	if err != nil {
		return b.fail("open", n, err)
	}
	defer unix.Close(dst)
	b.late[n] = true
	return b.list(n, src, dst)
}

// list restores all that is in the directory n.
func (b *restorer) list(n *node, from, to int) error {
	all, err := names(to)
	if err != nil {
		return b.fail("read directory", n, err)
	}
	for _, name := range all {
		if n.kid(name) == nil {
			if err := b.remove(to, path.Join(n.path, name)); err != nil {
				return err
			}
		}
	}
	for _, k := range n.kids {
		if err := b.sync(k, from, to); err != nil {
			return err
		}
	}
	return nil
}
