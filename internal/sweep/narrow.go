//go:build linux

package sweep

import (
	"slices"
	"strings"

	"faultlab/internal/op"
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
		a.Paths = add(a.Paths, anyName(r.Path))
	}
	return a, nil
}

func add(list []string, word string) []string {
	if slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// anyName makes a glob of a selector's path: what varies from run to run may be
// anything.
func anyName(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		_, width := op.Hole(path[i:])
		if width > 0 {
			b.WriteByte('*')
		} else {
			width = 1
			b.WriteByte(path[i])
		}
		i += width
	}
	return b.String()
}
