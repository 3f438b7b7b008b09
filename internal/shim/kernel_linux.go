package shim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// receiveNeedsPoll: before Linux 6.11 a receiver was not woken when the last
// subject died, so it must look first.
var receiveNeedsPoll = release().before(6, 11)

type version struct{ major, minor int }

func (v version) before(major, minor int) bool {
	return v.major < major || v.major == major && v.minor < minor
}

// release is the kernel's version; zero if it cannot be read.
func release() version {
	var u unix.Utsname
	var v version
	if unix.Uname(&u) == nil {
		_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &v.major, &v.minor)
	}
	return v
}
