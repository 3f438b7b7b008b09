package fence

import "time"

// Clock tells the time by which leases expire: a reading since a beginning of
// its own. It must not follow the wall clock.
type Clock interface {
	// Now is the reading. Within one era it must not go back; a grantor that
	// sees it go back uses the greatest reading it has stored, so that a lease
	// may last longer but never shorter.
	Now() time.Duration

	// Era names the beginning: readings compare only within one era. A grantor
	// that is opened in another era than its leases were granted in cannot know
	// how much time has passed, and gives each of them its full TTL again.
	Era() string
}

// RealClock is the clock of this machine. On Linux it is CLOCK_BOOTTIME, which
// no setting of the wall clock moves and which counts while the machine is
// suspended; its era is the boot, so a restart of the grantor changes nothing
// and only a reboot starts the leases anew. Elsewhere it is Go's monotonic
// clock, whose era is the process.
func RealClock() (Clock, error) { return realClock() }

// virtualEra is the era of every virtual clock: its reading is in the state
// file and so survives everything.
const virtualEra = "virtual"

// VirtualClock moves only when [Grantor.Advance] is called. Its reading begins
// at 0 and is kept in the state file.
func VirtualClock() Clock { return virtual{} }

// virtual always reads 0: the grantor takes the greater of the clock's reading
// and the stored one, and Advance moves the stored one.
type virtual struct{}

func (virtual) Now() time.Duration { return 0 }
func (virtual) Era() string        { return virtualEra }
