package crash

import (
	"fmt"
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

// complete works out a state's losses, and which models allow it.
func (d *disk) complete(s *State) {
	s.losses = d.resolve(d.pending(s.Point), s.Terms)
	s.Models = d.models(s)
}

func (d *disk) models(s *State) Models {
	if len(s.losses) == 0 {
		if s.Part%sector != 0 {
			return Death
		}
		return Death | Strict | Linux | Ext4
	}
	m := Strict
	if d.linux(s) {
		m |= Linux
		if d.ext4(s) {
			m |= Ext4
		}
	}
	return m
}

// linux: a sync takes along its file's names and their new directories.
func (d *disk) linux(s *State) bool {
	for i := range s.losses {
		if d.carried[i] < s.Point {
			return false
		}
	}
	return true
}

// ext4: names are lost only from the end, and a rename over a file waits for the
// data of the new one.
func (d *disk) ext4(s *State) bool {
	lost := false
	for i := range d.rec.Events[:s.Point] {
		e := &d.rec.Events[i]
		if !isName(e) {
			continue
		}
		gone := s.losses[i].fate == Lost
		if lost && !gone {
			return false
		}
		lost = lost || gone
		if !gone && e.Replaces != 0 && !d.wholeUntil(s, e, i) {
			return false
		}
	}
	return true
}

// wholeUntil reports whether all data of a renamed file has landed that was
// written before.
func (d *disk) wholeUntil(s *State, rename *record.Event, at int) bool {
	for i, l := range s.losses {
		e := &d.rec.Events[i]
		if i < at && isData(e) && e.ID == rename.ID && l.fate != Kept {
			return false
		}
	}
	return true
}
