package scratch

import (
	"path"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// Delta is what the copy holds other than its base. It looks only where runs have
// touched it since the last Reset, and leaves every mode as it is.
func (c *Copy) Delta() (tree.Delta, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	holder, err := openDir(unix.AT_FDCWD, c.folder, ".", nil)
	if err != nil {
		return nil, pathError("open", c.folder, err)
	}
	defer unix.Close(holder)
	w := &differ{dir: c.Tree(), read: c.read, delta: make(tree.Delta), left: make(map[inode]uint32)}
	defer w.shut()
	root, err := openDir(holder, treeName, ".", w.opened)
	if gone(err) { // the subject has removed the tree itself
		w.absent(c.base.root)
		delete(w.delta, ".")
		return w.delta, nil
	}
	if err != nil {
		return nil, pathError("open", c.Tree(), err)
	}
	defer unix.Close(root)
	if c.all || !c.intact(holder) {
		return w.delta, w.list(root, c.base.root, ".")
	}
	return w.delta, w.touched(c, root)
}

// differ collects differences.
type differ struct {
	dir   string
	read  *reader
	delta tree.Delta
	doors []door
	left  map[inode]uint32 // modes of the directories that doors opened
}

// door is a directory that is open only while it is read.
type door struct {
	fd   int
	mode uint32
}

func (w *differ) opened(fd int, _ string, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	held, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		w.doors = append(w.doors, door{held, mode})
		w.left[inodeOf(&st)] = mode
	}
	return err
}

// shut puts the modes back, the innermost first.
func (w *differ) shut() {
	for i := len(w.doors) - 1; i >= 0; i-- {
		unix.Fchmod(w.doors[i].fd, w.doors[i].mode&0o7777)
		unix.Close(w.doors[i].fd)
	}
}

func (w *differ) touched(c *Copy, root int) error {
	s, err := c.scopeOf(root, w.opened)
	if err != nil {
		return err
	}
	for p := range s.paths {
		dir, err := descend(root, path.Dir(p), w.opened)
		if err != nil {
			return pathError("open", path.Join(w.dir, path.Dir(p)), err)
		}
		err = w.visit(c.base.root.find(p), dir, p)
		unix.Close(dir)
		if err != nil {
			return err
		}
	}
	return nil
}

// absent notes that n and all below it have gone.
func (w *differ) absent(n *node) {
	n.each(func(n *node) { w.delta[n.path] = tree.Entry{} })
}

// visit compares what stands at p, in the open directory dir, with the base's
// node, which may be nil.
func (w *differ) visit(n *node, dir int, p string) error {
	name := path.Base(p)
	st, err := statAt(dir, name)
	if gone(err) {
		if n != nil {
			w.absent(n)
		}
		return nil
	}
	if err != nil {
		return w.fail("stat", p, err)
	}
	if mode, ok := w.left[inodeOf(&st)]; ok {
		st.Mode = mode
	}
	e := entryOf(&st)
	if err := w.fill(n, dir, name, &st, &e); err != nil {
		return w.fail("read", p, err)
	}
	if n == nil || !tree.Same(n.Entry, e, false) {
		w.delta[p] = e
	}
	if e.Kind == tree.Dir {
		return w.enter(n, dir, p)
	}
	if n != nil {
		for _, k := range n.kids {
			w.absent(k)
		}
	}
	return nil
}

func (w *differ) fail(op, p string, err error) error {
	return pathError(op, path.Join(w.dir, p), err)
}

func (w *differ) enter(n *node, dir int, p string) error {
	fd, err := openDir(dir, path.Base(p), p, w.opened)
	if err != nil {
		return w.fail("open", p, err)
	}
	defer unix.Close(fd)
	return w.list(fd, n, p)
}

// list compares what is in the open directory fd with n's, which may be nil or no
// directory.
func (w *differ) list(fd int, n *node, p string) error {
	if n == nil {
		n = new(node)
	}
	all, err := names(fd)
	if err != nil {
		return w.fail("read directory", p, err)
	}
	found := make(map[string]bool, len(all))
	for _, name := range all {
		found[name] = true
		if err := w.visit(n.kid(name), fd, path.Join(p, name)); err != nil {
			return err
		}
	}
	for _, k := range n.kids {
		if !found[k.name] {
			w.absent(k)
		}
	}
	return nil
}

// fill adds what stat does not tell.
func (w *differ) fill(n *node, dir int, name string, st *unix.Stat_t, e *tree.Entry) error {
	switch e.Kind {
	case tree.Other:
		w.read.text(special(st.Mode), e)
	case tree.Link:
		target, err := readlinkAt(dir, name)
		if err != nil {
			return err
		}
		w.read.text(target, e)
	case tree.File:
		var base *tree.Entry
		if n != nil {
			base = &n.Entry
		}
		return sumFile(w.read, dir, name, st, base, e)
	}
	return nil
}

// sumFile reads a file of a copy, whatever its mode, and leaves it that mode.
func sumFile(r *reader, dir int, name string, st *unix.Stat_t, base, e *tree.Entry) error {
	flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOATIME
	fd, err := openAt(dir, name, flags, 0)
	if err == unix.EPERM {
		fd, err = openAt(dir, name, flags&^unix.O_NOATIME, 0)
	}
	if err == unix.EACCES && st.Mode&0o400 == 0 {
		if err := chmodAt(dir, name, st.Mode|0o400); err != nil {
			return err
		}
		defer chmodAt(dir, name, st.Mode)
		fd, err = openAt(dir, name, flags&^unix.O_NOATIME, 0)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = r.file(fd, base, e)
	return err
}
