package op

// Mode is how a file is open. The zero Mode is unknown, or neither: an open for
// its name only.
type Mode uint8

// The modes.
const (
	Reads Mode = iota + 1
	WritesOnly
	ReadsWrites
	modeEnd
)

var modeNames = [modeEnd]string{"", "r", "w", "rw"}

// Opened tells the mode of a thread's descriptor.
type Opened interface{ Mode(tid, fd int) Mode }

func (m Mode) String() string { return modeNames[m] }

// ParseMode reads a mode's name: r, w or rw.
func ParseMode(name string) (Mode, bool) {
	i := index(modeNames[:], name)
	return Mode(i), i > 0
}

// Hold is how a lock keeps others out. The zero Hold is no lock.
type Hold uint8

// The two kinds of locks.
const (
	Shared Hold = iota + 1
	Exclusive
	holdEnd
)

var holdNames = [holdEnd]string{"", "sh", "ex"}

func (h Hold) String() string { return holdNames[h] }

// ParseHold reads a lock's kind as flock's flags name it: sh or ex.
func ParseHold(name string) (Hold, bool) {
	i := index(holdNames[:], name)
	return Hold(i), i > 0
}

func index(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// HasMode reports whether an operation of a kind in s can be one on an open file,
// or opens one: what works by a name alone has no mode.
func HasMode(s Set) bool {
	return s.Meets(All &^ SetOf(Rename, Link, Unlink, Mkdir, Rmdir, Connect))
}
