package scratch

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// removeAt removes what stands under name, with all below it. It opens what
// is shut, follows no link and stops at a mount point. That nothing stands there
// is no error.
func removeAt(dir int, name string) error {
	switch err := unix.Unlinkat(dir, name, 0); err {
	case nil, unix.ENOENT:
		return nil
	case unix.EISDIR, unix.EPERM: // a directory; POSIX says EPERM
	default:
		return pathError("remove", name, err)
	}
	if err := emptyAt(dir, name); err != nil {
		if errors.Is(err, unix.ENOTDIR) {
			err = pathError("remove", name, unix.EPERM) // a file that may not be removed
		}
		return err
	}
	return pathError("remove", name, unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// emptyAt removes everything in the directory name but what keep lists.
func emptyAt(dir int, name string, keep ...string) error {
	fd, err := openDir(dir, name, name, nil)
	if err != nil {
		return pathError("remove", name, err)
	}
	defer unix.Close(fd)
	all, err := names(fd)
	if err != nil {
		return pathError("remove", name, err)
	}
	for _, entry := range all {
		if slices.Contains(keep, entry) {
			continue
		}
		if err := removeAt(fd, entry); err != nil {
			return below(name, err)
		}
	}
	return nil
}

// below puts dir before the path of an error that came from below it.
func below(dir string, err error) error {
	if at, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: at.Op, Path: path.Join(dir, at.Path), Err: at.Err}
	}
	return err
}

// freshDir makes name an empty directory that only its owner enters.
func freshDir(dir int, name string) error {
	st, err := statAt(dir, name)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := emptyAt(dir, name); err != nil {
			return err
		}
		if st.Mode&0o7777 == 0o700 {
			return nil
		}
		return pathError("chmod", name, chmodAt(dir, name, 0o700))
	}
	if err := removeAt(dir, name); err != nil {
		return err
	}
	return pathError("mkdir", name, unix.Mkdirat(dir, name, 0o700))
}
