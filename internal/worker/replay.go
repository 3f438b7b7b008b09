package worker

import "fmt"

// Score is how many cases a policy sorts rightly.
type Score struct {
	Correct int `json:"correct"`
	Cases   int `json:"cases"`
}

func (s Score) String() string {
	return fmt.Sprintf("%d of %d (%.3f)", s.Correct, s.Cases, float64(s.Correct)/float64(s.Cases))
}

// replay sorts every case, in order, by c.
func replay(c Candidate, d Dataset) Score {
	s := Score{Cases: len(d.Cases)}
	for _, one := range d.Cases {
		if c.sort(one) == one.Want {
			s.Correct++
		}
	}
	return s
}

func (c Candidate) sort(one Case) string {
	sum := c.Weights.LatencyMS*one.LatencyMS + c.Weights.Errors*one.Errors + c.Weights.Queue*one.Queue
	switch {
	case sum >= c.Page:
		return "page"
	case sum >= c.Ticket:
		return "ticket"
	}
	return "ignore"
}

// floorPermille is what a policy must reach even when there is no champion yet.
const floorPermille = 700

// gateError says that the candidate is not good enough: exit status 4.
type gateError struct{ reason string }

func (e gateError) Error() string { return e.reason }

func (s Score) belowFloor() bool { return s.Correct*1000 < s.Cases*floorPermille }

// gateHeldout lets a candidate pass that reaches the floor on cases that it cannot have been made for.
func gateHeldout(c Candidate, d Dataset) error {
	if s := replay(c, d); s.belowFloor() {
		return gateError{fmt.Sprintf("gate: %q scores %v on the held-out cases, below the floor of %.3f: nothing was changed, improve the candidate",
			c.Name, s, floorPermille/1000.0)}
	}
	return nil
}

// gate lets a candidate pass that reaches the floor and beats the champion on this very dataset. The champion's own
// record counts only if it was made on the same dataset; otherwise the champion is replayed too.
func gate(r Record, champion *Record, d Dataset) error {
	if r.belowFloor() {
		return gateError{fmt.Sprintf("gate: %q scores %v, below the floor of %.3f: nothing was changed, improve the candidate",
			r.Candidate.Name, r.Score, floorPermille/1000.0)}
	}
	if champion == nil {
		return nil
	}
	best := champion.Score
	if champion.Dataset != r.Dataset {
		best = replay(champion.Candidate, d)
	}
	if r.Correct <= best.Correct { // the same dataset, so the same number of cases
		return gateError{fmt.Sprintf("gate: %q scores %v and does not beat the champion %q with %v: nothing was changed",
			r.Candidate.Name, r.Score, champion.Candidate.Name, best)}
	}
	return nil
}
