package faultlab

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Testscript waits for programs without a limit. At a script's end it sends an
// interrupt to each that runs in the background, which a shell that waits for a
// child does not heed; and it reads the output of a program until nobody holds
// the pipe any more, which a child that was left behind may do for ever. The
// watch puts an end to both, and to whatever else lasts until the test's
// deadline.

const (
	// watchPause is how often the watch looks.
	watchPause = 200 * time.Millisecond
	// heed is how long a program may take to end after the interrupt.
	heed = time.Second
)

// lingering is how long a script may wait for a program that has ended while
// another one holds the pipe of its output.
var lingering = 10 * time.Second

// scriptFunc is how testscript takes a command.
type scriptFunc = func(ts *testscript.TestScript, neg bool, args []string)

// watched notes that a command is under way.
func watched(cmd scriptFunc) scriptFunc {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if s := of(ts); s != nil {
			s.busy.Add(1)
			defer s.busy.Add(-1)
		}
		cmd(ts, neg, args)
	}
}

func (s *script) watch() (stop func()) {
	done := make(chan struct{})
	deadline := s.deadline()
	go func() {
		tick := time.NewTicker(watchPause)
		defer tick.Stop()
		var ending, lingers stopwatch
		for {
			select {
			case <-done:
				return
			case <-deadline:
				s.cut("the test's time was over, and these programs would not end")
				return
			case <-tick.C:
			}
			if ending.reads(s.ending()) > heed {
				_, _ = endMarked(s.mark)
			}
			if lingers.reads(s.lingers()) > lingering {
				s.cut("these programs kept the output of one that had ended, for which the script was waiting")
			}
		}
	}()
	return func() { close(done) }
}

// stopwatch is the time since which something has been so.
type stopwatch struct{ since time.Time }

func (w *stopwatch) reads(so bool) time.Duration {
	switch {
	case !so:
		w.since = time.Time{}
	case w.since.IsZero():
		w.since = time.Now()
	default:
		return time.Since(w.since)
	}
	return 0
}

// deadline comes when half of the time that testscript keeps for the end is
// left; nil where there is none.
func (s *script) deadline() <-chan time.Time {
	t, ok := s.t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return nil
	}
	end, ok := t.Deadline()
	if !ok {
		return nil
	}
	left := time.Until(end)
	return time.After(left - left/20)
}

// ending reports whether the script is over and waits for its background
// programs. Nothing but its stack tells; were that to read otherwise one day,
// such programs would last until the deadline.
func (s *script) ending() bool {
	if s.busy.Load() > 0 {
		return false
	}
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	for stack := range bytes.SplitSeq(dump, []byte("\n\n")) {
		if bytes.HasPrefix(stack, []byte(s.self)) {
			waits := bytes.Contains(stack, []byte("TestScript).waitBackground("))
			asked := bytes.Contains(stack, []byte("TestScript).cmdWait("))
			skips := bytes.Contains(stack, []byte("TestScript).cmdSkip("))
			return waits && (skips || !asked)
		}
	}
	return false
}

// goroutine is how the caller's goroutine begins in a dump.
func goroutine() string {
	head := make([]byte, 64)
	text, _, _ := strings.Cut(string(head[:runtime.Stack(head, false)]), "[")
	return text + "["
}

// lingers reports whether the script runs no command and waits for no program
// of its own, but something that it started lives on. Between two commands that
// is so for no time that matters.
func (s *script) lingers() bool {
	if s.busy.Load() > 0 {
		return false
	}
	living := marked(s.mark)
	for _, pid := range living {
		if parentOf(pid) == os.Getpid() {
			return false
		}
	}
	return len(living) > 0
}

// cut ends the script's programs, for which it is to fail. The reason must be
// there before the last of them goes, with which the script's end may come.
func (s *script) cut(why string) {
	var names []string
	for _, pid := range marked(s.mark) {
		names = append(names, fmt.Sprintf("%d %s", pid, programOf(pid)))
	}
	if len(names) == 0 {
		return
	}
	msg := fmt.Sprintf("%s and were killed: %s", why, strings.Join(names, ", "))
	s.late.Store(&msg)
	_, _ = endMarked(s.mark)
}
