package op

import (
	"slices"
	"sort"
)

// calls says to which kind each system call belongs. Where the kind depends on
// the arguments or on the tree (an open that creates, a copy whose target lies
// outside), this is the one it has in the plainest case; see Possible.
var calls = map[string]Kind{
	"open": Open, "openat": Open, "openat2": Open, "creat": Create,
	"mknod": Create, "mknodat": Create, "bind": Create,
	"read": Read, "pread64": Read, "readv": Read, "preadv": Read, "preadv2": Read,
	"getdents": Readdir, "getdents64": Readdir,
	"stat": Stat, "lstat": Stat, "fstat": Stat, "newfstatat": Stat, "statx": Stat,
	"access": Stat, "faccessat": Stat, "faccessat2": Stat,
	"readlink": Stat, "readlinkat": Stat,
	"getxattr": Stat, "lgetxattr": Stat, "fgetxattr": Stat,
	"listxattr": Stat, "llistxattr": Stat, "flistxattr": Stat,
	"write": Write, "pwrite64": Write, "writev": Write, "pwritev": Write, "pwritev2": Write,
	"sendfile": Write, "splice": Write, "copy_file_range": Write, "ioctl": Write,
	"fsync": Sync, "fdatasync": Sync, "sync_file_range": Sync, "syncfs": Sync, "sync": Sync,
	"truncate": Truncate, "ftruncate": Truncate, "fallocate": Allocate,
	"rename": Rename, "renameat": Rename, "renameat2": Rename,
	"link": Link, "linkat": Link, "symlink": Link, "symlinkat": Link,
	"unlink": Unlink, "unlinkat": Unlink, "rmdir": Rmdir,
	"mkdir": Mkdir, "mkdirat": Mkdir,
	"chmod": Attr, "fchmod": Attr, "fchmodat": Attr, "fchmodat2": Attr,
	"chown": Attr, "fchown": Attr, "lchown": Attr, "fchownat": Attr,
	"utime": Attr, "utimes": Attr, "futimesat": Attr, "utimensat": Attr,
	"setxattr": Attr, "lsetxattr": Attr, "fsetxattr": Attr,
	"removexattr": Attr, "lremovexattr": Attr, "fremovexattr": Attr,
	"flock": Lock, "fcntl": Lock,
	"close": Close, "chdir": Chdir, "fchdir": Chdir, "connect": Connect,
}

// CallKind tells the kind of a system call by its name.
func CallKind(name string) (Kind, bool) {
	k, ok := calls[name]
	return k, ok
}

// Possible is the set of kinds that the named call can turn out to be, once
// its arguments and the tree are known.
func Possible(name string) Set {
	switch name {
	case "open", "openat", "openat2", "creat":
		return SetOf(Open, Create, Truncate)
	case "unlinkat":
		return SetOf(Unlink, Rmdir)
	case "sendfile", "splice", "copy_file_range":
		return SetOf(Read, Write)
	}
	return SetOf(calls[name])
}

// Calls lists, sorted, the system calls that can be of a kind in s.
func Calls(s Set) []string {
	var names []string
	for name := range calls {
		if Possible(name).Meets(s) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return slices.Clip(names)
}

// TreeCalls lists, sorted, the calls that change a tree without a descriptor
// that was opened for writing. Who sees these and the opens that write knows
// all that can change, but for descriptors that a program was given.
func TreeCalls() []string {
	return slices.DeleteFunc(Calls(Mutate), func(name string) bool {
		return name == "ftruncate" || Possible(name).Meets(SetOf(Open, Write, Allocate))
	})
}
