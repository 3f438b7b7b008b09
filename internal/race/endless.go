//go:build linux

package race

import (
	"fmt"
	"time"

	"faultlab/internal/shim"
)

// maxMoves bounds one schedule.
const maxMoves = 5000

// far says how far a play has come where that is far enough, and what helps. How long
// it may take is told in runs: each actor has what it would have alone.
func (p *play) far(began time.Time) (far, cure string) {
	const fewer = "with --path only operations on some names are points"
	limit := time.Duration(len(p.actors)) * p.runner.Timeout()
	switch {
	case len(p.moves) >= p.most:
		return fmt.Sprintf("%d operations", p.most), fewer
	case time.Since(began) > limit:
		return fmt.Sprint(limit), "give a longer --timeout, or " + fewer
	}
	return "", ""
}

// breakOff ends a play that has come far enough. Where whoever can move only polls,
// somebody waits for ever. Any other is no more than long: one after the other the
// programs do end.
func (p *play) breakOff(far, cure string) error {
	if n := len(p.nodes); n > 0 && p.nodes[n-1].enabled.minus(p.nodes[n-1].polling) == 0 {
		p.over = fmt.Sprintf("%s and no end: who can go on looks at the same again and again", far)
		return nil
	}
	return endless{shim.Voidf("an order of the programs, which do end one after the other, has no end within %s: %s", far, cure)}
}

// endless is the void of a play that was too long. Played again it would be, too.
type endless struct{ error }

func (e endless) Unwrap() error { return e.error }
