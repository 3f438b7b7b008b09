package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/record"
	"faultlab/internal/rule"
)

// Recording asks for a record of all changes. They are performed on the
// subject's behalf, by the receiving thread and one after the other, for only so
// are their order and their results known; everything else goes on as ever.
type Recording struct {
	// Record is filled in; it is to be read after Wait.
	Record *record.Record
	// Tmp is a directory outside the tree from which files are moved into it.
	Tmp string
}

// RecordCalls lists the calls that a recording needs besides the opens that can
// write (Config.OpenWrites).
func RecordCalls() []string {
	var names []string
	for name := range performers {
		if !op.Possible(name).Has(op.Open) {
			names = append(names, name)
		}
	}
	return names
}

// Bounds on a recording.
const (
	maxRecordedBytes = 256 << 20
	maxRecordedOps   = 1 << 20
	maxPins          = 4096
)

// recorder performs the changes of one run. The receiving thread uses it.
type recorder struct {
	run    *Run
	log    *record.Record
	ids    map[inode]record.ID
	next   record.ID
	stdout inode
	pidfds map[uint32]int
	// pins keep the inodes of unlinked files from being used again.
	pins  []int
	bytes int64
	// maps are the files that are written through memory, by ID.
	maps map[record.ID]*sharedMap
	own  bool // the thread has its own umask
}

type inode struct{ dev, ino uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// newRecorder takes down what is there. The subject does not run yet.
func newRecorder(r *Run, stdout *os.File) (*recorder, error) {
	rec := &recorder{
		run: r, log: r.cfg.Recording.Record, ids: make(map[inode]record.ID),
		pidfds: make(map[uint32]int), maps: make(map[record.ID]*sharedMap),
	}
	rec.log.Dir = r.root
	var st unix.Stat_t
	if err := unix.Fstat(int(stdout.Fd()), &st); err != nil {
		return nil, err
	}
	rec.stdout = inodeOf(&st)
	for _, dir := range []string{r.root, r.cfg.Recording.Tmp} {
		if err := unix.Lstat(dir, &st); err != nil {
			return nil, fmt.Errorf("record %s: %w", dir, err)
		}
		rec.add(&st, "")
	}
	if err := rec.scan(r.root, record.Root); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return rec, nil
}

// add makes an object of what stat describes.
func (rec *recorder) add(st *unix.Stat_t, target string) *record.Object {
	rec.next++
	o := record.Object{ID: rec.next, Mode: st.Mode, Uid: st.Uid, Gid: st.Gid, Target: target}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		o.Size = st.Size
	}
	rec.ids[inodeOf(st)] = o.ID
	rec.log.Objects = append(rec.log.Objects, o)
	return &rec.log.Objects[len(rec.log.Objects)-1]
}

func (rec *recorder) scan(dir string, id record.ID) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fmt.Errorf("stat %s: %w", path, err)
		}
		child, known := rec.ids[inodeOf(&st)]
		if !known {
			target, _ := os.Readlink(path)
			child = rec.add(&st, target).ID
		}
		rec.log.Names = append(rec.log.Names, record.Set{Dir: id, Name: e.Name(), To: child})
		if e.IsDir() {
			if err := rec.scan(path, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// outcome is what became of a call that we were to perform.
type outcome struct {
	pass  bool // it is none of ours, or fails by itself: let it go on
	value int64
	errno syscall.Errno
}

var passed = outcome{pass: true}

func failed(err error) outcome {
	if errno, ok := err.(syscall.Errno); ok {
		return outcome{errno: errno}
	}
	return outcome{errno: syscall.EIO}
}

// performing is one call.
type performing struct {
	*notification
	tid int
	op  *op.Op
	c   *call
}

// perform does a call in the subject's stead and answers it. It reports false
// where the call is to go on.
func (rec *recorder) perform(c *call, n *notification, o *op.Op) bool {
	do := performers[c.name]
	if do == nil || rec.log.Void != "" {
		return false
	}
	rec.compareMaps()
	got := do(rec, &performing{n, int(n.tid), o, c})
	if got.pass {
		return false
	}
	if rec.run.reply(&response{id: n.id, val: got.value, errno: -int32(got.errno)}) {
		rec.run.saw(o, Result{Known: true, Value: got.value, Errno: got.errno})
	}
	return true
}

// struck takes note of a rule that fired.
func (rec *recorder) struck(n *notification, o *op.Op, a rule.Action) {
	if a.Verb != rule.DoFail {
		rec.void("a record can hold failed calls, and no others that a rule has struck: %s", a)
		return
	}
	if o.Kind != op.Sync {
		return
	}
	if fd, id, _, ok := rec.borrow(n, n.args[0]); ok {
		_ = unix.Close(fd)
		if id != 0 {
			rec.emit(record.Event{Kind: record.Sync, Op: *o, ID: id, Failed: true})
		}
	}
}

// emit appends an event.
func (rec *recorder) emit(e record.Event) {
	rec.bytes += int64(len(e.Data))
	switch {
	case rec.bytes > maxRecordedBytes:
		rec.end("the program writes more than %d MiB, which no record is kept of: give it less to do", maxRecordedBytes>>20)
	case len(rec.log.Events) >= maxRecordedOps:
		rec.end("the program makes more than %d changes, which no record is kept of: give it less to do", maxRecordedOps)
	}
	rec.log.Events = append(rec.log.Events, e)
}

// void says that the record is of no use.
func (rec *recorder) void(format string, args ...any) {
	if rec.log.Void == "" {
		rec.log.Void = fmt.Sprintf(format, args...)
	}
}

func (rec *recorder) end(format string, args ...any) {
	rec.void(format, args...)
	go rec.run.Kill()
}

// finish is called when the last process has ended.
func (rec *recorder) finish() {
	rec.compareMaps()
	for _, fd := range rec.pins {
		_ = unix.Close(fd)
	}
	for _, fd := range rec.pidfds {
		_ = unix.Close(fd)
	}
	for _, m := range rec.maps {
		_ = unix.Close(m.fd)
	}
}

// borrow fetches an open file of the subject's, to be closed before the answer:
// a descriptor that we kept would keep locks alive. The id is 0 where it is no
// file of the record's.
func (rec *recorder) borrow(n *notification, fd uint64) (own int, id record.ID, st unix.Stat_t, ok bool) {
	if int32(fd) < 0 {
		return -1, 0, st, false
	}
	own, err := rec.fetch(n.tid, int(int32(fd)))
	if err != nil {
		return -1, 0, st, false
	}
	if err := unix.Fstat(own, &st); err != nil {
		_ = unix.Close(own)
		return -1, 0, st, false
	}
	return own, rec.ids[inodeOf(&st)], st, true
}

const maxPidfds = 256

func (rec *recorder) fetch(tid uint32, fd int) (int, error) {
	if p, ok := rec.pidfds[tid]; ok {
		if own, err := unix.PidfdGetfd(p, fd, 0); err != unix.ESRCH {
			return own, err
		}
		_ = unix.Close(p) // another thread has this id now
		delete(rec.pidfds, tid)
	}
	if len(rec.pidfds) >= maxPidfds {
		for t, p := range rec.pidfds {
			_ = unix.Close(p)
			delete(rec.pidfds, t)
		}
	}
	p, err := unix.PidfdOpen(int(tid), unix.PIDFD_THREAD)
	if err != nil {
		if err == unix.EINVAL {
			rec.void("the kernel opens no pidfd of a thread: Linux 6.9 or newer is needed to record")
		}
		return -1, err
	}
	rec.pidfds[tid] = p
	rec.met(int(tid))
	return unix.PidfdGetfd(p, fd, 0)
}

// met looks at what a process has that a call made by us would not.
func (rec *recorder) met(tid int) {
	var lim unix.Rlimit
	if unix.Prlimit(tid, unix.RLIMIT_FSIZE, nil, &lim) == nil && lim.Cur != unix.RLIM_INFINITY {
		rec.void("%s runs with a limit on the size of files (ulimit -f), which a record does not cover", programOf(tid))
	}
	var real, effective, saved, fs int
	uids := statusField(tid, "Uid")
	if n, _ := fmt.Sscan(uids, &real, &effective, &saved, &fs); n == 4 && fs != os.Geteuid() {
		rec.void("%s runs as another user (%d), which a record does not cover", programOf(tid), fs)
	}
}

// umask makes the thread's umask the subject's.
func (rec *recorder) umask(tid int) {
	if !rec.own {
		// Never unlocked again: the thread ends with its goroutine.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			rec.void("give the recording thread a umask of its own: %v", err)
			return
		}
		rec.own = true
	}
	var mask int
	_, _ = fmt.Sscanf(statusField(tid, "Umask"), "%o", &mask)
	unix.Umask(mask)
}

// pin keeps an inode of which the last name goes from being used again while
// its number stands for the file.
func (rec *recorder) pin(dir int, name string) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	if len(rec.pins) >= maxPins {
		var st unix.Stat_t
		if unix.Fstat(rec.pins[0], &st) == nil && st.Nlink == 0 {
			delete(rec.ids, inodeOf(&st))
		}
		_ = unix.Close(rec.pins[0])
		rec.pins = rec.pins[1:]
	}
	rec.pins = append(rec.pins, fd)
}
