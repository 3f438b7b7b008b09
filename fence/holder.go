package fence

import "fmt"

// Holder is a process that holds the lock on a file, as far as the system tells.
type Holder struct {
	Pid     int    // 0: not known
	Name    string // the process's name, or ""
	Stopped bool   // by SIGSTOP or a debugger: it will not let go by itself
}

// WhoLocks tells which process holds a flock on the file. The zero Holder means
// that the system does not say: not Linux, no /proc, a process in another pid
// namespace, or nobody.
//
// It is a look and nothing more: the answer may be old when it arrives, so it
// is good for a message and for no decision.
func WhoLocks(path string) Holder { return whoLocks(path) }

func (h Holder) String() string {
	if h.Pid == 0 {
		return "another process"
	}
	s := fmt.Sprintf("pid %d", h.Pid)
	if h.Name != "" {
		s += " (" + show(h.Name) + ")"
	}
	if h.Stopped {
		s += ", which is stopped"
	}
	return s
}

func (h Holder) cure(path string) string {
	switch {
	case h.Pid == 0:
		return fmt.Sprintf("find it with fuser %s, let it finish or end it, and try again", show(path))
	case h.Stopped:
		return fmt.Sprintf("continue it (kill -CONT %d) or end it, and try again", h.Pid)
	}
	return "let it finish or end it, and try again"
}
