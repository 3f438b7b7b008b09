//go:build linux

package trial

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/shim"
)

// watchdog ends what would eat the machine: a run that prints or forks without
// end, and all of them when the scratch disk runs full.
type watchdog struct {
	dir  string
	base int // threads on the machine when it began
	most int // processes of one run
	quit chan struct{}
	mu   sync.Mutex
	runs map[*watched]bool
}

type watched struct {
	run     *shim.Run
	streams []*stream
	why     string
}

// Between two looks, and how much must stay free on the scratch disk.
const (
	watchPause = 100 * time.Millisecond
	leastFree  = 64 << 20 // bytes
	crowd      = 1000     // processes of one run
)

func newWatchdog(dir string) *watchdog {
	w := &watchdog{dir: dir, base: threads(), most: crowd, quit: make(chan struct{}), runs: make(map[*watched]bool)}
	go w.watch()
	return w
}

func (w *watchdog) stop() { close(w.quit) }

func (w *watchdog) watch() {
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
			w.look()
		}
	}
}

func (w *watchdog) look() {
	full, all := w.full(), threads()
	w.mu.Lock()
	defer w.mu.Unlock()
	crowded := all > w.base+w.most
	for d := range w.runs {
		switch {
		case full:
			d.end("fills the disk: less than 64 MiB are left for copies")
		case d.printsTooMuch():
			d.end("prints without end: more than 64 MiB")
		case crowded && d.run.Crowded(w.most):
			d.end(fmt.Sprintf("forks without end: more than %d processes", w.most))
		}
	}
}

// threads is how many the machine has: one call, while counting a run's own
// takes a look at each.
func threads() int {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int(info.Procs)
}

func (w *watchdog) full() bool {
	var st unix.Statfs_t
	return unix.Statfs(w.dir, &st) == nil && st.Bavail*uint64(st.Bsize) < leastFree
}

func (d *watched) printsTooMuch() bool {
	for _, s := range d.streams {
		if s.tooMuch() {
			return true
		}
	}
	return false
}

func (d *watched) end(why string) {
	if d.why == "" {
		d.why = why
		go d.run.Kill()
	}
}

// over watches a run until the function that it returns is called, which says
// why the run was ended, if it was. A context that ends also ends the run.
func (w *watchdog) over(ctx context.Context, run *shim.Run, streams ...*stream) func() string {
	d := &watched{run: run, streams: streams}
	w.mu.Lock()
	w.runs[d] = true
	w.mu.Unlock()
	interrupted := context.AfterFunc(ctx, run.Kill)
	return func() string {
		interrupted()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.runs, d)
		return d.why
	}
}
