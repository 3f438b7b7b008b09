package launch

import (
	"fmt"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// do makes one change. Numbers were printed by Step's makers; what is no number
// reads as 0 only where there is none.
func (s Step) do() error {
	number, _ := strconv.Atoi(s.arg)
	var err error
	switch s.verb {
	case "umask":
		syscall.Umask(number)
	case "nofile":
		// By the syscall package: it would restore the old limit at the exec
		// of one that was set behind its back.
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, limit(number))
	case "fsize":
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit(number))
	case "ignore":
		signal.Ignore(syscall.Signal(number))
	case "user":
		err = become(number)
	case "rmdir":
		err = removeDir()
	case "lockdir":
		err = lockDir()
	case "open":
		err = open(s.arg)
	case "pipe":
		err = lonePipe(number)
	case "close":
		err = syscall.Close(number)
	default:
		err = fmt.Errorf("no such step")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.verb, s.arg, err)
	}
	return nil
}

func limit(n int) *syscall.Rlimit {
	return &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}
}

func become(id int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(id); err != nil {
		return err
	}
	return syscall.Setuid(id)
}

func removeDir() error {
	dir, err := getwd()
	if err != nil {
		return err
	}
	return syscall.Rmdir(dir)
}

// getwd asks the kernel, which $PWD cannot mislead.
func getwd() (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Getcwd(buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n-1]), nil
}

// lockDir goes by the directory itself and not by a name.
func lockDir() error {
	if err := syscall.Chmod(".", 0); err != nil {
		return err
	}
	if syscall.Geteuid() != 0 {
		return nil
	}
	return dropCapabilities(unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH)
}

// dropCapabilities gives them up on this thread, which executes the program, and
// for what it executes.
func dropCapabilities(caps ...uint) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return err
	}
	for _, c := range caps {
		// A subject may not be one that may change this set; no_new_privs
		// keeps what is given up below from coming back.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		keep := ^uint32(1 << (c % 32))
		set := &sets[c/32]
		set.Effective, set.Permitted, set.Inheritable = set.Effective&keep, set.Permitted&keep, set.Inheritable&keep
	}
	return unix.Capset(&head, &sets[0])
}

func open(arg string) error {
	number, path, _ := strings.Cut(arg, ",")
	to, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Dup2(fd, to)
}

func lonePipe(to int) error {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	kept, gone := ends[1], ends[0]
	if to == syscall.Stdin {
		kept, gone = gone, kept
	}
	if err := syscall.Close(gone); err != nil {
		return err
	}
	return unix.Dup2(kept, to)
}

// dup is a copy of a descriptor that the program does not inherit.
func dup(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
}
