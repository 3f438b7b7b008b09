package crash

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

// builder makes a state of a copy of the base.
type builder struct {
	*left
	dir   string // the copy
	touch func(string)
	stage string             // beside it: what is on its way
	fds   map[record.ID]int  // of directories, O_PATH
	moved map[record.ID]bool // objects that stand in the stage
	born  map[record.ID]name // new files that were made where they belong
	shut  []record.ID        // directories that were opened, to be shut again
	// staging says that the stage is there.
	staging bool
	own     string // the recorded tree's path in the data
}

// build makes the state in dir, which holds the base.
func (l *left) build(dir string, touch func(string)) (err error) {
	b := &builder{left: l, dir: dir, touch: touch, stage: filepath.Join(filepath.Dir(dir), "stage"),
		fds: make(map[record.ID]int), moved: make(map[record.ID]bool),
		born: make(map[record.ID]name), own: l.d.rec.Dir}
	defer func() {
		for _, fd := range b.fds {
			_ = unix.Close(fd)
		}
		if e := b.strike(); err == nil {
			err = e
		}
	}()
	for _, do := range []func() error{b.openDirs, b.takeAway, b.bringForth, b.fill, b.putBack, b.dress} {
		if err := do(); err != nil {
			return fmt.Errorf("build a state: %w", err)
		}
	}
	return nil
}

// order lists the touched names, the same way every time.
func (b *builder) order() []name {
	return slices.SortedFunc(maps.Keys(b.names), func(x, y name) int {
		if x.dir != y.dir {
			return int(x.dir - y.dir)
		}
		return strings.Compare(x.as, y.as)
	})
}

// tracked reports whether a name lies in the tree: those for temporary files do
// not.
func (b *builder) tracked(n name) bool { return n.dir != record.Tmp && b.basePath(n.dir) != "" }

// basePath is where a directory of the base stands in the copy, "" if nowhere.
func (b *builder) basePath(dir record.ID) string {
	if dir == record.Root {
		return "."
	}
	at := b.d.namesOf[dir]
	if len(at) != 1 {
		return ""
	}
	up := b.basePath(at[0].dir)
	if up == "" {
		return ""
	}
	return filepath.Join(up, at[0].as)
}

// openDirs opens all directories of the base in which a name changes, or a file
// that changes stands, before any of them moves.
func (b *builder) openDirs() error {
	wanted := slices.Collect(maps.Keys(b.names))
	for _, id := range append(b.touched(), b.wanted()...) {
		wanted = append(wanted, b.d.namesOf[id]...)
	}
	for _, n := range wanted {
		if b.tracked(n) {
			if err := b.openDir(n.dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) openDir(dir record.ID) error {
	if _, open := b.fds[dir]; open {
		return nil
	}
	at := filepath.Join(b.dir, b.basePath(dir))
	if o := b.d.objects[dir]; o.Mode&0o300 != 0o300 {
		b.touch(b.basePath(dir))
		b.shut = append(b.shut, dir)
		if err := unix.Chmod(at, o.Mode&0o7777|0o700); err != nil {
			return &os.PathError{Op: "chmod", Path: at, Err: err}
		}
	}
	fd, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: at, Err: err}
	}
	b.fds[dir] = fd
	return nil
}

// stageUp makes the stage, which many a state does without.
func (b *builder) stageUp() error {
	if b.staging {
		return nil
	}
	b.staging = true
	return os.Mkdir(b.stage, 0o700)
}

// strike takes the stage away. Mostly all that was on it has come to its place.
func (b *builder) strike() error {
	if !b.staging || unix.Rmdir(b.stage) == nil {
		return nil
	}
	return os.RemoveAll(b.stage)
}

func (b *builder) staged(id record.ID) string { return filepath.Join(b.stage, fmt.Sprint(id)) }

// takeAway moves what no longer stands under its name to the stage.
func (b *builder) takeAway() error {
	for _, n := range b.order() {
		was, to := b.d.names[n], b.names[n]
		if was == 0 || was == to || !b.tracked(n) {
			continue
		}
		b.touch(filepath.Join(b.basePath(n.dir), n.as))
		if err := b.take(n, was); err != nil {
			return &os.PathError{Op: "take away", Path: n.as, Err: err}
		}
	}
	return nil
}

// take removes a name. What no name leads to in the state need not be moved, if it
// is no directory in which something stands that is.
func (b *builder) take(n name, was record.ID) error {
	if b.moved[was] || !b.isDir(was) && len(b.reached(was)) == 0 {
		return unix.Unlinkat(b.fds[n.dir], n.as, 0)
	}
	if err := b.stageUp(); err != nil {
		return err
	}
	b.moved[was] = true
	return unix.Renameat(b.fds[n.dir], n.as, unix.AT_FDCWD, b.staged(was))
}

// bringForth makes the new objects that some name reaches.
func (b *builder) bringForth() error {
	for _, id := range b.wanted() {
		o := b.d.objects[id]
		if !o.born {
			continue
		}
		done, err := b.inPlace(id)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		if err := b.stageUp(); err != nil {
			return err
		}
		at := b.staged(id)
		switch o.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			err = os.WriteFile(at, nil, 0o600)
		case unix.S_IFDIR:
			if err = os.Mkdir(at, 0o700); err == nil {
				b.fds[id], err = unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			}
		case unix.S_IFLNK:
			err = os.Symlink(strings.ReplaceAll(o.Target, b.own, b.dir), at)
		default:
			err = unix.Mknod(at, o.Mode&unix.S_IFMT|0o600, 0)
		}
		if err != nil {
			return err
		}
		b.moved[id] = true
	}
	return nil
}

// inPlace makes a new file where it belongs, if that is one place and is there
// already: most are, and the way by the stage costs three changes of directories.
func (b *builder) inPlace(id record.ID) (bool, error) {
	at := b.at[id]
	if b.d.objects[id].Mode&unix.S_IFMT != unix.S_IFREG || len(at) != 1 {
		return false, nil
	}
	dir, ok := b.fds[at[0].dir]
	if !ok {
		return false, nil
	}
	fd, err := unix.Openat(dir, at[0].as, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false, &os.PathError{Op: "create", Path: at[0].as, Err: err}
	}
	b.born[id] = at[0]
	return true, unix.Close(fd)
}

// wanted lists the objects that touched names lead to, the same way every time.
func (b *builder) wanted() []record.ID {
	ids := make(map[record.ID]bool)
	for _, to := range b.names {
		if to != 0 && len(b.reached(to)) > 0 {
			ids[to] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// where is an object's path at this moment.
func (b *builder) where(id record.ID) string {
	if n, ok := b.born[id]; ok {
		return b.standing(n)
	}
	if b.moved[id] {
		return b.staged(id)
	}
	for _, n := range b.d.namesOf[id] {
		if to, touched := b.names[n]; !touched || to == id {
			return b.standing(n)
		}
	}
	return b.staged(id)
}

// standing is a name in a directory that is open, wherever that has moved to.
func (b *builder) standing(n name) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", b.fds[n.dir], n.as)
}

// fill gives files their contents.
func (b *builder) fill() error {
	for _, id := range slices.Sorted(maps.Keys(b.images)) {
		o, im := b.d.objects[id], b.images[id]
		if im.content() == o.full[0].content() || len(b.reached(id)) == 0 {
			continue
		}
		b.touchAll(id)
		if err := b.contents(b.where(id), o, im); err != nil {
			return err
		}
	}
	return nil
}

// touchAll touches an object's names, those of the base and those that it has.
func (b *builder) touchAll(id record.ID) {
	for _, n := range b.d.namesOf[id] {
		if up := b.basePath(n.dir); up != "" {
			b.touch(filepath.Join(up, n.as))
		}
	}
	for _, p := range b.reached(id) {
		b.touch(p)
	}
}

func (b *builder) contents(at string, o *object, im *image) error {
	if o.Mode&0o200 == 0 && !o.born {
		if err := unix.Chmod(at, o.Mode&0o7777|0o600); err != nil {
			return &os.PathError{Op: "chmod", Path: at, Err: err}
		}
	}
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if im.base == 0 && !o.born {
		if err := f.Truncate(0); err != nil {
			return err
		}
	}
	if err := b.pages(f, im); err != nil {
		return err
	}
	if err := f.Truncate(im.size); err != nil {
		return err
	}
	return b.renamed(f, im)
}

// pages writes what lies over the base.
func (b *builder) pages(f *os.File, im *image) error {
	own := make(map[int64][]byte)
	im.collect(own)
	for _, n := range slices.Sorted(maps.Keys(own)) {
		size := min(page, im.size-n*page)
		if size <= 0 || im.base == 0 && isZero(own[n]) {
			continue
		}
		if _, err := f.WriteAt(own[n][:size], n*page); err != nil {
			return err
		}
	}
	return nil
}

// renamed puts the copy's own path where the recorded tree's stands. In copies
// the two are of one length.
func (b *builder) renamed(f *os.File, im *image) error {
	if b.own == b.dir || !b.holdsPath(im) {
		return nil
	}
	text := make([]byte, im.size)
	if _, err := f.ReadAt(text, 0); err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(b.own), []byte(b.dir))
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text))) // only a state that is kept for looking at changes its length
}

// holdsPath looks for the path in the pages that were written, and across their
// borders by its beginning.
func (b *builder) holdsPath(im *image) bool {
	head := []byte(filepath.Dir(filepath.Dir(b.own)))
	own := make(map[int64][]byte)
	im.collect(own)
	var last int64 = -2
	var tail []byte
	for _, n := range slices.Sorted(maps.Keys(own)) {
		text := own[n]
		if n == last+1 {
			text = append(slices.Clone(tail), text...)
		}
		if bytes.Contains(text, head) {
			return true
		}
		last, tail = n, own[n][max(0, page-len(head)):]
	}
	return false
}

// putBack gives objects their names.
func (b *builder) putBack() error {
	left := make(map[record.ID]int)
	names := slices.DeleteFunc(b.order(), func(n name) bool {
		to := b.names[n]
		return to == 0 || b.path(n.dir) == "" || b.d.names[n] == to && !b.d.objects[to].born && !b.moved[to]
	})
	for _, n := range names {
		left[b.names[n]]++
	}
	for _, n := range names {
		to := b.names[n]
		b.touch(filepath.Join(b.path(n.dir), n.as))
		if _, born := b.born[to]; born || b.d.names[n] == to {
			continue // it stands there
		}
		if err := b.put(n, to, left[to]); err != nil {
			return err
		}
		left[to]--
	}
	return nil
}

// put makes one name of several to come.
func (b *builder) put(n name, to record.ID, several int) error {
	dir, ok := b.fds[n.dir]
	if !ok {
		return fmt.Errorf("directory %d of %s is not there", n.dir, n.as)
	}
	from := b.where(to)
	var err error
	if several > 1 || !b.moved[to] {
		err = unix.Linkat(unix.AT_FDCWD, from, dir, n.as, 0)
	} else {
		err = unix.Renameat(unix.AT_FDCWD, from, dir, n.as)
	}
	if err != nil {
		return &os.PathError{Op: "put back", Path: n.as, Err: err}
	}
	return nil
}
