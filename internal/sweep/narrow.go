//go:build linux

package sweep

import (
	"slices"
	"strings"

	"faultlab/internal/trial"
)

// Around is what to explore around a choice, in the words of the command line.
type Around struct {
	Ops, Faults, Paths []string
	Depth              int
}

// Narrow gives a choice's neighbourhood: the same kinds of operation on the same
// paths, and the same faults, whatever their number. What a fix moves within
// that is still met.
func Narrow(choice string) (Around, error) {
	c, err := Parse(choice)
	if err != nil {
		return Around{}, err
	}
	a := Around{Depth: len(c.Rules)}
	for _, r := range c.Rules {
		fault, _, _ := strings.Cut(columnOf(r), " ")
		a.Ops = add(a.Ops, r.Word)
		a.Faults = add(a.Faults, strings.TrimSuffix(fault, ","))
		a.Paths = add(a.Paths, trial.AnyName(r.Path))
	}
	return a, nil
}

func add(list []string, word string) []string {
	if slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
