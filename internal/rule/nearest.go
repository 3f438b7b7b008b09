package rule

import (
	"cmp"
	"slices"
	"strings"

	"faultlab/internal/op"
)

// nearestCount is how many points a message can hold and still be read.
const nearestCount = 3

// Nearest returns the few seen points that come closest to what r asked for,
// closest first, for the message of a rule that never fired: one for each
// actor, kind and path, and of those the one whose number is closest. A
// placeholder in r is compared with the points' canonical names.
func Nearest(r Rule, seen []op.Point) []op.Point {
	j := judge{rule: r, kinds: wordKinds(r.Word), matches: matchPath(holesAsText(r.Path), "")}
	best := make(map[op.Point]int) // a point without its number -> its place in near
	var near []scored
	for _, p := range seen {
		key := p
		key.Nth = 0
		s := scored{p, j.score(p)}
		if i, ok := best[key]; !ok {
			best[key] = len(near)
			near = append(near, s)
		} else if closer(s, near[i]) < 0 {
			near[i] = s
		}
	}
	slices.SortStableFunc(near, closer)
	var points []op.Point
	for _, s := range near[:min(nearestCount, len(near))] {
		points = append(points, s.Point)
	}
	return points
}

type scored struct {
	op.Point
	score
}

// score is how far a point lies from a rule: 0 is what it asked for.
type score struct{ what, nth int }

func closer(a, b scored) int {
	return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.score.nth, b.score.nth))
}

type judge struct {
	rule    Rule
	kinds   op.Set
	matches func(path string) bool
}

// Each thing that is wrong costs so much that the same file under another
// operation comes before another file under the same one, unless the names
// are a slip of two letters apart.
const (
	wrongActor = 2
	wrongKind  = 5
	letter     = 2
)

func (j judge) score(p op.Point) score {
	var s score
	if j.rule.Actor != 0 && p.Actor != 0 && j.rule.Actor != p.Actor {
		s.what += wrongActor
	}
	if !j.kinds.Has(p.Kind) {
		s.what += wrongKind
	}
	s.what += j.pathScore(p.Path)
	s.nth = p.Nth - max(j.rule.Nth.First, 1)
	if s.nth < 0 {
		s.nth = -s.nth
	}
	return s
}

// pathScore compares the base names where the glob does not match: a path that
// was written from the wrong directory has the right one.
func (j judge) pathScore(path string) int {
	if j.matches(path) {
		return 0
	}
	if j.rule.Path == "" {
		return letter
	}
	const long = 64 // bytes of a name that are compared
	a, b := base(j.rule.Path), base(path)
	return 1 + letter*distance(a[:min(len(a), long)], b[:min(len(b), long)])
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
