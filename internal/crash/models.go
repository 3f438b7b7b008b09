//go:build linux

package crash

import (
	"fmt"
	"slices"
	"strings"

	"faultlab/internal/record"
)

// Models is a set of ways to lose what was not durable.
type Models uint8

// The models, the weakest promise first. Death is the program's alone: the page
// cache outlives it.
const (
	Strict Models = 1 << iota
	Linux
	Ext4
	Death
)

var modelNames = []struct {
	Models
	name string
}{{Death, "process death"}, {Strict, "strict"}, {Linux, "linux"}, {Ext4, "ext4"}}

func (m Models) String() string {
	var names []string
	for _, n := range modelNames {
		if m&n.Models != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// ParseModel reads the name of one that a disk can have.
func ParseModel(name string) (Models, error) {
	for _, n := range modelNames {
		if n.name == name && n.Models != Death {
			return n.Models, nil
		}
	}
	return 0, fmt.Errorf("want strict, linux or ext4, not %q", name)
}

// complete works out which models allow a state.
func (d *disk) complete(s *State, fates []loss) {
	s.Dies = !slices.ContainsFunc(fates, func(l loss) bool { return l.fate != Kept })
	s.Models = d.models(s, fates)
}

func (d *disk) models(s *State, fates []loss) Models {
	if s.Dies {
		if s.Part > 0 && (d.rec.Events[s.Point].Off+s.Part)%sector != 0 {
			return Death // a disk writes whole sectors
		}
		return Death | Strict | Linux | Ext4
	}
	m := Strict
	if d.linux(fates) {
		m |= Linux
		if d.ext4(fates) {
			m |= Ext4
		}
	}
	return m
}

// linux: a sync takes along its file's names and their new directories.
func (d *disk) linux(fates []loss) bool {
	for i, l := range fates {
		if l.fate != Kept && d.carried[i] < len(fates) {
			return false
		}
	}
	return true
}

// ext4: names are lost only from the end, and a rename over a file waits for the
// data of the new one.
func (d *disk) ext4(fates []loss) bool {
	lost := false
	for i := range fates {
		e := &d.rec.Events[i]
		if !isName(e) {
			continue
		}
		gone := fates[i].fate == Lost
		if lost && !gone {
			return false
		}
		lost = lost || gone
		if !gone && e.Replaces != 0 && !d.wholeUntil(fates[:i], e.ID) {
			return false
		}
	}
	return true
}

// wholeUntil reports whether all data of a renamed file has landed that was
// written before.
func (d *disk) wholeUntil(before []loss, id record.ID) bool {
	for i, l := range before {
		if e := &d.rec.Events[i]; l.fate != Kept && isData(e) && e.ID == id {
			return false
		}
	}
	return true
}
