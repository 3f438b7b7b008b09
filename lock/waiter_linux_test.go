package lock

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// waitForFlockWaiter returns once somebody is blocked in flock on f: /proc/locks shows him with an arrow.
func waitForFlockWaiter(t *testing.T, f *os.File) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Error(err)
	}
	inode := fmt.Sprintf(":%d ", st.Ino)
	for {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip("no /proc/locks")
		}
		for line := range strings.Lines(string(locks)) {
			if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
				return
			}
		}
		runtime.Gosched()
	}
}
