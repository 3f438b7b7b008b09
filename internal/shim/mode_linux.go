package shim

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
)

// onFile says that an operation works on an open file, whose mode is looked up by
// who must know it.
func onFile(o *op.Op, fd uint64) { o.FD, o.Opened = int(int32(fd)), proc{} }

// proc looks into /proc.
type proc struct{}

func (proc) Mode(tid, fd int) op.Mode {
	info, _ := os.ReadFile(procDir(tid) + "fdinfo/" + strconv.Itoa(fd))
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(rest), 8, 64)
			if err != nil {
				return 0
			}
			return modeOf(flags)
		}
	}
	return 0
}

// modeOf is the mode that the flags of an open ask for.
func modeOf(flags uint64) op.Mode {
	if flags&unix.O_PATH != 0 {
		return 0
	}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		return op.Reads
	case unix.O_WRONLY:
		return op.WritesOnly
	case unix.O_RDWR:
		return op.ReadsWrites
	}
	return 0
}
