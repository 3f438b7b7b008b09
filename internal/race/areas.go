//go:build linux

package race

import (
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// areas are the places outside the tree that the actors may change: their temporary
// folder, and what --allow names.
type areas []area

type area struct{ dir, name string }

func (r *Race) areasOf(stage *trial.Stage) areas {
	out := areas{{stage.Tmp(), "{tmp}"}}
	for _, dir := range r.runner.Allowed() {
		out = append(out, area{dir, "{outside}" + dir})
	}
	return out
}

// placed gives names in the areas a form that is the same in every play, and that
// counts as in the tree.
func (as areas) placed(o op.Op) op.Op {
	o.Path, o.To = as.place(o.Path), as.place(o.To)
	return o
}

func (as areas) place(path string) string {
	if path == "" || path[0] != '/' {
		return path
	}
	for _, a := range as {
		if rest, ok := strings.CutPrefix(path, a.dir); ok && (rest == "" || rest[0] == '/') {
			return a.name + rest
		}
	}
	return path
}

// scout is the gate of a run one after the other. Nothing waits at it; the names
// that are used in the areas are kept, in their order.
type scout struct {
	areas
	names []string
}

// Arrived implements shim.Gate.
func (s *scout) Arrived(t *shim.Ticket) bool {
	for _, path := range []string{t.Op.Path, t.Op.To} {
		if named := s.place(path); named != path && len(s.names) < maxMoves {
			s.names = append(s.names, named)
		}
	}
	return false
}

// names lists the names of a run in order of first appearance.
func (run *serial) names() []string {
	var used []string
	for _, actor := range run.order {
		for _, step := range run.steps[actor] {
			used = append(used, step.Path, step.To)
		}
	}
	seen := make(map[string]bool)
	var names []string
	for _, path := range append(used, run.outside...) {
		if path != "" && path[0] != '/' && !seen[path] {
			seen[path] = true
			names = append(names, path)
		}
	}
	return names
}
