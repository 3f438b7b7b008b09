package guard

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	id    uint64
	dev   string // major:minor of the file system
	root  string // which of the file system's directories, or files, is mounted
	point string // where
}

// mountedFrom tells, for a path free of links, the repository's own name of what
// is there, or "" where the table of mounts knows of none.
//
// A bind mount shows a directory with its own identity but with other parents,
// so identities alone find the repository only where it is itself among those
// parents. The table of mounts names what is mounted by its path within its
// file system, and there it has one parent. It also tells what is mounted
// within the repository from elsewhere, which lies there as well.
func mountedFrom(file string, r Root) (string, error) {
	mounts, err := readMounts()
	if err != nil {
		return "", err
	}
	rootDev, rootPath, err := within(r.Path, mounts)
	if err != nil {
		return "", err
	}
	dev, inner, err := within(file, mounts)
	if err != nil {
		return "", err
	}
	if rest, ok := cutDir(inner, rootPath); ok && dev == rootDev {
		return path.Join(r.Path, rest), nil
	}
	for _, m := range mounts {
		if _, ok := cutDir(m.point, r.Path); !ok || m.dev != dev {
			continue
		}
		if rest, ok := cutDir(inner, m.root); ok && m.point != r.Path {
			return path.Join(m.point, rest), nil
		}
		if _, ok := cutDir(m.root, inner); ok && m.point != r.Path {
			return m.point, nil // a directory that holds what is mounted there
		}
	}
	return "", nil
}

// within tells the file system that a path is on and its path within that.
func within(file string, mounts []mount) (dev, inner string, err error) {
	var st unix.Statx_t
	// AT_NO_AUTOMOUNT: a question must not mount anything.
	err = unix.Statx(unix.AT_FDCWD, file, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	if err != nil {
		return "", "", &os.PathError{Op: "statx", Path: file, Err: err}
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return "", "", errors.New("this kernel does not tell a file's mount")
	}
	for _, m := range mounts {
		if m.id != st.Mnt_id {
			continue
		}
		rest, ok := cutDir(file, m.point)
		if !ok {
			return "", "", fmt.Errorf("%s is on the mount %s and not below it", show(file), show(m.point))
		}
		return m.dev, path.Join(m.root, rest), nil
	}
	return "", "", fmt.Errorf("%s is on a mount that the table of mounts does not have", show(file))
}

func readMounts() ([]mount, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []mount
	for line := range strings.Lines(string(b)) {
		// 36 35 98:0 /root/in/fs /mount/point rw,noatime …
		f := strings.Fields(line)
		if len(f) < 5 {
			return nil, fmt.Errorf("a line of the table of mounts is cut off: %q", line)
		}
		id, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount{id, f[2], unescape(f[3]), unescape(f[4])})
	}
	return mounts, nil
}

// unescape reads the octal that the table has for blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}

// cutDir tells what of a clean path is below dir: whole elements, so that
// /w/app-old is not below /w/app.
func cutDir(file, dir string) (rest string, ok bool) {
	if file == dir {
		return "", true
	}
	return strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}
