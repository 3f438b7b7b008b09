package shim

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// census is what is known of a subject's threads. Its files are kept open, and
// what cannot have changed is not read again: a thread that has not run since has
// neither children nor fellows that it had not before.
type census struct {
	run      *Run
	members  map[int]*member
	receiver *thread // our own that receives the subject's calls
	adopted  int     // descriptor of the list of processes that fell to us
	ended    bool    // nobody is left
}

// member is a process.
type member struct {
	pid     int
	tasks   int // descriptor of /proc/PID/task
	threads map[int]*thread
	zombies map[int]bool // threads that have ended and are still listed
}

// thread is one of a process's threads.
type thread struct {
	tid                  int
	schedule, call, stat int    // descriptors of /proc/TID/schedstat, …/syscall and …/stat
	ran                  []byte // its schedule when it was last looked at
	dead                 bool
	monitor              bool // of the Go runtime
}

func newCensus(r *Run) *census {
	adopted, _ := unix.Open(firstThread, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return &census{run: r, members: make(map[int]*member), adopted: adopted}
}

// close gives the descriptors back.
func (c *census) close() {
	for pid, m := range c.members {
		m.close()
		delete(c.members, pid)
	}
	if c.receiver != nil {
		c.receiver.close()
	}
	_ = unix.Close(c.adopted)
}

func (m *member) close() {
	_ = unix.Close(m.tasks)
	for _, t := range m.threads {
		t.close()
	}
}

func (t *thread) close() {
	for _, fd := range []int{t.schedule, t.call, t.stat} {
		_ = unix.Close(fd)
	}
}

// take brings the census up to date. It reports whether anybody is left.
func (c *census) take() bool {
	if pid := c.run.unreaped(); pid != 0 {
		c.add(pid)
	}
	if c.strays() {
		for _, pid := range adopted() {
			if c.members[pid] == nil && c.run.owns(pid) {
				c.add(pid)
			}
		}
	}
	again := true
	for pass := 0; again && pass < maxPasses; pass++ {
		again = false
		for pid, m := range c.members {
			if moved := m.moved(); len(moved) > 0 {
				again = again || !onlyMonitor(moved)
				c.enumerate(m, moved)
			}
			if len(m.threads) == 0 {
				m.close()
				delete(c.members, pid)
			}
		}
	}
	return len(c.members) > 0
}

// maxPasses is after how many the census is left as it is: those who run on will be
// seen to have moved.
const maxPasses = 8

// strays reports whether any process may have fallen to us.
func (c *census) strays() bool {
	var buf [1]byte
	n, _ := unix.Pread(c.adopted, buf[:], 0)
	return n > 0
}

func (c *census) add(pid int) {
	if c.members[pid] != nil {
		return
	}
	tasks, err := unix.Open(procDir(pid)+"task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	m := &member{pid: pid, tasks: tasks, threads: make(map[int]*thread), zombies: make(map[int]bool)}
	c.members[pid] = m
	c.enumerate(m, nil)
}

func onlyMonitor(moved []*thread) bool { return len(moved) == 1 && moved[0].monitor }

// moved lists the threads of the process that have run since they were looked at.
func (m *member) moved() []*thread {
	var moved []*thread
	for tid, t := range m.threads {
		switch now := t.scheduled(); {
		case t.dead:
			t.close()
			delete(m.threads, tid)
		case !bytes.Equal(now, t.ran):
			t.ran = append(t.ran[:0], now...)
			moved = append(moved, t)
		}
	}
	return moved
}

// enumerate finds a process's new threads, and the children of those and of the
// threads that have run.
func (c *census) enumerate(m *member, ran []*thread) {
	_, _ = unix.Seek(m.tasks, 0, 0)
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(m.tasks, buf[:])
		if err != nil || n <= 0 {
			break
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if tid, err := strconv.Atoi(name); err == nil && m.threads[tid] == nil {
				if t := m.meet(tid); t != nil {
					ran = append(ran, t)
				}
			}
		}
	}
	for _, t := range ran {
		for _, child := range childrenOf(procDir(m.pid) + "task/" + strconv.Itoa(t.tid) + "/children") {
			c.add(child)
		}
	}
}

// count is how many threads the kernel lists.
func (m *member) count() int {
	var st unix.Stat_t
	if unix.Fstat(m.tasks, &st) != nil {
		return 0
	}
	const own = 2 // "." and ".."
	return int(st.Nlink) - own
}

// meet takes a new thread into the census.
func (m *member) meet(tid int) *thread {
	t := openThread(tid)
	if t == nil {
		return nil
	}
	if t.ran = bytes.Clone(t.scheduled()); ended(tid) {
		t.close()
		m.zombies[tid] = true
		return nil
	}
	delete(m.zombies, tid)
	m.threads[tid] = t
	return t
}

// openThread opens a thread's files; nil where it is gone.
func openThread(tid int) *thread {
	t := &thread{tid: tid, schedule: -1, call: -1, stat: -1}
	dir := procDir(tid) + "task/" + strconv.Itoa(tid) + "/"
	for i, fd := range []*int{&t.schedule, &t.call, &t.stat} {
		var err error
		if *fd, err = unix.Open(dir+threadFiles[i], unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			t.close()
			return nil
		}
	}
	return t
}

var threadFiles = [...]string{"schedstat", "syscall", "stat"}

// scheduled is how long and how often the thread has run: it changes whenever it
// does.
func (t *thread) scheduled() []byte {
	var buf [96]byte
	n, err := unix.Pread(t.schedule, buf[:], 0)
	if err != nil || n <= 0 {
		t.dead = true
		return nil
	}
	return buf[:n]
}

// sleep reads in which call the thread waits; false where it is awake.
func (t *thread) sleep() (sleep, bool) {
	var buf [256]byte
	n, err := unix.Pread(t.call, buf[:], 0)
	if err != nil || n <= 0 {
		return sleep{}, false
	}
	return parseSleep(string(buf[:n]))
}

// state is the letter that the kernel gives to what the thread does; 0 where it is
// gone. One that was woken and has not run yet is told as asleep in its call, but
// its letter is R.
func (t *thread) state() byte {
	var buf [96]byte // a name has 15 bytes at most, which may be brackets
	n, err := unix.Pread(t.stat, buf[:], 0)
	if err != nil || n <= 0 {
		return 0
	}
	const end = ") " // of the name
	i := bytes.LastIndex(buf[:n], []byte(end))
	if i < 0 || i+len(end) >= n {
		return 0
	}
	return buf[i+len(end)]
}
