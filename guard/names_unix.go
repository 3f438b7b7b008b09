//go:build unix

package guard

import (
	"io/fs"
	"syscall"
)

// names is how many names a file has.
func names(_ string, info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 2 // not told: look
}
