package shim

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// breaks tells whether calls of the subject were broken off by signals before
// the supervisor had received them. The kernel gives calls consecutive ids, so
// each one leaves a gap. Most do no harm: the call is begun again and comes
// under another id. Only where a handler was installed without SA_RESTART, for
// a signal that can have come, the program saw an EINTR that it would not have
// seen without us, and the run says nothing about it.
type breaks struct {
	last    uint64
	missing int
	// Bits are signals, 1<<(number-1).
	fragile   uint64        // handled without SA_RESTART, in any process
	delivered atomic.Uint64 // sent by the subject, or passed on to it
}

// received counts a call in; the receiving thread's.
func (b *breaks) received(id uint64) {
	if b.last != 0 && id != b.last+1 {
		b.missing += int(id - b.last - 1)
	}
	b.last = id
}

// handler notes a new signal action: flags is its sa_flags.
func (b *breaks) handler(sig syscall.Signal, handler, flags uint64) {
	const sigDfl, sigIgn = 0, 1
	if handler != sigDfl && handler != sigIgn && flags&saRestart == 0 {
		b.fragile |= bit(sig)
	}
}

const saRestart = 0x10000000

// sent notes a signal on its way to the subject.
func (b *breaks) sent(sig syscall.Signal) {
	b.delivered.Or(bit(sig))
}

func bit(sig syscall.Signal) uint64 {
	if sig < 1 || sig > 64 {
		return 0
	}
	return 1 << (sig - 1)
}

// onlySent are signals that come when somebody sends them; the others the
// kernel sends by itself.
var onlySent = bit(unix.SIGHUP) | bit(unix.SIGINT) | bit(unix.SIGQUIT) | bit(unix.SIGTERM) |
	bit(unix.SIGUSR1) | bit(unix.SIGUSR2) | bit(unix.SIGTSTP) | bit(unix.SIGABRT) | bit(unix.SIGWINCH)

// verdict is why the run is void, or "".
func (b *breaks) verdict() string {
	if b.missing == 0 || b.fragile&^(onlySent&^b.delivered.Load()) == 0 {
		return ""
	}
	return fmt.Sprintf("a signal broke off %d of the subject's calls before the supervisor had them, and a handler without SA_RESTART may have made them fail with EINTR: repeat the run", b.missing)
}
