package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"faultlab/internal/op"
)

// holes matches a glob with placeholders, "run.lock.{1}". A hole takes any
// non-empty run of characters without a slash. The values that come to stand
// in one place are numbered in order of first appearance, each place by
// itself, and only the value with the hole's number matches.
type holes struct {
	shape  string   // the glob with each hole as "?*"
	pieces []string // what stands before, between and behind the holes
	places []place
}

type place struct {
	number int      // from 1
	values []string // the first so many; later ones can no longer matter
}

func newHoles(glob string) *holes {
	h := &holes{}
	h.pieces, h.places = split(glob)
	h.shape = strings.Join(h.pieces, "?*")
	return h
}

// match must see every path of the run: it numbers as it goes. Its answer for
// a path stays the same.
func (h *holes) match(name string) bool {
	values := h.fill(name)
	if values == nil {
		return false
	}
	all := true
	for i := range h.places {
		all = h.places[i].number == h.places[i].numberOf(values[i]) && all
	}
	return all
}

// numberOf gives v the next number if it has none; 0 says that no number up to
// the place's own is v's.
func (p *place) numberOf(v string) int {
	i := slices.Index(p.values, v)
	if i < 0 && len(p.values) < p.number {
		i = len(p.values)
		p.values = append(p.values, strings.Clone(v))
	}
	return i + 1
}

// fill finds what stands in the holes of name, nil where it does not match: in
// each the leftmost value, and of those the longest, with which the glob
// matches. Doublestar is asked about whole globs only, because its answers for
// the pieces of one do not add up: "**/*" does not match an empty prefix.
func (h *holes) fill(name string) []string {
	if !doublestar.MatchUnvalidated(h.shape, name) {
		return nil
	}
	var values []string
	glob := h.pieces[0]
	for i := range h.places {
		open := strings.Join(h.pieces[i+1:], "?*")
		value := longest(name, literalHead(glob), func(v string) bool {
			return doublestar.MatchUnvalidated(glob+op.Escape(v)+open, name)
		})
		values = append(values, value)
		glob += op.Escape(value) + h.pieces[i+1]
	}
	return values
}

// longest is the leftmost and longest run of characters of name, not before
// from and without a slash, that fits.
func longest(name string, from int, fits func(string) bool) string {
	for start := from; start < len(name); start++ {
		for n := strings.IndexByte(name[start:]+"/", '/'); n > 0; n-- {
			if v := name[start : start+n]; fits(v) {
				return v
			}
		}
	}
	return ""
}

// literalHead is how many bytes of any match a glob fixes from the left. It
// spares most of the search.
func literalHead(glob string) int {
	if i := strings.IndexAny(glob, op.Special); i >= 0 {
		return i
	}
	return len(glob)
}

// holesAsText makes a glob of which the holes match their own spelling.
func holesAsText(glob string) string {
	pieces, places := split(glob)
	for i, p := range places {
		pieces[i] += op.Escape(fmt.Sprintf("{%d}", p.number))
	}
	return strings.Join(pieces, "")
}

func hasHole(glob string) bool {
	_, places := split(glob)
	return len(places) > 0
}

// split cuts a valid glob at its holes: one piece more than there are places.
// A hole within an alternation is a place, too; checkHoles refuses it.
func split(glob string) (pieces []string, places []place) {
	start := 0
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '[':
			i += classEnd(glob[i:])
		case '{':
			if number, width := op.Hole(glob[i:]); width > 0 {
				pieces = append(pieces, glob[start:i])
				places = append(places, place{number: number})
				start = i + width
				i = start - 1
			}
		}
	}
	return append(pieces, glob[start:]), places
}

// classEnd is how far the "]" of a class lies from its "[", which s begins with.
func classEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ']':
			return i
		}
	}
	return len(s)
}

func checkHoles(glob string) error {
	pieces, places := split(glob)
	for i, p := range places {
		if p.number == 0 {
			return fmt.Errorf("bad glob %q: expected placeholders from {1} to {65535}", glob)
		}
		if !doublestar.ValidatePattern(strings.Join(pieces[:i+1], "")) {
			return fmt.Errorf("bad glob %q: a placeholder cannot stand within an alternation", glob)
		}
	}
	return nil
}
