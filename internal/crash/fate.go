//go:build linux

package crash

import (
	"faultlab/internal/record"
)

// Fate is what becomes of an event that was not durable.
type Fate uint8

// The fates. At is a length in bytes.
const (
	Kept Fate = iota
	Lost
	Sized  // a write's growth without its data
	Head   // the first At bytes of a write
	Tail   // a write without its first At bytes
	Cut    // the first At bytes, and the growth of the whole
	Zeroed // a truncation that is lost, but whose block's rest is zeros already
	Grown  // a write's growth by its first At bytes, without its data
)

var fateNames = [...]string{"kept", "lost", "size only", "head", "tail", "cut", "zeroed", "grown"}

func (f Fate) String() string { return fateNames[f] }

// sized reports whether a fate goes with a length.
func (f Fate) sized() bool { return f == Head || f == Tail || f == Cut || f == Grown }

// State is one that the disk may be left in.
type State struct {
	Point int   // the events before it have happened
	Part  int64 // so many bytes of the write at Point, too
	Terms []Term
	// Models are those that allow it.
	Models Models
	// Dies says that nothing is lost: the program's death is enough.
	Dies bool
}

// loss is what becomes of one event. The zero value: it is kept.
type loss struct {
	fate Fate
	at   int64
}

// step is what a file holds after one more event has met its fate. What a kept
// write leaves in a sector is what the page cache held there then: an earlier
// write to that sector, though it was lost by itself, has come with it.
func (d *disk) step(o *object, c *content0, k int, l loss) *content0 {
	event := o.data[k]
	e := &d.rec.Events[event]
	if l.fate == Lost {
		return c
	}
	key := fated{event, l.fate, l.at}
	if next, ok := c.kept[key]; ok {
		return next
	}
	var im *image
	if l.fate == Kept && c.im == o.full[k] {
		im = o.full[k+1]
	} else {
		im = d.partly(c.im, o.full[k+1], e, l)
	}
	next := &content0{im: im}
	if c.kept == nil {
		c.kept = make(map[fated]*content0)
	}
	c.kept[key] = next
	return next
}

func (d *disk) partly(im, full *image, e *record.Event, l loss) *image {
	if e.Kind == record.Size {
		if l.fate == Zeroed {
			return d.zeroed(im, e.Size)
		}
		return im.resize(d.read, e.Size)
	}
	off, end := e.Off, e.Off+e.Len()
	switch l.fate {
	case Kept:
		return d.landed(im, full, e, off, end)
	case Head:
		return d.landed(im, full, e, off, off+l.at)
	case Tail:
		return d.landed(im, full, e, off+l.at, end)
	case Cut:
		im = d.landed(im, full, e, off, off+l.at)
	case Grown:
		end = min(end, off+l.at)
	}
	if e.Keeps || im.size >= end {
		return im
	}
	return im.resize(d.read, end)
}

// landed brings the sectors of a stretch to the disk.
func (d *disk) landed(im, full *image, e *record.Event, off, end int64) *image {
	if e.Keeps {
		end = min(end, im.size)
	}
	limit := min(max(end, im.size), full.size)
	from, to := off/sector*sector, min((end+sector-1)/sector*sector, limit)
	if from >= to {
		return im
	}
	return im.write(d.read, from, full.bytes(d.read, from, to), false)
}

// zeroed is a file whose truncation is lost but for the block in which it cut.
func (d *disk) zeroed(im *image, size int64) *image {
	end := min((size/page+1)*page, im.size)
	if size%page == 0 || end <= size {
		return im
	}
	return im.write(d.read, size, make([]byte, end-size), true)
}

// dies is what a file holds if the program dies in the midst of the write at the
// state's point.
func (d *disk) dies(im *image, e *record.Event, part int64) *image {
	return im.write(d.read, e.Off, payload(e)[:part], e.Keeps)
}
