package shim

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	newfstatat = unix.SYS_FSTATAT
	// There is one convention only under this architecture word.
	foreignFrom = 0
)

// legacyCalls: renameat is the only older form that arm64 kept.
var legacyCalls = []call{
	{name: "renameat", nr: unix.SYS_RENAMEAT, shape: pair{0, 1, 2, 3}},
}
