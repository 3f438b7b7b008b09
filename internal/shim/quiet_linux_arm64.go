package shim

import "time"

// legacyDeadline knows the calls that only other machines have.
func (s sleep) legacyDeadline(int) (time.Duration, bool) { return 0, false }
