//go:build linux

package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// progress draws a bar with a rate and the time left, on a terminal only; how
// long it has been, where it is not known how much there is. The libraries for it
// link an HTTP client, which every start of faultfs would pay for.
type progress struct {
	out   *os.File // nil: no terminal
	what  string
	began time.Time
	stop  chan struct{}
	drawn sync.WaitGroup

	sync.Mutex    // of what follows
	done, planned int
	counting      time.Time // since when it is known how much there is
}

// Between two drawings, and columns of the bar.
const (
	progressPause = 100 * time.Millisecond
	progressWidth = 24
)

// newProgress draws until it is ended, whether or not anything is told to it: what
// comes before the first experiment, or a long one, is not to look like a standstill.
func newProgress(std streams, what string) *progress {
	p := &progress{what: what, began: time.Now(), stop: make(chan struct{})}
	if isTerminal(std.err) {
		p.out = std.err
		p.drawn.Go(p.draw)
	}
	return p
}

func (p *progress) draw() {
	tick := time.NewTicker(progressPause)
	defer tick.Stop()
	for {
		fmt.Fprint(p.out, "\r\x1b[K"+p.line(time.Now()))
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// set says how far it is.
func (p *progress) set(done, planned int) {
	p.Lock()
	defer p.Unlock()
	if p.planned == 0 {
		p.counting = time.Now()
	}
	p.done, p.planned = min(done, planned), max(planned, 1)
}

func (p *progress) line(now time.Time) string {
	p.Lock()
	defer p.Unlock()
	if p.planned == 0 {
		return fmt.Sprintf("%s … %v", p.what, now.Sub(p.began).Truncate(time.Second))
	}
	full := progressWidth * p.done / p.planned
	bar := fmt.Sprintf("%s %s%s %d/%d", p.what, strings.Repeat("█", full), strings.Repeat("░", progressWidth-full), p.done, p.planned)
	if p.done == 0 {
		return bar
	}
	rate := float64(p.done) / max(now.Sub(p.counting).Seconds(), 0.001)
	left := time.Duration(float64(p.planned-p.done) / rate * float64(time.Second))
	return fmt.Sprintf("%s  %.0f/s  %v left", bar, rate, left.Round(time.Second))
}

// end wipes the bar.
func (p *progress) end() {
	close(p.stop)
	p.drawn.Wait()
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
