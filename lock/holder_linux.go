package lock

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

func pidSpace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// startTicks is when the process started, in clock ticks after boot; 0 if that is not known. With the pid it names a
// process for as long as the machine runs: the kernel gives a pid again, but not with the same start.
func startTicks(pid int) uint64 {
	p, _ := readProcess(pid)
	return p.start
}

type process struct {
	name  string
	state byte   // 'Z': zombie; see proc_pid_stat(5)
	start uint64 // clock ticks after boot
}

// readProcess reads /proc/PID/stat. The name stands in parentheses and may hold any byte, parentheses too: only what
// follows the last one can be counted.
func readProcess(pid int) (process, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseStat(b)
}

func parseStat(b []byte) (process, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return process{}, errors.New("no name in it")
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 20 {
		return process{}, errors.New("too few fields")
	}
	start, err := strconv.ParseUint(fields[19], 10, 64) // field 22 of the line, of which two stand before the name's end
	return process{name: string(b[open+1 : end]), state: fields[0][0], start: start}, err
}

// judgeProcess says what is known of a process of this machine and this pid namespace.
func judgeProcess(r Record) (State, string) {
	p, err := readProcess(r.PID)
	switch {
	case err != nil && unix.Kill(r.PID, 0) == unix.ESRCH:
		return Gone, ""
	case err != nil: // it is there, but /proc hides it (hidepid), or there is no /proc
		return Unknown, fmt.Sprintf("a process with pid %d runs, and /proc does not say which", r.PID)
	case r.StartTicks != 0 && p.start != r.StartTicks:
		return Reused, fmt.Sprintf("of %s", p.name)
	case p.state == 'Z' || p.state == 'X':
		return Zombie, ""
	}
	return Alive, ""
}
