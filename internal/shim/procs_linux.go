package shim

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// members are the living processes of the subject: the descendants of its
// first one, and those that have left the family and were adopted by us.
func (r *Run) members() []int {
	seen := make(map[int]bool)
	var living []int
	var visit func(pid int)
	visit = func(pid int) {
		if seen[pid] {
			return
		}
		seen[pid] = true
		if alive(pid) {
			living = append(living, pid)
		}
		for _, child := range children(pid) {
			visit(child)
		}
	}
	if pid := r.unreaped(); pid != 0 {
		visit(pid)
	}
	for _, pid := range adopted() {
		if r.owns(pid) {
			visit(pid)
		}
	}
	return living
}

// owns tells whose an adopted process is: that run's whose mark is in its
// environment, or whose group it never left; nobody else's while there is one
// run; else that run's in which it called. The last comes last because a
// thread's number may be used again.
func (r *Run) owns(pid int) bool {
	owner := markedBy(pid)
	if owner == nil {
		owner = groupedIn(pid)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if owner != nil {
		r.known[pid] = owner == r // when it has died nothing else may tell
		return owner == r
	}
	return r.known[pid] || alone(r)
}

// exterminatePause is between two looks at a family that is being killed: each
// look finds what was forked during the one before.
const exterminatePause = 500 * time.Microsecond

// endLimit is how long it may take to end what was killed.
const endLimit = 10 * time.Second

// Crowded reports whether the subject has more living processes than limit. It
// stops them to count, since among very many the count would never end, and
// lets them go on only where there are not so many.
func (r *Run) Crowded(limit int) bool {
	r.signalGroup(unix.SIGSTOP)
	if len(r.members()) > limit {
		return true
	}
	r.signalGroup(unix.SIGCONT)
	return false
}

// signalGroup reaches all processes that never left the first one's group at
// once.
func (r *Run) signalGroup(sig syscall.Signal) {
	if pid := r.unreaped(); pid != 0 {
		_ = unix.Kill(-pid, sig)
	}
}

// exterminate kills the subject's processes until none is left, or says which
// cannot be killed. Answers must have stopped. One that forks and ends faster
// than a list of processes can be read is met by its group: the kernel kills all
// of that at once, and a fork under way with it.
func (r *Run) exterminate() {
	for limit := time.Now().Add(endLimit); time.Now().Before(limit); {
		r.signalGroup(unix.SIGKILL)
		for _, pid := range r.members() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-r.ended:
			return
		case <-time.After(exterminatePause):
		}
	}
	r.void("processes %v were killed and have not ended after %v", r.members(), endLimit)
}

// children lists the direct children of a process, of all its threads.
func children(pid int) []int {
	var out []int
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range tasks {
		out = append(out, childrenOf(file)...)
	}
	return out
}

// childrenOf reads one thread's children file.
func childrenOf(file string) []int {
	var out []int
	text, _ := os.ReadFile(file)
	for _, f := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(f); err == nil {
			out = append(out, child)
		}
	}
	return out
}

// statusField is a field of /proc/PID/status, or "".
func statusField(id int, field string) string {
	text, _ := os.ReadFile(procDir(id) + "status")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	state := statusField(pid, "State")
	return state != "" && state[0] != 'Z' && state[0] != 'X'
}

// leaderOf is the process of a thread, or the id itself where it is gone.
func leaderOf(tid int) int {
	if pid, err := strconv.Atoi(statusField(tid, "Tgid")); err == nil {
		return pid
	}
	return tid
}

// interrupts reports whether a signal sent to a waiting thread would interrupt
// it: it is neither blocked nor ignored, by choice or by default.
func interrupts(tid int, sig syscall.Signal) bool {
	if signalSet(tid, "SigBlk", sig) || signalSet(tid, "SigIgn", sig) {
		return sig == unix.SIGSTOP || sig == unix.SIGKILL
	}
	switch sig {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT:
		return signalSet(tid, "SigCgt", sig)
	}
	return true
}

func signalSet(tid int, field string, sig syscall.Signal) bool {
	return signals(tid, field)&bit(sig) != 0
}

// signals is a set of signals from /proc/ID/status.
func signals(id int, field string) uint64 {
	mask, _ := strconv.ParseUint(statusField(id, field), 16, 64)
	return mask
}

// programOf names a process for a message: the base name of what it executes.
func programOf(pid int) string {
	proc, script := programNames(pid)
	if script != "" {
		return script
	}
	if proc != "" {
		return proc
	}
	if name := statusField(pid, "Name"); name != "" {
		return name
	}
	return "a process that has ended"
}

// programNames are the base names of the executed file and, where that is an
// interpreter, of the script that it was given.
func programNames(pid int) (proc, script string) {
	exe, err := os.Readlink(procDir(pid) + "exe")
	if err != nil {
		return "", ""
	}
	if fi, err := os.Stat(exe); err != nil || fi.IsDir() {
		exe = strings.TrimSuffix(exe, string(deletedMark))
	}
	proc = filepath.Base(exe)
	if !interprets(proc) {
		return proc, ""
	}
	cmdline, _ := os.ReadFile(procDir(pid) + "cmdline")
	args := bytes.Split(bytes.TrimSuffix(cmdline, []byte{0}), []byte{0})
	for _, arg := range args[1:] {
		if len(arg) == 0 || bytes.Equal(arg, []byte("-c")) || bytes.Equal(arg, []byte("-e")) {
			break // a program given as text has no name
		}
		if arg[0] != '-' {
			return proc, filepath.Base(string(arg))
		}
	}
	return proc, ""
}

// interprets reports whether a program of this name runs scripts. Versions
// (python3.11) do not matter.
func interprets(program string) bool {
	switch strings.TrimRight(program, "0123456789.-") {
	case "sh", "bash", "dash", "ash", "busybox", "ksh", "mksh", "zsh", "fish",
		"python", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua",
		"tclsh", "Rscript", "awk", "gawk", "mawk":
		return true
	}
	return false
}
