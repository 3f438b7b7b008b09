//go:build !unix

package exit

import (
	"os"
	"os/signal"
	"sync"
)

// watchSignals knows Ctrl-C and Ctrl-Break here, and ends with 130, as a shell would say it.
var watchSignals = sync.OnceFunc(func() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	go func() {
		<-caught
		runReported()
		os.Exit(130)
	}()
})
