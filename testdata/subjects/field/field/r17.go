package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func init() { subjects["r17"] = r17 }

// r17 grant TTL|left|renew|watch LIMIT keeps a lease in the file lease. Bad: when
// it ends, and when it was last renewed, are times of the wall clock. Good: its
// end is one of the clock that nobody sets; a renewal is any change of the record,
// and who watches counts from when he saw the last one, by a clock of his own.
func r17(how string, args []string) int {
	wall := how == "bad"
	now := r17Boot
	if wall {
		now = func() time.Duration { return time.Duration(time.Now().UnixNano()) }
	}
	var err error
	switch args[0] {
	case "grant":
		ttl, _ := time.ParseDuration(args[1])
		err = r17Write(int64(now() + ttl))
	case "left":
		left := time.Duration(r17Read()) - now()
		fmt.Println("left", max(left, 0).Truncate(time.Second))
	case "renew":
		err = r17Renew(func(n int64) int64 { return map[bool]int64{true: int64(now()), false: n}[wall] })
	case "watch":
		limit, _ := time.ParseDuration(args[1])
		alive := r17Changes(limit)
		if wall {
			alive = now()-time.Duration(r17Read()) <= limit
		}
		if alive {
			fmt.Println("its holder lives")
			return 3
		}
		err = os.Remove("lease")
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

func r17Boot() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}

// r17Renew renews until there is a file stop.
func r17Renew(record func(n int64) int64) error {
	for n := int64(1); ; n++ {
		if err := r17Write(record(n)); err != nil {
			return err
		}
		if _, err := os.Stat("stop"); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// r17Changes reports whether the record changes within the limit.
func r17Changes(limit time.Duration) bool {
	first, from := r17Read(), r17Boot()
	for r17Read() == first {
		if r17Boot()-from > limit {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

func r17Write(record int64) error {
	if err := os.WriteFile("lease.tmp", strconv.AppendInt(nil, record, 10), 0o600); err != nil {
		return err
	}
	return os.Rename("lease.tmp", "lease")
}

func r17Read() int64 {
	text, _ := os.ReadFile("lease")
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
}
