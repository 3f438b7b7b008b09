package faultlab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"faultlab/internal/rule"
)

// lives reports whether a process runs; one that has ended and that nobody has
// asked about yet does not.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name before the state may hold anything, brackets too.
	_, state, _ := strings.Cut(string(stat[max(bytes.LastIndexByte(stat, ')'), 0):]), " ")
	return state != "" && state[0] != 'Z' && state[0] != 'X'
}

// isSignal takes only the full name, which no program's status can be.
func isSignal(name string) bool {
	sig, ok := rule.ParseSignal(name)
	return ok && sig.String() == name
}

// ending is an exit status, or the name of the signal that ended the process.
func ending(state *os.ProcessState) string {
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		return rule.Signal(ws.Signal()).String()
	}
	return strconv.Itoa(state.ExitCode())
}

func kill(pid int, name string) error {
	sig, ok := rule.ParseSignal(name)
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n < 65 {
		sig, ok = rule.Signal(n), true
	}
	if !ok {
		return fmt.Errorf("unknown signal %q: want a name such as TERM, or a number", name)
	}
	if err := syscall.Kill(pid, syscall.Signal(sig)); err != nil {
		return fmt.Errorf("send %v to process %d: %w", sig, pid, err)
	}
	return nil
}

// children lists the processes that pid's threads started.
func children(pid int) []int {
	var pids []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	slices.Sort(pids)
	return pids
}

// parentOf is 0 where the process has gone.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name before the numbers may hold anything, brackets too.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// image is the base name of a process's executable, and its arguments.
func image(pid int) (exe string, args []string) {
	if link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
		exe = filepath.Base(strings.TrimSuffix(link, " (deleted)"))
	}
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return exe, strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// endLimit is how long killed processes may take to go.
const endLimit = 10 * time.Second

// endMarked kills every process whose environment holds mark, and what those
// have started, until there is none. It returns what they were.
func endMarked(mark string) (ended []string, err error) {
	said := make(map[int]bool)
	for end := time.Now().Add(endLimit); ; time.Sleep(glance) {
		pids := marked(mark)
		if len(pids) == 0 {
			return ended, nil
		}
		if time.Now().After(end) {
			return ended, fmt.Errorf("processes %v will not end", pids)
		}
		for _, pid := range pids {
			if !said[pid] {
				said[pid] = true
				ended = append(ended, fmt.Sprintf("%d %s", pid, programOf(pid)))
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return ended, fmt.Errorf("end process %d (%s): %w", pid, programOf(pid), err)
			}
		}
	}
}

// marked lists the living processes that have mark, and their descendants,
// which may have cleared their environment.
func marked(mark string) []int {
	dirs, _ := os.ReadDir("/proc")
	set := make(map[int]bool)
	for _, dir := range dirs {
		pid, err := strconv.Atoi(dir.Name())
		if err == nil && pid != os.Getpid() && hasMark(pid, mark) {
			addFamily(set, pid)
		}
	}
	var pids []int
	for pid := range set {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// hasMark is false for what has ended: its environment reads as empty.
func hasMark(pid int, mark string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && slices.Contains(strings.Split(string(env), "\x00"), mark)
}

func addFamily(set map[int]bool, pid int) {
	if set[pid] || !lives(pid) {
		return
	}
	set[pid] = true
	for _, child := range children(pid) {
		addFamily(set, child)
	}
}
