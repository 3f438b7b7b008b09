package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Everything here works from a directory's descriptor and one name below it, and
// follows no link: what a subject leaves in a copy may point anywhere.

var errMount = errors.New("is a mount point: unmount it")

const listFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openAt(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func statAt(dir int, name string) (st unix.Stat_t, err error) {
	for {
		if err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != unix.EINTR {
			return st, err
		}
	}
}

// names lists a directory that was opened for this and not read yet, sorted.
func names(dir int) ([]string, error) {
	var all []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			slices.Sort(all)
			return all, nil
		}
		_, _, all = unix.ParseDirent(buf[:n], -1, all)
	}
}

func readlinkAt(dir int, name string) (string, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// procPath names an open file so that calls which take only a path reach it and
// nothing else.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// chmodAt is chmod that fails on a link, where the kernel's own would follow it.
func chmodAt(dir int, name string, mode uint32) error {
	fd, err := openAt(dir, name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(procPath(fd), mode&0o7777)
}

// ownMode is a directory's mode. It refuses one on which something is mounted: what
// stands there is somebody else's. A kernel before 5.8 cannot say.
func ownMode(fd int) (uint32, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MODE, &st); err != nil {
		return 0, err
	}
	if st.Attributes_mask&st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return 0, errMount
	}
	return uint32(st.Mode), nil
}

// opening is told of a directory that had to be made accessible: its descriptor,
// path below the tree, and mode as it was.
type opening func(fd int, path string, mode uint32) error

// openDir opens a directory of a copy, whatever mode a subject left it in.
func openDir(parent int, name, path string, opened opening) (int, error) {
	handle, err := openAt(parent, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(handle)
	mode, err := ownMode(handle)
	if err != nil {
		return -1, err
	}
	shut := mode&0o700 != 0o700
	if shut {
		if err := unix.Chmod(procPath(handle), mode&0o7777|0o700); err != nil {
			return -1, err
		}
	}
	fd, err := openAt(handle, ".", listFlags, 0)
	if err != nil || !shut || opened == nil {
		return fd, err
	}
	return fd, opened(fd, path, mode)
}

// descend opens the directory dir below root, component by component.
func descend(root int, dir string, opened opening) (int, error) {
	fd, err := openDir(root, ".", ".", opened)
	if err != nil || dir == "." {
		return fd, err
	}
	for end := 0; end < len(dir); {
		start := end
		if end = strings.IndexByte(dir[start:], '/'); end < 0 {
			end = len(dir)
		} else {
			end += start
		}
		next, err := openDir(fd, dir[start:end], dir[:end], opened)
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
		end++
	}
	return fd, nil
}

// gone reports whether err says that no such entry stands there: the name itself
// or a directory above it is missing or is something else.
func gone(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// bytesText is n for people.
func bytesText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 4 {
		value, prefix = value/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[prefix])
}
