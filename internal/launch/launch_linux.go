// Package launch starts a program in a way that a Go parent cannot: with
// descriptors closed, signals ignored, limits, another user or a working
// directory that is gone. For that the program's own process runs faultfs
// first, which makes the changes by plain system calls and then executes the
// program, as its last act.
//
// A test or program that starts such commands calls Main first of all.
package launch

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// name is the launcher's own name, by which it knows itself. Everything that it
// is told stands in its arguments, so that the environment is the program's.
const name = "faultfs: launcher"

// failed is the launcher's status where it could not do what it was told.
const failed = 125

// Step is one change to how a program starts.
type Step struct{ verb, arg string }

// Umask sets the file mode creation mask.
func Umask(mask int) Step { return Step{"umask", strconv.Itoa(mask)} }

// Files limits how many descriptors may be open, for good.
func Files(most int) Step { return Step{"nofile", strconv.Itoa(most)} }

// FileSize limits how large a file may grow, in bytes, for good.
func FileSize(most int) Step { return Step{"fsize", strconv.Itoa(most)} }

// Ignore has a signal ignored, which a program inherits.
func Ignore(sig syscall.Signal) Step { return Step{"ignore", strconv.Itoa(int(sig))} }

// User becomes another user, and the group of the same number. Only root can.
func User(id int) Step { return Step{"user", strconv.Itoa(id)} }

// RemoveDir removes the working directory.
func RemoveDir() Step { return Step{"rmdir", ""} }

// LockDir takes all permissions off the working directory, and from root the
// power to pass over that.
func LockDir() Step { return Step{"lockdir", ""} }

// Open puts a file that stands in the world, such as /dev/full, in place of a
// descriptor.
func Open(fd int, path string) Step { return Step{"open", strconv.Itoa(fd) + "," + path} }

// LonePipe puts one end of a pipe whose other end is closed in place of a
// descriptor: the reading end for 0, else the writing end.
func LonePipe(fd int) Step { return Step{"pipe", strconv.Itoa(fd)} }

// Close closes a descriptor. Whatever its place among the steps, it comes last.
func Close(fd int) Step { return Step{"close", strconv.Itoa(fd)} }

// Command is what to execute instead of a program, so that it starts with these
// steps done: a path and its arguments.
func Command(steps []Step, program string, args []string) (string, []string) {
	words := []string{name}
	for _, s := range steps {
		words = append(words, s.verb+"="+s.arg)
	}
	words = append(words, "--", program)
	return "/proc/self/exe", append(words, args...)
}

// Failed tells from how a command ended and what it printed that the launcher
// could not start the program, and why.
func Failed(status int, stderr string) (why string, yes bool) {
	if status != failed {
		return "", false
	}
	why, yes = strings.CutPrefix(stderr, name+": ")
	return strings.TrimSpace(why), yes
}

// Main executes the program, if this process is a launcher. Otherwise it returns
// at once.
func Main() {
	if len(os.Args) == 0 || os.Args[0] != name {
		return
	}
	// Failures are told on a copy, for the descriptor itself may be closed.
	told, err := dup(syscall.Stderr)
	if err == nil {
		err = start(os.Args[1:])
	}
	_, _ = syscall.Write(told, fmt.Appendf(nil, "%s: %v\n", name, err))
	os.Exit(failed)
}

// start does the steps and executes the program. It returns only on failure.
func start(words []string) error {
	end := slices.Index(words, "--")
	if end < 0 || len(words) < end+3 {
		return fmt.Errorf("no program given")
	}
	var last []Step
	for _, word := range words[:end] {
		verb, arg, _ := strings.Cut(word, "=")
		s := Step{verb, arg}
		if verb == "close" {
			last = append(last, s)
			continue
		}
		if err := s.do(); err != nil {
			return err
		}
	}
	for _, s := range last {
		if err := s.do(); err != nil {
			return err
		}
	}
	program := words[end+1]
	return fmt.Errorf("execute %s: %w", program, syscall.Exec(program, words[end+2:], os.Environ()))
}
