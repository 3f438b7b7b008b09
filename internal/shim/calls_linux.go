package shim

import (
	"slices"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
)

// call ties a system call's number to the shape of its arguments.
type call struct {
	name  string
	nr    uint32
	kind  op.Kind // filled in from op's table
	shape shape
	// test narrows the filter to calls whose argument has one of some values:
	// an ioctl that clones, not the thousand that ask a terminal.
	test *argTest
}

// argTest passes a call to the supervisor only when the low word of argument
// arg, after the mask, is one of values; or is none of them.
type argTest struct {
	arg    int
	mask   uint32
	values []uint32
	none   bool
	high   bool // look at the high word instead
}

const allBits = ^uint32(0)

// commonCalls are the file-system calls that amd64 and arm64 share; the ones
// that only amd64 has stand in calls_linux_amd64.go.
var commonCalls = []call{
	{name: "openat", nr: unix.SYS_OPENAT, shape: opening{dir: 0, path: 1, flags: 2}},
	{name: "openat2", nr: unix.SYS_OPENAT2, shape: opening{dir: 0, path: 1, flags: none, how: 2}},
	{name: "mknodat", nr: unix.SYS_MKNODAT, shape: naming{dir: 0, path: 1}},
	{name: "bind", nr: unix.SYS_BIND, shape: socket{addr: 1, size: 2}},
	{name: "connect", nr: unix.SYS_CONNECT, shape: socket{addr: 1, size: 2, follow: true}},

	{name: "read", nr: unix.SYS_READ, shape: descriptor{fd: 0, size: 2, off: none}},
	{name: "pread64", nr: unix.SYS_PREAD64, shape: descriptor{fd: 0, size: 2, off: 3}},
	{name: "readv", nr: unix.SYS_READV, shape: vector{fd: 0, off: none}},
	{name: "preadv", nr: unix.SYS_PREADV, shape: vector{fd: 0, off: 3}},
	{name: "preadv2", nr: unix.SYS_PREADV2, shape: vector{fd: 0, off: 3}},
	{name: "getdents64", nr: unix.SYS_GETDENTS64, shape: descriptor{fd: 0, size: none, off: none}},

	{name: "write", nr: unix.SYS_WRITE, shape: descriptor{fd: 0, size: 2, off: none}},
	{name: "pwrite64", nr: unix.SYS_PWRITE64, shape: descriptor{fd: 0, size: 2, off: 3}},
	{name: "writev", nr: unix.SYS_WRITEV, shape: vector{fd: 0, off: none}},
	{name: "pwritev", nr: unix.SYS_PWRITEV, shape: vector{fd: 0, off: 3}},
	{name: "pwritev2", nr: unix.SYS_PWRITEV2, shape: vector{fd: 0, off: 3}},
	{name: "sendfile", nr: unix.SYS_SENDFILE, shape: copying{from: 1, offset: 2, to: 0, size: 3}},
	{name: "splice", nr: unix.SYS_SPLICE, shape: copying{from: 0, offset: 1, to: 2, size: 4}},
	{name: "copy_file_range", nr: unix.SYS_COPY_FILE_RANGE, shape: copying{from: 0, offset: 1, to: 2, size: 4}},
	{name: "ioctl", nr: unix.SYS_IOCTL, shape: descriptor{fd: 0, size: none, off: none},
		test: &argTest{arg: 1, mask: allBits, values: []uint32{unix.FICLONE, unix.FICLONERANGE}}},

	{name: "fsync", nr: unix.SYS_FSYNC, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "fdatasync", nr: unix.SYS_FDATASYNC, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "sync_file_range", nr: unix.SYS_SYNC_FILE_RANGE, shape: descriptor{fd: 0, size: 2, off: 1}},
	{name: "syncfs", nr: unix.SYS_SYNCFS, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "sync", nr: unix.SYS_SYNC, shape: wholeTree{}},
	{name: "truncate", nr: unix.SYS_TRUNCATE, shape: naming{dir: none, path: 0, follow: true, size: 1}},
	{name: "ftruncate", nr: unix.SYS_FTRUNCATE, shape: descriptor{fd: 0, size: 1, off: none}},
	{name: "fallocate", nr: unix.SYS_FALLOCATE, shape: descriptor{fd: 0, size: 3, off: 2}},

	{name: "renameat2", nr: unix.SYS_RENAMEAT2, shape: pair{0, 1, 2, 3}},
	{name: "linkat", nr: unix.SYS_LINKAT, shape: pair{0, 1, 2, 3}},
	{name: "symlinkat", nr: unix.SYS_SYMLINKAT, shape: naming{dir: 1, path: 2}},
	{name: "unlinkat", nr: unix.SYS_UNLINKAT, shape: unlinking{dir: 0, path: 1, flags: 2}},
	{name: "mkdirat", nr: unix.SYS_MKDIRAT, shape: naming{dir: 0, path: 1}},

	{name: "newfstatat", nr: newfstatat, shape: naming{dir: 0, path: 1, follow: true, flags: 3, noFollow: unix.AT_SYMLINK_NOFOLLOW}},
	{name: "statx", nr: unix.SYS_STATX, shape: naming{dir: 0, path: 1, follow: true, flags: 2, noFollow: unix.AT_SYMLINK_NOFOLLOW}},
	{name: "fstat", nr: unix.SYS_FSTAT, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "faccessat", nr: unix.SYS_FACCESSAT, shape: naming{dir: 0, path: 1, follow: true}},
	{name: "faccessat2", nr: unix.SYS_FACCESSAT2, shape: naming{dir: 0, path: 1, follow: true, flags: 3, noFollow: unix.AT_SYMLINK_NOFOLLOW}},
	{name: "readlinkat", nr: unix.SYS_READLINKAT, shape: naming{dir: 0, path: 1}},
	{name: "getxattr", nr: unix.SYS_GETXATTR, shape: naming{dir: none, path: 0, follow: true}},
	{name: "lgetxattr", nr: unix.SYS_LGETXATTR, shape: naming{dir: none, path: 0}},
	{name: "fgetxattr", nr: unix.SYS_FGETXATTR, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "listxattr", nr: unix.SYS_LISTXATTR, shape: naming{dir: none, path: 0, follow: true}},
	{name: "llistxattr", nr: unix.SYS_LLISTXATTR, shape: naming{dir: none, path: 0}},
	{name: "flistxattr", nr: unix.SYS_FLISTXATTR, shape: descriptor{fd: 0, size: none, off: none}},

	{name: "fchmod", nr: unix.SYS_FCHMOD, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "fchmodat", nr: unix.SYS_FCHMODAT, shape: naming{dir: 0, path: 1, follow: true}},
	{name: "fchmodat2", nr: unix.SYS_FCHMODAT2, shape: naming{dir: 0, path: 1, follow: true, flags: 3, noFollow: unix.AT_SYMLINK_NOFOLLOW}},
	{name: "fchown", nr: unix.SYS_FCHOWN, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "fchownat", nr: unix.SYS_FCHOWNAT, shape: naming{dir: 0, path: 1, follow: true, flags: 4, noFollow: unix.AT_SYMLINK_NOFOLLOW}},
	{name: "utimensat", nr: unix.SYS_UTIMENSAT, shape: naming{dir: 0, path: 1, follow: true, flags: 3, noFollow: unix.AT_SYMLINK_NOFOLLOW}},
	{name: "setxattr", nr: unix.SYS_SETXATTR, shape: naming{dir: none, path: 0, follow: true}},
	{name: "lsetxattr", nr: unix.SYS_LSETXATTR, shape: naming{dir: none, path: 0}},
	{name: "fsetxattr", nr: unix.SYS_FSETXATTR, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "removexattr", nr: unix.SYS_REMOVEXATTR, shape: naming{dir: none, path: 0, follow: true}},
	{name: "lremovexattr", nr: unix.SYS_LREMOVEXATTR, shape: naming{dir: none, path: 0}},
	{name: "fremovexattr", nr: unix.SYS_FREMOVEXATTR, shape: descriptor{fd: 0, size: none, off: none}},

	{name: "flock", nr: unix.SYS_FLOCK, shape: locking{}},
	{name: "fcntl", nr: unix.SYS_FCNTL, shape: locking{record: 2},
		test: &argTest{arg: 1, mask: allBits, values: []uint32{unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW}}},
	{name: "close", nr: unix.SYS_CLOSE, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "chdir", nr: unix.SYS_CHDIR, shape: naming{dir: none, path: 0, follow: true}},
	{name: "fchdir", nr: unix.SYS_FCHDIR, shape: descriptor{fd: 0, size: none, off: none}},
}

// watched are no operations: calls that bear on what the supervisor can see.
// They are let through and noted.
var watched = []call{
	{name: "mmap", nr: unix.SYS_MMAP, test: &argTest{arg: 3, mask: unix.MAP_TYPE, values: []uint32{unix.MAP_SHARED, unix.MAP_SHARED_VALIDATE}}},
	{name: "mprotect", nr: unix.SYS_MPROTECT, test: &argTest{arg: 2, mask: unix.PROT_WRITE, values: []uint32{unix.PROT_WRITE}}},
	{name: "msync", nr: unix.SYS_MSYNC},
	{name: "io_submit", nr: unix.SYS_IO_SUBMIT},
	{name: "seccomp", nr: unix.SYS_SECCOMP, test: &argTest{arg: 0, mask: allBits, values: []uint32{unix.SECCOMP_SET_MODE_FILTER}}},
	{name: "prctl", nr: unix.SYS_PRCTL, test: &argTest{arg: 0, mask: allBits, values: []uint32{unix.PR_SET_SECCOMP}}},
	{name: "rt_sigaction", nr: unix.SYS_RT_SIGACTION}, // narrowed by actions
	{name: "kill", nr: unix.SYS_KILL, test: &argTest{arg: 1, mask: allBits, values: []uint32{0}, none: true}},
	{name: "tkill", nr: unix.SYS_TKILL, test: &argTest{arg: 1, mask: allBits, values: []uint32{0}, none: true}},
	// Go's scheduler sends itself SIGURG all the time.
	{name: "tgkill", nr: unix.SYS_TGKILL, test: &argTest{arg: 2, mask: allBits, values: []uint32{0, uint32(unix.SIGURG)}, none: true}},
}

// actions narrows rt_sigaction. A query (a null pointer) passes, and so does an
// action that stands on the launching thread's own stack: between fork and exec
// the runtime resets handlers there, and a call that waits at that moment would
// wait for ever if the collector has begun to stop the world.
func actions(c call) call {
	if c.name == "rt_sigaction" {
		c.test = &argTest{arg: 1, mask: allBits, values: append(stackRegions(), 0), none: true, high: true}
	}
	return c
}

// callTable is every call that this machine has, by number; nil where it is
// none of ours.
var callTable = func() []*call {
	var t []*call
	for _, list := range [][]call{commonCalls, legacyCalls, watched} {
		for i := range list {
			c := &list[i]
			c.kind, _ = op.CallKind(c.name)
			for len(t) <= int(c.nr) {
				t = append(t, nil)
			}
			t[c.nr] = c
		}
	}
	return t
}()

// callOf finds a call by its number.
func callOf(nr uint32) *call {
	if int(nr) < len(callTable) {
		return callTable[nr]
	}
	return nil
}

// callsOf picks the calls of this machine that have the given names.
func callsOf(names []string) []call {
	want := make(map[string]bool, len(names))
	for _, n := range names {
		want[n] = true
	}
	var out []call
	for _, list := range [][]call{commonCalls, legacyCalls} {
		for _, c := range list {
			if want[c.name] {
				out = append(out, c)
			}
		}
	}
	return out
}

// trapped is every call of this machine that the filter sends us as an
// operation.
func (c Config) trapped() []call {
	out := callsOf(c.Calls)
	if !c.OpenWrites {
		return out
	}
	for _, o := range callsOf([]string{"open", "openat", "openat2", "creat"}) {
		if !slices.Contains(c.Calls, o.name) {
			out = append(out, writing(o))
		}
	}
	return out
}

// writing narrows an open to flags with which it can change something. O_TMPFILE
// is refused without one of them.
func writing(c call) call {
	const flags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	if arg := c.shape.(opening).flags; arg != none {
		c.test = &argTest{arg: arg, mask: flags, values: []uint32{0}, none: true}
	}
	return c
}
