package rule

import "fmt"

// OverlapError says that two rules of a set select the same operations, so
// that the later never fires where both could.
type OverlapError struct{ Earlier, Later Rule }

func (e *OverlapError) Error() string {
	if e.Later.Pos.File != "" {
		return fmt.Sprintf("%s:%d:%d: %q overlaps %q on line %d, which comes first",
			e.Later.Pos.File, e.Later.Pos.Line, e.Later.Pos.Col, e.Later, e.Earlier, e.Earlier.Pos.Line)
	}
	return fmt.Sprintf("rule %q overlaps rule %q, which comes first", e.Later, e.Earlier)
}

// CheckSet asks whether each of rules, which a Matcher is to take in this
// order, can fire wherever its nth says. It returns nil or an *OverlapError.
// It compares selectors by their text: rules that differ in path may share
// operations, and there the first wins by design.
func CheckSet(rules []Rule) error {
	seen := make(map[Selector][]Rule)
	for _, r := range rules {
		key := r.Selector
		key.Nth, key.Budget = Range{}, max(key.Budget, 0)
		for _, earlier := range seen[key] {
			if earlier.reach().Meets(r.Nth) {
				return &OverlapError{Earlier: earlier, Later: r}
			}
		}
		seen[key] = append(seen[key], r)
	}
	return nil
}

// reach is the numbers at which r fires, or has left a state that fails them.
func (r Rule) reach() Range {
	if r.stays() && r.Verb == DoFail && !local(r.Errno) {
		return Range{First: r.Nth.First}
	}
	return r.Nth
}
