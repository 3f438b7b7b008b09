//go:build linux

package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// progress draws a bar with a rate and the time left, on a terminal only. The
// libraries for it link an HTTP client, which every start of faultfs would pay for.
type progress struct {
	out   *os.File // nil: no terminal
	what  string
	began time.Time
	drawn time.Time
}

// Between two drawings, and columns of the bar.
const (
	progressPause = 100 * time.Millisecond
	progressWidth = 24
)

func newProgress(std streams, what string) *progress {
	p := &progress{what: what, began: time.Now()}
	if isTerminal(std.err) {
		p.out = std.err
	}
	return p
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// set draws how far it is, if it was not drawn just now.
func (p *progress) set(done, planned int) {
	if p.out == nil || time.Since(p.drawn) < progressPause {
		return
	}
	p.drawn = time.Now()
	fmt.Fprint(p.out, "\r\x1b[K"+p.line(done, max(planned, 1), time.Since(p.began)))
}

func (p *progress) line(done, planned int, since time.Duration) string {
	done = min(done, planned)
	full := progressWidth * done / planned
	rate := float64(done) / max(since.Seconds(), 0.001)
	left := time.Duration(float64(planned-done) / max(rate, 0.001) * float64(time.Second))
	return fmt.Sprintf("%s %s%s %d/%d  %.0f/s  %v left", p.what, strings.Repeat("█", full),
		strings.Repeat("░", progressWidth-full), done, planned, rate, left.Round(time.Second))
}

// done wipes the bar.
func (p *progress) done() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
