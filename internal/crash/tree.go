//go:build linux

package crash

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

// left is a state's tree, as far as it is not the base's.
type left struct {
	d      *disk
	names  map[name]record.ID   // touched ones; 0: nothing stands there
	images map[record.ID]*image // of files that events have touched
	attrs  map[record.ID]*record.Event
	xattrs map[record.ID][]*record.Xattr
	// where is the place of directories: filled as they are asked for.
	at    map[record.ID][]name
	paths map[record.ID]string
}

// leaves works out what a state leaves. It is nil where no disk can hold it: a
// directory would stand in two places.
func (d *disk) leaves(s *State) *left { return d.leavesOf(s, d.fates(s)) }

func (d *disk) leavesOf(s *State, fates []loss) *left {
	l := &left{d: d, names: make(map[name]record.ID), images: make(map[record.ID]*image),
		attrs: make(map[record.ID]*record.Event), xattrs: make(map[record.ID][]*record.Xattr),
		paths: map[record.ID]string{record.Root: "."}}
	files := make(map[record.ID]*progress)
	for i, fate := range fates {
		l.add(i, fate, files)
	}
	for id, p := range files {
		l.images[id] = p.now.im
	}
	if s.Part > 0 {
		e := &d.rec.Events[s.Point]
		im := l.images[e.ID]
		if im == nil {
			im = d.objects[e.ID].full[0]
		}
		l.images[e.ID] = d.dies(im, e, s.Part)
	}
	if !l.locate() {
		return nil
	}
	return l
}

// progress is how far into a file's events a state has been worked out.
type progress struct {
	now *content0
	k   int
}

func (l *left) add(i int, fate loss, files map[record.ID]*progress) {
	e := &l.d.rec.Events[i]
	switch {
	case isData(e):
		o := l.d.objects[e.ID]
		p := files[e.ID]
		if p == nil {
			p = &progress{now: o.whole}
			files[e.ID] = p
		}
		p.now = l.d.step(o, p.now, p.k, fate)
		p.k++
	case fate.fate == Lost:
	case e.Kind == record.Entry:
		for _, set := range e.Sets {
			l.names[name{set.Dir, set.Name}] = set.To
		}
	case e.Kind == record.Attr:
		l.attrs[e.ID] = e
		if e.Xattr != nil {
			l.xattrs[e.ID] = append(l.xattrs[e.ID], e.Xattr)
		}
	}
}

// locate finds the places of touched directories.
func (l *left) locate() bool {
	l.at = make(map[record.ID][]name)
	for n, to := range l.names {
		if to != 0 {
			l.at[to] = append(l.at[to], n)
		}
	}
	for to := range l.at {
		for _, n := range l.d.namesOf[to] {
			if _, touched := l.names[n]; !touched {
				l.at[to] = append(l.at[to], n)
			}
		}
	}
	for to, places := range l.at {
		if l.isDir(to) && len(places) > 1 {
			return false
		}
	}
	return true
}

func (l *left) isDir(id record.ID) bool {
	return l.d.objects[id].Mode&unix.S_IFMT == unix.S_IFDIR
}

// places are all names of an object, whether they can be reached or not.
func (l *left) places(id record.ID) []name {
	if at, ok := l.at[id]; ok {
		return at
	}
	return slices.DeleteFunc(slices.Clone(l.d.namesOf[id]), func(n name) bool {
		_, touched := l.names[n]
		return touched
	})
}

// path is where a directory stands, or "" where no name leads to it.
func (l *left) path(dir record.ID) string {
	if p, known := l.paths[dir]; known {
		return p
	}
	l.paths[dir] = "" // against going round
	at := l.places(dir)
	if len(at) == 1 {
		if up := l.path(at[0].dir); up != "" {
			l.paths[dir] = path.Join(up, at[0].as)
		}
	}
	return l.paths[dir]
}

// reached are the paths of an object.
func (l *left) reached(id record.ID) []string {
	var out []string
	for _, n := range l.places(id) {
		if up := l.path(n.dir); up != "" {
			out = append(out, path.Join(up, n.as))
		}
	}
	return out
}

// changed reports whether a file or directory of the base is no longer as it was,
// wherever it stands.
func (l *left) changed(id record.ID) bool {
	o := l.d.objects[id]
	if o.born {
		return true
	}
	if im := l.images[id]; im != nil && im.content() != o.full[0].content() {
		return true
	}
	a := l.attrs[id]
	return a != nil && (a.Mode != o.Mode || a.Uid != o.Uid || a.Gid != o.Gid) || len(l.xattrs[id]) > 0
}

// mode, with the type, and owner of an object.
func (l *left) mode(id record.ID) (mode, uid, gid uint32) {
	if a := l.attrs[id]; a != nil {
		return a.Mode, a.Uid, a.Gid
	}
	o := l.d.objects[id]
	return o.Mode, o.Uid, o.Gid
}

// image is what a file holds.
func (l *left) image(id record.ID) *image {
	if im := l.images[id]; im != nil {
		return im
	}
	return l.d.objects[id].full[0]
}

// key tells states apart by what they hold.
type key [sha256.Size]byte

func (l *left) key(said int) key {
	var lines []string
	for n, to := range l.names {
		up := l.path(n.dir)
		if up == "" || l.d.names[n] == to && !l.changed0(to) {
			continue
		}
		lines = append(lines, path.Join(up, n.as)+"\x00"+l.describe(to))
	}
	for _, id := range l.d.old {
		if l.changed(id) && len(l.reached(id)) > 0 {
			lines = append(lines, fmt.Sprintf("#%d\x00%s", id, l.describe(id)))
		}
	}
	slices.Sort(lines)
	h := sha256.New()
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(said))
	h.Write(n[:])
	h.Write([]byte(strings.Join(lines, "\x01")))
	return key(h.Sum(nil))
}

// changed0 is changed, of nothing too.
func (l *left) changed0(id record.ID) bool { return id != 0 && l.changed(id) }

// touched lists the objects whose contents or attributes events have touched.
func (l *left) touched() []record.ID {
	ids := make(map[record.ID]bool)
	for id := range l.images {
		ids[id] = true
	}
	for id := range l.attrs {
		ids[id] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func (l *left) describe(id record.ID) string {
	if id == 0 {
		return "-"
	}
	o := l.d.objects[id]
	mode, uid, gid := l.mode(id)
	s := fmt.Sprintf("%o %d %d", mode, uid, gid)
	for _, x := range l.xattrs[id] {
		s += fmt.Sprintf(" %s=%q,%t", x.Name, x.Value, x.Removed)
	}
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		c := l.image(id).content()
		return fmt.Sprintf("%s f%d %d %x %d", s, c.base, c.size, c.sum, len(l.reached(id)))
	case unix.S_IFLNK:
		return s + " l" + o.Target
	case unix.S_IFDIR:
		if !o.born {
			return fmt.Sprintf("%s d%d", s, id)
		}
	}
	return s
}
