package fence

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type bootClock struct{ era string }

func realClock() (Clock, error) {
	const bootID = "/proc/sys/kernel/random/boot_id"
	id, err := os.ReadFile(bootID)
	if err != nil {
		return nil, fmt.Errorf("tell one boot of this machine from another: %w: mount /proc", err)
	}
	// A time namespace shifts CLOCK_BOOTTIME, so the same boot seen from two
	// namespaces is two eras. A kernel without them has no such link.
	ns, _ := os.Readlink("/proc/self/ns/time")
	c := bootClock{era: strings.TrimSpace("boot " + strings.TrimSpace(string(id)) + " " + ns)}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return nil, fmt.Errorf("read CLOCK_BOOTTIME: %w: this kernel is too old, use the virtual clock", err)
	}
	return c, nil
}

func (c bootClock) Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("fence: CLOCK_BOOTTIME stopped working: " + err.Error()) // it was read when the clock was made
	}
	return time.Duration(ts.Nano())
}

func (c bootClock) Era() string { return c.era }
