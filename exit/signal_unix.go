//go:build unix

package exit

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// watchSignals starts to listen, once. Not in init: a program that merely imports the package keeps Go's own behaviour.
var watchSignals = sync.OnceFunc(func() {
	caught := make(chan os.Signal, 1)
	for _, s := range endings {
		if !signal.Ignored(s) { // nohup: Notify would undo what the parent asked for
			signal.Notify(caught, s)
		}
	}
	// Notify on a channel that nobody reads is enough: it turns the death by SIGPIPE into EPIPE. Ignore would do so too,
	// but children would inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() { dieOf((<-caught).(syscall.Signal)) }()
})

// dieOf runs the hooks and ends the process by s itself, so that a parent sees a death by signal and a shell 128+n.
func dieOf(s syscall.Signal) {
	runReported()
	if s == syscall.SIGQUIT {
		dumpGoroutines()
	}
	if err := defaultAction(s); err == nil {
		_ = syscall.Kill(os.Getpid(), s)
		time.Sleep(time.Second) // delivered to another thread, any moment now
	}
	os.Exit(128 + int(s)) // the first process of a container is not killed by its own signals
}

func dumpGoroutines() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Fprintf(os.Stderr, "SIGQUIT: quit\n\n%s\n", stacks)
}
