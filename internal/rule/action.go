package rule

import (
	"fmt"
	"time"

	"faultlab/internal/op"
)

// Verb is what an action does.
type Verb uint8

// The verbs. DoNothing lets the operation go on as it came.
const (
	DoNothing Verb = iota
	DoFail         // return Errno; nothing is done
	DoShort        // do Bytes of it and return Bytes
	DoKill         // end the subject, or only the calling process
	DoSignal       // send Signal to the calling process, then go on
	DoDelay        // wait Delay, then go on
	DoHold         // wait until the file Until exists, then go on
	verbEnd
)

var verbNames = [verbEnd]string{"nothing", "fail", "short", "kill", "signal", "delay", "hold"}

func (v Verb) String() string {
	if v < verbEnd {
		return verbNames[v]
	}
	return fmt.Sprintf("verb(%d)", uint8(v))
}

// When is how much of the operation is done before a kill.
type When uint8

// The moments of a kill.
const (
	Before When = iota // none of it
	After              // all of it
	Mid                // Bytes of it
)

// Action is one fault. Only the fields that Verb names mean anything.
type Action struct {
	Verb Verb
	// Errno is what DoFail returns. In a rule's DoShort it is what the writes
	// (or reads) after the short one return, 0 for none; Matcher.Decide hands
	// it out as a DoFail of its own.
	Errno Errno
	// Stay says, in a rule with an errno, that the machine stays as it was when
	// the rule fired: a full disk is full for everybody. Matcher.Decide hands
	// out the failures that follow, and never this word.
	Stay    bool
	Bytes   int64         // DoShort, and DoKill at Mid: bytes that are done, at least 1
	When    When          // DoKill
	Process bool          // DoKill: only the process that called
	Signal  Signal        // DoSignal
	Delay   time.Duration // DoDelay
	// Until and Mark are files for DoHold, relative to the tree or absolute.
	// Mark, if any, is to be made when the operation is held.
	Until, Mark string
}

// String prints a canonically, as it stands after "do".
func (a Action) String() string {
	switch a.Verb {
	case DoFail:
		return a.failString()
	case DoShort:
		return a.shortString()
	case DoKill:
		return a.killString()
	case DoSignal:
		return "signal " + a.Signal.String()
	case DoDelay:
		return "delay " + a.Delay.String()
	case DoHold:
		return a.holdString()
	}
	return a.Verb.String()
}

func (a Action) failString() string {
	s := "fail " + a.Errno.String()
	if a.Stay {
		s += " stay"
	}
	return s
}

func (a Action) shortString() string {
	s := fmt.Sprintf("short %d", a.Bytes)
	if a.Errno != 0 {
		s += " " + a.failString()
	}
	return s
}

func (a Action) killString() string {
	s := "kill"
	if a.Process {
		s += " process"
	}
	switch a.When {
	case After:
		s += " after"
	case Mid:
		s += fmt.Sprintf(" mid %d", a.Bytes)
	}
	return s
}

func (a Action) holdString() string {
	s := "hold until=" + op.Quote(a.Until)
	if a.Mark != "" {
		s += " mark=" + op.Quote(a.Mark)
	}
	return s
}

// lands is how many of size bytes get into the file when a is done to a write.
func (a Action) lands(size int64) int64 {
	switch {
	case a.Verb == DoFail, a.Verb == DoKill && a.When == Before:
		return 0
	case a.Verb == DoShort, a.Verb == DoKill && a.When == Mid:
		return min(a.Bytes, size)
	}
	return size
}
