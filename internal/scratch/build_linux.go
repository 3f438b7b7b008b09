package scratch

import (
	"os"
	"path"
	"slices"
	"strings"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// builder makes entries of one tree in another.
type builder struct {
	from, to string // the trees' absolute paths
	holder   int    // the directory in which the new tree stands, as "tree"
	made     map[*group]string
	late     map[*node]bool // whose attributes are set at the end
	uid, gid uint32         // what new files get by themselves
	buf      []byte
	noClone  bool
	atime    int // O_NOATIME, until refused
}

func newBuilder(from, to string, holder int) *builder {
	return &builder{
		from: from, to: to, holder: holder,
		made: make(map[*group]string), late: make(map[*node]bool),
		uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()),
		buf: make([]byte, smallFile+1), atime: unix.O_NOATIME,
	}
}

// treeName is what a tree is called in its numbered folder.
const treeName = "tree"

// whole makes the new tree, which must not be there, from the open directory.
func (b *builder) whole(root *node, from int) error {
	if err := unix.Mkdirat(b.holder, treeName, 0o700); err != nil {
		return pathError("mkdir", b.to, err)
	}
	to, err := openAt(b.holder, treeName, listFlags, 0)
	if err != nil {
		return pathError("open", b.to, err)
	}
	defer unix.Close(to)
	for _, k := range root.kids {
		if err := b.build(k, from, to); err != nil {
			return err
		}
	}
	b.late[root] = true
	return b.finish()
}

// build makes n, which stands in the directory from, in the directory to.
func (b *builder) build(n *node, from, to int) (err error) {
	switch n.kind() {
	case unix.S_IFREG:
		return b.file(n, from, to)
	case unix.S_IFDIR:
		return b.dir(n, from, to)
	case unix.S_IFLNK:
		err = unix.Symlinkat(b.linkTarget(n), to, n.name)
	default:
		err = unix.Mknodat(to, n.name, n.mode&unix.S_IFMT|0o600, 0)
	}
	if err != nil {
		return b.fail("make", n, err)
	}
	return b.fix(n, to)
}

func (b *builder) fail(op string, n *node, err error) error {
	return treeError(op, b.to, n.path, err)
}

func (b *builder) linkTarget(n *node) string {
	if !n.holds {
		return n.target
	}
	return strings.ReplaceAll(n.target, b.from, b.to)
}

func (b *builder) dir(n *node, from, to int) error {
	if err := unix.Mkdirat(to, n.name, 0o700); err != nil {
		return b.fail("mkdir", n, err)
	}
	src, err := openAt(from, n.name, listFlags, 0)
	if err != nil {
		return treeError("open", b.from, n.path, err)
	}
	defer unix.Close(src)
	dst, err := openAt(to, n.name, listFlags, 0)
	if err != nil {
		return b.fail("open", n, err)
	}
	defer unix.Close(dst)
	for _, k := range n.kids {
		if err := b.build(k, src, dst); err != nil {
			return err
		}
	}
	if n.mode&0o700 != 0o700 { // a link to a file below may be yet to come
		b.late[n] = true
		return nil
	}
	return b.finished(n, to, dst)
}

func (b *builder) file(n *node, from, to int) error {
	if first, ok := b.made[n.group]; ok && n.group != nil {
		return b.hardLink(n, first, to)
	}
	src, err := b.openSource(from, n.name)
	if err != nil {
		return treeError("open", b.from, n.path, err)
	}
	defer unix.Close(src)
	dst, err := openAt(to, n.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return b.fail("create", n, err)
	}
	defer unix.Close(dst)
	if err := b.contents(src, dst, n); err != nil {
		return b.fail("copy", n, err)
	}
	if n.group != nil {
		b.made[n.group] = n.path
	}
	return b.finished(n, to, dst)
}

// openSource does not change when the user's own file was last read, and does
// not wait for what has become a FIFO.
func (b *builder) openSource(from int, name string) (int, error) {
	flags := unix.O_RDONLY | unix.O_NONBLOCK
	fd, err := openAt(from, name, flags|b.atime, 0)
	if err == unix.EPERM && b.atime != 0 {
		b.atime = 0 // somebody else's
		return openAt(from, name, flags, 0)
	}
	return fd, err
}

func (b *builder) hardLink(n *node, first string, to int) error {
	root, err := openAt(b.holder, treeName, listFlags, 0)
	if err == nil {
		err = unix.Linkat(root, first, to, n.name, 0)
		unix.Close(root)
	}
	return b.fail("link", n, err)
}

// finished gives an entry that was just made, and is open, n's attributes.
func (b *builder) finished(n *node, to, fd int) error {
	if n.uid != b.uid || n.gid != b.gid {
		unix.Fchown(fd, int(n.uid), int(n.gid)) // as far as this user may
	}
	writeXattrs(to, n.name, nil, n.xattrs) // while it can be written
	if err := unix.Fchmod(fd, n.mode&0o7777); err != nil {
		return b.fail("chmod", n, err)
	}
	return b.fail("set time of", n, setTime(to, n))
}

func setTime(dir int, n *node) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, n.mtime}
	return unix.UtimesNanoAt(dir, n.name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// fix gives an entry of n's kind n's attributes, where they are not so.
func (b *builder) fix(n *node, to int) error {
	st, err := statAt(to, n.name)
	if err != nil {
		return b.fail("stat", n, err)
	}
	mode := st.Mode
	if st.Uid != n.uid || st.Gid != n.gid {
		unix.Fchownat(to, n.name, int(n.uid), int(n.gid), unix.AT_SYMLINK_NOFOLLOW)
		mode = 0 // it may have taken set-id bits
	}
	if n.Kind != tree.Link {
		if err := b.fixMode(n, to, mode); err != nil {
			return b.fail("chmod", n, err)
		}
	}
	if st.Mtim == n.mtime {
		return nil
	}
	return b.fail("set time of", n, setTime(to, n))
}

// fixMode sets extended attributes first: an access list among them sets the
// mode, too, and a file that may not be written takes none.
func (b *builder) fixMode(n *node, to int, mode uint32) error {
	have, _ := readXattrs(to, n.name)
	if !slices.Equal(have, n.xattrs) {
		mode = 0
		if err := chmodAt(to, n.name, n.mode|0o600); err != nil {
			return err
		}
		writeXattrs(to, n.name, have, n.xattrs)
	}
	if mode == n.mode {
		return nil
	}
	return chmodAt(to, n.name, n.mode)
}

// finish sets the attributes that had to wait, from the leaves up, so that no
// directory is shut before those below it are done.
func (b *builder) finish() error {
	all := make([]*node, 0, len(b.late))
	for n := range b.late {
		all = append(all, n)
	}
	slices.SortFunc(all, func(x, y *node) int { return strings.Compare(y.path, x.path) })
	for _, n := range all {
		if n.path != "." {
			if err := b.fixPath(n); err != nil {
				return err
			}
		}
	}
	for _, n := range all {
		if n.path == "." {
			root := *n
			root.name = treeName
			return b.fix(&root, b.holder)
		}
	}
	return nil
}

func (b *builder) fixPath(n *node) error {
	root, err := openAt(b.holder, treeName, listFlags, 0)
	if err != nil {
		return b.fail("open", n, err)
	}
	defer unix.Close(root)
	dir, err := descend(root, path.Dir(n.path), nil)
	if err != nil {
		return b.fail("open", n, err)
	}
	defer unix.Close(dir)
	return b.fix(n, dir)
}
