package faultlab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func gone(ts *testscript.TestScript, _ bool, args []string) error {
	limit, args, err := timeout(args)
	if err != nil {
		return err
	}
	pids, err := parsePids(fromFiles(ts, args))
	if err != nil {
		return err
	}
	for _, pid := range pids {
		ended, err := await(limit, func() (bool, error) { return !lives(pid), nil })
		if err != nil {
			return err
		}
		if !ended {
			return fmt.Errorf("process %d (%s) still runs after %v", pid, programOf(pid), limit)
		}
	}
	return nil
}

func sendSignal(_ *testscript.TestScript, _ bool, args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	pids, err := parsePids(args[1:])
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := kill(pid, args[0]); err != nil {
			return err
		}
	}
	return nil
}

// fromFiles replaces the name of each file by the words in it.
func fromFiles(ts *testscript.TestScript, args []string) []string {
	var words []string
	for _, arg := range args {
		data, err := os.ReadFile(ts.MkAbs(arg))
		if err != nil {
			words = append(words, arg)
			continue
		}
		words = append(words, strings.Fields(string(data))...)
	}
	return words
}

// parsePids takes no process group and nothing that a missing variable leaves.
func parsePids(args []string) ([]int, error) {
	if len(args) == 0 {
		return nil, errUsage
	}
	var pids []int
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil || pid <= 1 {
			return nil, fmt.Errorf("bad process id %q: want a number above 1, such as $pid after pidof", arg)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// wanted is a process that pidof looks for.
type wanted struct {
	name, below string // below: "" is the program itself
	faultfs     bool   // its processes count
}

func pidof(ts *testscript.TestScript, _ bool, args []string) error {
	var w wanted
	if len(args) > 0 && args[0] == "-faultfs" {
		w.faultfs, args = true, args[1:]
	}
	limit, args, err := timeout(args)
	if err != nil {
		return err
	}
	if len(args) < 1 || len(args) > 2 {
		return errUsage
	}
	into := "pid"
	if len(args) == 2 {
		into = args[1]
	}
	if !variable.MatchString(into) {
		return fmt.Errorf("bad variable %q", into)
	}
	w.name, w.below, _ = strings.Cut(args[0], "/")
	var pid int
	find := func() (bool, error) { pid, err = w.find(ts); return pid > 0, err }
	if err := waitWhileRunning(ts, limit, find, func() string { return "no process " + args[0] }); err != nil {
		return err
	}
	ts.Setenv(into, strconv.Itoa(pid))
	return nil
}

// find is 0 where the process is not there yet.
func (w wanted) find(ts *testscript.TestScript) (int, error) {
	cmds := ts.BackgroundCmds()
	if len(cmds) == 0 {
		return 0, errors.New("no program runs in the background")
	}
	names, err := backgroundNames(ts)
	if err != nil {
		return 0, err
	}
	for i, cmd := range cmds {
		if names[i] == w.name {
			return w.under(cmd.Process.Pid), nil
		}
	}
	return w.byProgram(cmds)
}

// byProgram looks for a program of that name among all in the background.
func (w wanted) byProgram(cmds []*exec.Cmd) (int, error) {
	found := 0
	for _, cmd := range cmds {
		pid := firstOf(cmd.Process.Pid, func(pid int) bool { return w.counts(pid) && runs(pid, w.name) })
		if pid == 0 || pid == found {
			continue
		}
		if found != 0 {
			return 0, fmt.Errorf("both %d and %d run %s: start them with names, as in exec %s ... &one&", found, pid, w.name, w.name)
		}
		found = pid
	}
	if w.below == "" || found == 0 {
		return found, nil
	}
	return w.under(found), nil
}

// under is the process wanted of the tree of processes at pid.
func (w wanted) under(pid int) int {
	if w.below == "" {
		return firstOf(pid, w.counts)
	}
	for _, child := range children(pid) {
		found := firstOf(child, func(pid int) bool { return w.counts(pid) && runs(pid, w.below) })
		if found > 0 {
			return found
		}
	}
	return 0
}

// counts passes over faultfs's own processes: the two that supervise, and the
// child that is about to become the program.
func (w wanted) counts(pid int) bool { return w.faultfs || !runs(pid, "faultfs") }

// firstOf walks the tree of processes at pid, parents first.
func firstOf(pid int, ok func(pid int) bool) int {
	if ok(pid) {
		return pid
	}
	for _, child := range children(pid) {
		if found := firstOf(child, ok); found > 0 {
			return found
		}
	}
	return 0
}

// runs reports whether the process runs the program: by its executable, or by
// the script that an interpreter was given.
func runs(pid int, program string) bool {
	exe, args := image(pid)
	if exe == program {
		return true
	}
	for _, arg := range args[:min(2, len(args))] {
		if path.Base(arg) == program {
			return exe != "faultfs"
		}
	}
	return false
}

// programOf names what a process runs, for messages.
func programOf(pid int) string {
	exe, args := image(pid)
	if len(args) > 1 {
		return exe + " " + filepath.Base(args[1])
	}
	return exe
}

// backgroundNames are the names that "exec ... &name&" gave, in the order of
// BackgroundCmds. Testscript keeps them to itself; reading them by reflection is
// the price of not inventing a second way to start programs, and a test tells
// when it is to be paid anew.
func backgroundNames(ts *testscript.TestScript) ([]string, error) {
	cmds := ts.BackgroundCmds()
	list := reflect.ValueOf(ts).Elem().FieldByName("background")
	names := make([]string, len(cmds))
	for i := range names {
		if !list.IsValid() || list.Kind() != reflect.Slice || list.Len() != len(cmds) {
			return nil, errors.New("this version of testscript does not show the names of background programs")
		}
		if name := list.Index(i).FieldByName("name"); name.IsValid() {
			names[i] = name.String()
		}
	}
	return names, nil
}
