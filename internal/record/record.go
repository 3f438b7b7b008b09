// Package record holds what a program did to a tree: every change in its order,
// with its data and with the identity of the files, and what the program had
// said by then. The shim fills it; crash rebuilds from it what a crash could
// leave. It is pure.
package record

import "faultlab/internal/op"

// ID names an object (a file, a directory, a link), whatever its names and its
// inode: inodes are used again. Zero is none.
type ID int

// Root is the tree itself, and Tmp the directory for temporary files beside it,
// whose names are followed because files come from there, but are never rebuilt.
const (
	Root ID = 1
	Tmp  ID = 2
)

// Object is what an ID names.
type Object struct {
	ID     ID
	Mode   uint32 // as stat gives it, with the type
	Size   int64  // of a file, when the recording began
	Target string // of a symbolic link
	// Uid and Gid own it.
	Uid, Gid uint32
}

// Set says what stands under a name of a directory.
type Set struct {
	Dir  ID
	Name string
	To   ID // 0: nothing
}

// Kind is a sort of event.
type Kind uint8

// The kinds.
const (
	Entry   Kind = iota // names come, go or move, as one
	Write               // data into a file
	Size                // another length
	Attr                // mode, owner, an extended attribute
	Sync                // of one file or directory
	SyncAll             // of all
	Say                 // the program printed
)

// Event is one change, or one promise.
type Event struct {
	Kind Kind
	Op   op.Op // as the shim names it
	ID   ID    // the file; of an entry the one that is named

	Sets []Set   // of an entry
	New  *Object // that the entry, or a nameless creation without Sets, brought forth
	// Replaces is the object that had the name before, or 0.
	Replaces ID

	Off  int64 // of a write, bytes
	Data []byte
	// Zeros is a write's length where it writes nothing but zeros, and Data is nil.
	Zeros int64
	// Keeps says that a write does not make the file longer.
	Keeps bool
	Size  int64 // of a Size

	Mode, Uid, Gid uint32 // of an Attr
	Xattr          *Xattr // that was set or removed besides, or nil

	DataOnly bool // of a Sync: attributes need not last
	Failed   bool // of a Sync
	Stored   bool // of a Write: through a shared map, found by comparison
	// More says that the next event was found by the same comparison: in what
	// order the two came to be nobody knows.
	More bool
}

// Xattr is an extended attribute.
type Xattr struct {
	Name    string
	Value   []byte
	Removed bool
}

// Len is how many bytes a write covers.
func (e *Event) Len() int64 {
	if e.Zeros > 0 {
		return e.Zeros
	}
	return int64(len(e.Data))
}

// Record is one run.
type Record struct {
	Dir     string   // the tree's path in this run: it may stand in the data
	Objects []Object // when the recording began; Root and Tmp are the first
	Names   []Set    // … and their names
	Events  []Event
	// Void says why the record is not to be used, or is empty.
	Void string
}
