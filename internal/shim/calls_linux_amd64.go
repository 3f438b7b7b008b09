package shim

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	newfstatat = unix.SYS_NEWFSTATAT
	// Numbers from here on are the x32 ABI's: another convention under the
	// same architecture word.
	foreignFrom = 0x40000000
)

// legacyCalls are those that arm64 never had: its C library uses the *at forms.
var legacyCalls = []call{
	{name: "open", nr: unix.SYS_OPEN, shape: opening{dir: none, path: 0, flags: 1}},
	{name: "creat", nr: unix.SYS_CREAT, shape: opening{dir: none, path: 0, flags: none, fixed: unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC}},
	{name: "mknod", nr: unix.SYS_MKNOD, shape: naming{dir: none, path: 0}},
	{name: "getdents", nr: unix.SYS_GETDENTS, shape: descriptor{fd: 0, size: none, off: none}},
	{name: "stat", nr: unix.SYS_STAT, shape: naming{dir: none, path: 0, follow: true}},
	{name: "lstat", nr: unix.SYS_LSTAT, shape: naming{dir: none, path: 0}},
	{name: "access", nr: unix.SYS_ACCESS, shape: naming{dir: none, path: 0, follow: true}},
	{name: "readlink", nr: unix.SYS_READLINK, shape: naming{dir: none, path: 0}},
	{name: "rename", nr: unix.SYS_RENAME, shape: pair{none, 0, none, 1}},
	{name: "renameat", nr: unix.SYS_RENAMEAT, shape: pair{0, 1, 2, 3}},
	{name: "link", nr: unix.SYS_LINK, shape: pair{none, 0, none, 1}},
	{name: "symlink", nr: unix.SYS_SYMLINK, shape: naming{dir: none, path: 1}},
	{name: "unlink", nr: unix.SYS_UNLINK, shape: unlinking{dir: none, path: 0, flags: none}},
	{name: "rmdir", nr: unix.SYS_RMDIR, shape: naming{dir: none, path: 0}},
	{name: "mkdir", nr: unix.SYS_MKDIR, shape: naming{dir: none, path: 0}},
	{name: "chmod", nr: unix.SYS_CHMOD, shape: naming{dir: none, path: 0, follow: true}},
	{name: "chown", nr: unix.SYS_CHOWN, shape: naming{dir: none, path: 0, follow: true}},
	{name: "lchown", nr: unix.SYS_LCHOWN, shape: naming{dir: none, path: 0}},
	{name: "utime", nr: unix.SYS_UTIME, shape: naming{dir: none, path: 0, follow: true}},
	{name: "utimes", nr: unix.SYS_UTIMES, shape: naming{dir: none, path: 0, follow: true}},
	{name: "futimesat", nr: unix.SYS_FUTIMESAT, shape: naming{dir: 0, path: 1, follow: true}},
}
