//go:build linux

package trial

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/shim"
)

// watchdog ends what would eat the machine: a run that prints or forks without
// end, and all of them when the scratch disk runs full.
type watchdog struct {
	dir  string
	free func() int64 // bytes left on the scratch disk
	base int          // threads on the machine when it began
	most int          // processes of one run
	quit chan struct{}
	mu   sync.Mutex
	runs map[*watched]bool
	tree string // what a run finds, "" while it is made
}

type watched struct {
	run     *shim.Run
	folder  string // of its copy
	free    int64  // bytes, before it began
	streams []*stream
	why     string
	err     error // why it shows nothing, if it does not
}

// Between two looks, and how much must stay free on the scratch disk.
const (
	watchPause = 100 * time.Millisecond
	leastFree  = 64 << 20 // bytes
	crowd      = 1000     // processes of one run
)

func newWatchdog(dir string) *watchdog {
	w := &watchdog{dir: dir, free: func() int64 { return freeOn(dir) }, base: threads(), most: crowd, quit: make(chan struct{}), runs: make(map[*watched]bool)}
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
	w.mu.Lock()
	defer w.mu.Unlock()
	free, all := w.free(), threads()
	crowded := all > w.base+w.most
	for d := range w.runs {
		switch {
		case d.why != "":
		case free < leastFree && w.taker(d, free):
			d.end("fills the disk: less than 64 MiB are left for copies")
		case free < leastFree:
			d.err = w.fullOfOthers(free)
			d.end("is on a full disk")
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

// room says why no copy should be made where there is so little left, with the
// cure.
func (w *watchdog) room() error {
	if free := w.left(); free < leastFree {
		return w.fullOfOthers(free)
	}
	return nil
}

// left is what is free now.
func (w *watchdog) left() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.free()
}

func (w *watchdog) fullOfOthers(free int64) error {
	return shim.Voidf("the disk of %s is full: %d MiB are left and 64 MiB are needed, and it is not the program that takes them; make room, or name another place for the copies, such as TMPDIR=/var/tmp", filepath.Dir(w.dir), free>>20)
}

// freeOn is what is left on a disk. One that cannot say has enough.
func freeOn(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return math.MaxInt64
	}
	return int64(st.Bavail) * st.Bsize
}

// taker reports whether it is the run that has taken what is no longer free: its
// share of it at least, or half of that. One that began on a full disk has not.
func (w *watchdog) taker(d *watched, free int64) bool {
	if d.free < leastFree {
		return false
	}
	took := used(d.folder)
	if w.tree != "" {
		took -= used(w.tree)
	}
	return took*2*int64(len(w.runs)) >= d.free-free
}

// used is how many bytes of the disk are a folder's.
func used(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // shut, or gone by now
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return bytes
}

// finds says which tree a run finds.
func (w *watchdog) finds(tree string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tree = tree
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
// why the run was ended, if it was; the error says that this shows nothing. A
// context that ends also ends the run.
func (w *watchdog) over(ctx context.Context, run *shim.Run, folder string, free int64, streams ...*stream) func() (string, error) {
	d := &watched{run: run, folder: folder, free: free, streams: streams}
	w.mu.Lock()
	w.runs[d] = true
	w.mu.Unlock()
	interrupted := context.AfterFunc(ctx, run.Kill)
	return func() (string, error) {
		interrupted()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.runs, d)
		return d.why, d.err
	}
}
