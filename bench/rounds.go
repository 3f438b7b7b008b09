package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one line of a table: a probe with its samples, one a round.
type row struct {
	name    string
	probe   probe
	base    *row      // what it is compared with
	samples []float64 // nanoseconds
	missing string    // why there is nothing to measure
}

// table is rows that belong together.
type table struct {
	title string
	unit  time.Duration // what it is printed in
	rows  []*row
}

func (t *table) add(name string, p probe, missing error) *row {
	r := &row{name: name, probe: p}
	if missing != nil {
		r.missing = missing.Error()
	}
	t.rows = append(t.rows, r)
	return r
}

const (
	// warmup rounds are measured and forgotten.
	warmup = 2
	// kept is the share of the rounds, the calmest, that counts.
	kept = 0.5
)

// runRounds measures rounds until the time is up or most of them are done. In
// a round every row takes its turn, so that whatever else the machine does
// meets all of them alike; each round begins with another row, so that none
// always follows the same. Then the rounds that had most company on the
// processors are dropped, for all rows at once.
func runRounds(rows []*row, lasting time.Duration, most int) error {
	deadline := time.Now().Add(lasting)
	var disturbed []int // by round
	for round := range most + warmup {
		if round > warmup && time.Now().After(deadline) {
			break
		}
		company := 0
		for i := range rows {
			r := rows[(i+round)%len(rows)]
			if r.missing != "" {
				continue
			}
			company += others()
			sample, err := r.probe.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if round >= warmup {
				r.samples = append(r.samples, sample)
			}
		}
		if round >= warmup {
			disturbed = append(disturbed, company)
		}
	}
	calm := calmest(disturbed)
	for _, r := range rows {
		if r.missing != "" {
			continue
		}
		all := r.samples
		r.samples = nil
		for _, round := range calm {
			r.samples = append(r.samples, all[round])
		}
	}
	return nil
}

// calmest picks the rounds to keep, in their order.
func calmest(disturbed []int) []int {
	rounds := make([]int, len(disturbed))
	for i := range rounds {
		rounds[i] = i
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(disturbed[a], disturbed[b]) })
	rounds = rounds[:int(math.Ceil(kept*float64(len(rounds))))]
	slices.Sort(rounds)
	return rounds
}

// others is how many programs, ours apart, run or want to run right now; 0
// where nobody says.
func others() int {
	running, _, _ := strings.Cut(loadField(3), "/")
	n, _ := strconv.Atoi(running)
	return max(n-1, 0)
}

// loadField is a field of /proc/loadavg.
func loadField(i int) string {
	text, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); i < len(fields) {
		return fields[i]
	}
	return ""
}

// median is the middle one, or 0 of none.
func median(samples []float64) float64 { return quantile(samples, 0.5) }

func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[int(q*float64(len(sorted)-1))]
}

// ratio is the median of the rounds' own ratios: both sides of each were taken
// within the same few milliseconds.
func (r *row) ratio(to *row) float64 {
	return paired(r, to, func(a, b float64) float64 { return a / b })
}

// over is the median of the rounds' own differences, in nanoseconds.
func (r *row) over(other *row) float64 {
	return paired(r, other, func(a, b float64) float64 { return a - b })
}

func paired(a, b *row, f func(a, b float64) float64) float64 {
	n := min(len(a.samples), len(b.samples))
	out := make([]float64, n)
	for i := range out {
		out[i] = f(a.samples[i], b.samples[i])
	}
	return median(out)
}
