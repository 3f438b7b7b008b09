//go:build linux

package race

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// samples plays orders by chance, with any number of preemptions. Which the i-th is
// depends on the seed alone, and on what the actors do.
func (h *hunt) samples() error {
	wanted := h.wanted()
	for i := range wanted {
		var soon []task
		for j := i + 1; j < min(i+cap(h.ahead.slots), wanted); j++ {
			soon = append(soon, h.sample(j))
		}
		switch _, err := h.play(h.sample(i), soon); {
		case errors.Is(err, errDeparted):
			h.depart()
		case err != nil:
			return err
		default:
			h.stats.Sampled++
		}
		if h.over {
			return nil
		}
	}
	return nil
}

// wanted is how many samples there may be: a limit on all schedules holds for them, too.
func (h *hunt) wanted() int {
	left := max(0, h.MaxSchedules-h.stats.Schedules)
	switch {
	case h.Fill:
		return left
	case h.MaxSchedules > 0:
		return min(h.Samples, left)
	}
	return h.Samples
}

func (r *Race) sample(i int) task {
	return task{fmt.Sprint("sample ", i), false, func() director { return newSampler(r.Seed, i, r.CrashAny) }}
}

// sampler directs by chance.
type sampler struct {
	chance *rand.Rand
	rate   float64 // how often it leaves one that could go on
	deadly bool    // nobody has died yet, and one may
}

// newSampler has a rate of its own for each order: races that need few switches at
// the right place show in other orders than those that need many.
func newSampler(seed uint64, i int, crash bool) *sampler {
	s := &sampler{chance: rand.New(rand.NewPCG(seed, uint64(i)))}
	s.rate = 1 / float64(int(2)<<s.chance.IntN(4)) // 1/2 to 1/16
	s.deadly = crash && s.chance.IntN(4) > 0
	return s
}

// direct implements director.
func (s *sampler) direct(_ int, n *node) (turn, error) {
	if s.deadly && s.chance.Float64() < deathRate {
		s.deadly = false
		return turn{actor: s.one(n.enabled), dies: true}, nil
	}
	from := n.enabled.minus(n.polling)
	if n.last != nobody {
		if n.enabled.has(n.last) && s.chance.Float64() >= s.rate {
			return nature, nil
		}
		from = from.without(n.last)
	}
	return turn{actor: s.one(from)}, nil
}

const deathRate = 1.0 / 16

// one of some actors; nobody where there is none.
func (s *sampler) one(from actors) int {
	var list []int
	for a := range MaxActors {
		if from.has(a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nobody
	}
	return list[s.chance.IntN(len(list))]
}
