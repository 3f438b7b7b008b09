package scratch

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

type xattr struct{ name, value string }

// carried reports whether an attribute belongs to the file and not to the file
// system or a security module that labels files itself.
func carried(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_") || name == "security.capability"
}

// readXattrs reads what a copy takes over, sorted by name. Only that there can be
// none is an error: what cannot be read is left out.
func readXattrs(dir int, name string) ([]xattr, error) {
	at := procPath(dir) + "/" + name
	buf := make([]byte, 1<<10)
	n, err := unix.Llistxattr(at, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 64<<10) // the kernel's own limit
		n, err = unix.Llistxattr(at, buf)
	}
	if err != nil || n == 0 {
		return nil, err
	}
	var all []xattr
	for attr := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if !carried(attr) {
			continue
		}
		value := make([]byte, 64<<10)
		if n, err := unix.Lgetxattr(at, attr, value); err == nil {
			all = append(all, xattr{attr, string(value[:n])})
		}
	}
	slices.SortFunc(all, func(a, b xattr) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// writeXattrs makes the attributes of an entry those of want, as far as the file
// system and this user can.
func writeXattrs(dir int, name string, have, want []xattr) {
	if slices.Equal(have, want) {
		return
	}
	at := procPath(dir) + "/" + name
	for _, x := range have {
		if !slices.ContainsFunc(want, func(w xattr) bool { return w.name == x.name }) {
			unix.Lremovexattr(at, x.name)
		}
	}
	for _, x := range want {
		if !slices.Contains(have, x) {
			unix.Lsetxattr(at, x.name, []byte(x.value), 0)
		}
	}
}
