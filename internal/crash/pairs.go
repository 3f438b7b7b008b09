//go:build linux

package crash

// mostPairs bounds how many pairs of events are looked at, over all points.
const mostPairs = 30_000

// leastPairs are looked at wherever there are so many, however long the record.
const leastPairs = 120

// pairs loses two events at once, and keeps two alone. Where they are too many, it
// takes those of the latest events: the others had their turn at earlier points.
func (e *enumeration) pairs(point int, fresh bool) {
	pending, window := e.pending, eventsOf(max(leastPairs, mostPairs/len(e.d.rec.Events)))
	if skipped := len(pending) - window; skipped > 0 {
		e.leave(couples(len(pending))-couples(window), fresh)
		pending = pending[skipped:]
	}
	for k, i := range pending {
		for _, j := range pending[k+1:] {
			for _, a := range e.fates(i) {
				for _, b := range e.fates(j) {
					e.add(&State{Point: point, Terms: []Term{a, b}})
				}
			}
			if fresh || j == point-1 {
				e.add(&State{Point: point, Terms: []Term{{Lost, 0, Selection{All, -1}},
					{Kept, 0, Selection{One, i}}, {Kept, 0, Selection{One, j}}}})
			}
		}
	}
}

func couples(n int) int { return n * (n - 1) / 2 }

// eventsOf is how many events have at most so many pairs.
func eventsOf(pairs int) int {
	n := 1
	for couples(n+1) <= pairs {
		n++
	}
	return n
}
