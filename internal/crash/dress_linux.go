package crash

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

// dress sets attributes, the innermost first: a directory may be shut by it.
func (b *builder) dress() error {
	type dressed struct {
		id   record.ID
		path string
	}
	var all []dressed
	seen := make(map[record.ID]bool)
	for _, id := range append(b.touched(), b.wanted()...) {
		if at := b.reached(id); len(at) > 0 && !seen[id] && b.changed(id) {
			seen[id] = true
			b.touchAll(id)
			all = append(all, dressed{id, at[0]})
		}
	}
	for _, id := range b.shut {
		if at := b.path(id); at != "" && !seen[id] {
			all = append(all, dressed{id, at})
		}
	}
	slices.SortFunc(all, func(x, y dressed) int { return strings.Compare(y.path, x.path) })
	for _, d := range all {
		if err := b.attributes(d.id, filepath.Join(b.dir, d.path)); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) attributes(id record.ID, at string) error {
	mode, uid, gid := b.mode(id)
	if int(uid) != os.Geteuid() || int(gid) != os.Getegid() {
		_ = unix.Lchown(at, int(uid), int(gid)) // as far as this user may
	}
	if mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	for _, x := range b.xattrs[id] {
		if x.Removed {
			_ = unix.Removexattr(at, x.Name)
		} else {
			_ = unix.Setxattr(at, x.Name, x.Value, 0)
		}
	}
	if err := unix.Chmod(at, mode&0o7777); err != nil {
		return &os.PathError{Op: "chmod", Path: at, Err: err}
	}
	return nil
}
