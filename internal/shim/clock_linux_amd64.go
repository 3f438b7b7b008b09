package shim

import (
	"time"

	"golang.org/x/sys/unix"
)

// legacyClockCalls: only amd64 has kept the oldest one.
var legacyClockCalls = []clockCall{
	{call: call{name: "time", nr: unix.SYS_TIME}, do: func(r *Run, _ *clockCall, n *notification) {
		seconds := int64(r.wallTime(unix.CLOCK_REALTIME) / time.Second)
		if n.args[0] == 0 {
			r.reply(&response{id: n.id, val: seconds})
			return
		}
		r.give(n, n.args[0], pairOf(seconds, 0)[:8], seconds)
	}},
}
