//go:build linux

package crash

import (
	"maps"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

// name is a place for an object: a name in a directory.
type name struct {
	dir record.ID
	as  string
}

// disk is a record, prepared for asking what it can leave.
type disk struct {
	rec     *record.Record
	read    reader
	objects map[record.ID]*object
	names   map[name]record.ID   // of the base
	namesOf map[record.ID][]name // … by object
	labels  []string             // by event
	said    []int                // bytes that had been printed before the event
	// settled is the event at which the strict model calls an event durable, and
	// carried that at which the linux model does; never, if none does.
	settled, carried []int
	old              []record.ID // objects of the base that events touch, other than by name
}

const never = math.MaxInt

// object is what is known of one.
type object struct {
	record.Object
	born  bool  // in the record
	data  []int // its writes and sizes
	full  []*image
	whole *content0
}

// content0 is the root of what the file may hold: by what was kept.
type content0 struct {
	im   *image
	kept map[fated]*content0
}

type fated struct {
	event int
	fate  Fate
	at    int64
}

// newDisk prepares a record. Labels name its events.
func newDisk(rec *record.Record, read reader) *disk {
	d := &disk{rec: rec, read: read, objects: make(map[record.ID]*object),
		names: make(map[name]record.ID), namesOf: make(map[record.ID][]name)}
	for _, o := range rec.Objects {
		d.objects[o.ID] = &object{Object: o}
	}
	for _, s := range rec.Names {
		at := name{s.Dir, s.Name}
		d.names[at] = s.To
		d.namesOf[s.To] = append(d.namesOf[s.To], at)
	}
	said := 0
	for i := range rec.Events {
		e := &rec.Events[i]
		d.said = append(d.said, said)
		switch e.Kind {
		case record.Entry:
			if e.New != nil {
				d.objects[e.New.ID] = &object{Object: *e.New, born: true}
			}
		case record.Write, record.Size:
			o := d.objects[e.ID]
			o.data = append(o.data, i)
		case record.Say:
			said += len(e.Data)
		}
	}
	d.said = append(d.said, said)
	for _, o := range d.objects {
		d.fill(o)
	}
	d.labels = labels(rec.Events)
	for i := range rec.Events {
		if o := d.objects[rec.Events[i].ID]; o != nil && !o.born && !isName(&rec.Events[i]) && !slices.Contains(d.old, o.ID) {
			d.old = append(d.old, o.ID)
		}
	}
	d.settle()
	return d
}

// fill makes the images of a file with everything kept.
func (d *disk) fill(o *object) {
	im := &image{size: o.Size}
	if !o.born && o.Mode&unix.S_IFMT == unix.S_IFREG {
		im.base, im.limit = o.ID, o.Size
	}
	o.whole = &content0{im: im}
	o.full = []*image{im}
	for _, i := range o.data {
		im = d.whole(im, &d.rec.Events[i])
		o.full = append(o.full, im)
	}
}

// whole applies an event as the program saw it.
func (d *disk) whole(im *image, e *record.Event) *image {
	if e.Kind == record.Size {
		return im.resize(d.read, e.Size)
	}
	return im.write(d.read, e.Off, payload(e), e.Keeps)
}

func payload(e *record.Event) []byte {
	if e.Zeros > 0 {
		return make([]byte, e.Zeros)
	}
	return e.Data
}

func isName(e *record.Event) bool { return e.Kind == record.Entry && len(e.Sets) > 0 }
func isData(e *record.Event) bool { return e.Kind == record.Write || e.Kind == record.Size }

// fallible reports whether an event can be lost.
func fallible(e *record.Event) bool { return isName(e) || isData(e) || e.Kind == record.Attr }

// settle finds out which sync makes which event durable.
func (d *disk) settle() {
	d.settled = slices.Repeat([]int{never}, len(d.rec.Events))
	d.carried = slices.Repeat([]int{never}, len(d.rec.Events))
	open := make(map[int]bool) // not yet durable, strictly
	for j := range d.rec.Events {
		e := &d.rec.Events[j]
		switch {
		case fallible(e):
			open[j] = true
		case e.Kind == record.Sync && e.Failed:
			// The pages count as clean from here on: no later sync writes them.
			maps.DeleteFunc(open, func(i int, _ bool) bool {
				return isData(&d.rec.Events[i]) && d.rec.Events[i].ID == e.ID
			})
		case e.Kind == record.Sync || e.Kind == record.SyncAll:
			for i := range open {
				if covers(e, &d.rec.Events[i]) {
					d.settled[i] = j
					delete(open, i)
				}
			}
			d.carry(j, e)
		}
	}
	for i, j := range d.settled {
		d.carried[i] = min(d.carried[i], j)
	}
}

// covers reports whether a sync makes an event durable, strictly.
func covers(sync, e *record.Event) bool {
	if sync.Kind == record.SyncAll {
		return true
	}
	switch {
	case isName(e):
		return slices.ContainsFunc(e.Sets, func(s record.Set) bool { return s.Dir == sync.ID })
	case e.ID != sync.ID:
		return false
	}
	return isData(e) || !sync.DataOnly
}

// carry notes the names that a sync at j takes along in the linux model: those
// of its file, and of the new directories that lead to it.
func (d *disk) carry(j int, sync *record.Event) {
	if sync.Kind != record.Sync {
		return
	}
	want := map[record.ID]bool{sync.ID: true}
	for i := j - 1; i >= 0; i-- {
		e := &d.rec.Events[i]
		if !isName(e) {
			continue
		}
		for _, s := range e.Sets {
			if s.To != 0 && want[s.To] {
				d.carried[i] = min(d.carried[i], j)
				if o := d.objects[s.Dir]; o != nil && o.born {
					want[s.Dir] = true
				}
			}
		}
	}
}

// pending are the events before a point that the strict model lets be lost.
func (d *disk) pending(point int) []int {
	var out []int
	for i := range d.rec.Events[:point] {
		if fallible(&d.rec.Events[i]) && d.settled[i] >= point {
			out = append(out, i)
		}
	}
	return out
}
