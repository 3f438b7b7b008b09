//go:build linux

package cli

import (
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/sys/unix"
)

// progress draws a bar with a rate and the time left, on a terminal only.
type progress struct {
	bar     *progressbar.ProgressBar
	planned int
}

func newProgress(std streams, what string) *progress {
	if !isTerminal(std.err) {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions(-1,
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(std.err),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func (p *progress) set(done, planned int) {
	if p.bar == nil {
		return
	}
	if planned != p.planned {
		p.planned = planned
		p.bar.ChangeMax(planned)
	}
	_ = p.bar.Set(min(done, planned))
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
