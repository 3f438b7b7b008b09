//go:build linux

package place

import (
	"strings"
	"syscall"

	"faultlab/internal/launch"
	"faultlab/internal/op"
	"faultlab/internal/trial"
)

// Row is one start: its name, which is what --only takes, and what a good
// program does there.
type Row struct {
	Name, Good string
	trial.Start

	watch  []string         // calls that the start must see
	ends   []syscall.Signal // what the start itself may end a program by
	stdout stdout
	mute   bool // a message cannot be seen
	modes  bool // permissions differ by nature
	owner  bool // contents may name who runs it
}

// stdout says what becomes of what a program prints.
type stdout uint8

const (
	seen    stdout = iota
	full           // a write fails: whoever ignores that loses what he prints
	discard        // somebody asked for that
)

// elsewhere is a folder that has nothing to do with the tree, and is nobody's to
// change.
const elsewhere = "{case}/elsewhere"

// otherRepo is a repository that has nothing to do with the tree.
const otherRepo = "{case}/other"

// rows are all starts, for a program and a tree.
func rows(t target) []Row {
	var all []Row
	for _, group := range [][]Row{directories(t), variables(), invocations(t), descriptors(), limits(t)} {
		all = append(all, group...)
	}
	for i := range all {
		r := &all[i]
		if r.Dir != "" && r.Unset == nil && !r.Bare {
			r.Set = append([]string{"PWD=" + r.Dir}, r.Set...) // as a shell would
		}
		r.Foreign = []string{elsewhere, otherRepo}
	}
	return all
}

func directories(t target) []Row {
	const same = "does the same, or says what it misses; nothing is written to where it was started"
	return []Row{
		{Name: "cwd=/", Good: same, Start: trial.Start{Dir: "/"}},
		{Name: "cwd=elsewhere", Good: same, Start: trial.Start{Dir: elsewhere, Prepare: folders("elsewhere")}},
		{Name: "cwd=subfolder", Good: "does the same as in the folder above it, or says what it misses",
			Start: trial.Start{Dir: "{tree}/" + t.subfolder, Prepare: t.hasSubfolder}},
		{Name: "cwd=link", Good: "does the same: the link leads to the tree, and $PWD names the link",
			Start: trial.Start{Dir: "{case}/link", Prepare: link("{tree}", "link")}},
		{Name: "cwd=link-physical", Good: "does the same: the link leads to the tree, and $PWD names the tree",
			Start: trial.Start{Dir: "{case}/link", Set: []string{"PWD={tree}"}, Prepare: link("{tree}", "link")}},
		{Name: "cwd=link-subfolder", Good: "does the same as in the subfolder: the folder above it is the tree, and not where the link lies",
			Start: trial.Start{Dir: "{case}/link", Prepare: both(t.hasSubfolder, link("{tree}/"+t.subfolder, "link"))}},
		{Name: "cwd=link-elsewhere", Good: same,
			Start: trial.Start{Dir: "{case}/link", Prepare: both(folders("elsewhere"), link("elsewhere", "link"))}},
		{Name: "cwd=deleted", Good: "does not need it, or says that the working directory is gone",
			Start: trial.Start{Dir: "{case}/gone", Prepare: folders("gone"), Launch: []launch.Step{launch.RemoveDir()}}},
		{Name: "cwd=vanishing", Good: "does not need it, or says that the working directory is gone: it is removed when the program opens its first file",
			Start: trial.Start{Dir: "{case}/gone", Prepare: folders("gone"), Soon: vanish("gone")}, watch: op.Calls(op.SetOf(op.Open))},
		{Name: "cwd=unreadable", Good: "does not need it, or says that it cannot read the working directory",
			Start: trial.Start{Dir: "{case}/locked", Prepare: folders("locked"), Launch: []launch.Step{launch.LockDir()}}},
	}
}

func variables() []Row {
	const (
		pwd  = "asks the kernel where it is, and does the same"
		home = "does without, or says what it misses; it makes no folder named after nothing"
		git  = "works on the tree that it was given (for git itself and what is made to run in its hooks the variable counts, and a finding here is its contract)"
	)
	set := func(name, good, value string, prepare preparation) Row {
		variable, _, _ := strings.Cut(name, "=")
		return Row{Name: name, Good: good, Start: trial.Start{Set: []string{variable + "=" + value}, Prepare: prepare}}
	}
	disk := set("TMPDIR=other-disk", "does the same: no rename leads from one disk to another", otherDiskVar, otherDisk)
	disk.Lent = otherDiskVar
	return []Row{
		{Name: "PWD=unset", Good: pwd, Start: trial.Start{Unset: []string{"PWD"}}},
		set("PWD=lying", pwd, elsewhere, folders("elsewhere")),
		set("PWD=relative", pwd, ".", nil),
		{Name: "HOME=unset", Good: home, Start: trial.Start{Unset: []string{"HOME"}}},
		set("HOME=empty", home, "", nil),
		set("HOME=missing", home, "{case}/home", folders()),
		set("HOME=file", home, "{case}/home", file("home")),
		set("HOME=relative", home, "home", nil),
		{Name: "TMPDIR=missing", Good: "says so, or uses /tmp", Start: trial.Start{
			Set: []string{"TMPDIR={case}/tmp"}, Prepare: folders(), Temp: true}},
		disk,
		set("GIT_DIR=other", git, otherRepo+"/.git", repository("other")),
		set("GIT_INDEX_FILE=other", git, otherRepo+"/.git/index", repository("other")),
		set("GIT_WORK_TREE=other", git, otherRepo, repository("other")),
		{Name: "env=empty", Good: "does the same, or says what it misses", Start: trial.Start{Bare: true, Temp: true}},
		{Name: "env=cron", Good: "does the same, or says what it misses: there is a short PATH, no TERM, no LANG",
			Start: trial.Start{Bare: true, Temp: true, Set: cron()}},
	}
}

func invocations(t target) []Row {
	return []Row{
		{Name: "program=link", Good: "does the same: what it finds beside itself it finds beside the file that the link leads to",
			Start: trial.Start{Program: "{case}/" + t.base, Name: "{case}/" + t.base, Prepare: link(t.program, t.base)}},
		{Name: "program=relative", Good: "does the same", Start: trial.Start{Relative: true}},
	}
}

func descriptors() []Row {
	var all []Row
	for set := 1; set < 8; set++ {
		all = append(all, closed(set))
	}
	return append(all,
		Row{Name: "stdin=pipe", Good: "does the same: the pipe is empty and its writer gone",
			Start: trial.Start{Launch: []launch.Step{launch.LonePipe(0)}}},
		Row{Name: "stdout=/dev/full", Good: "ends with another status than 0 when what it prints is lost",
			Start: trial.Start{Launch: []launch.Step{launch.Open(1, "/dev/full")}}, stdout: full},
		Row{Name: "stdout=pipe", Good: "ends by SIGPIPE, or says so, or takes it for the wish of a reader that has gone",
			Start: trial.Start{Launch: []launch.Step{launch.LonePipe(1)}}, stdout: discard, ends: []syscall.Signal{syscall.SIGPIPE}},
	)
}

// closed has those of the descriptors 0 to 2 closed whose bits are set. What is
// not printed then is no fault: several languages open /dev/null there before a
// program begins.
func closed(set int) Row {
	r := Row{Name: "closed=", Good: "does the same or fails, and writes no message into a file that got the descriptor's number"}
	for fd := range 3 {
		if set&(1<<fd) == 0 {
			continue
		}
		if r.Launch != nil {
			r.Name += ","
		}
		r.Name += string(rune('0' + fd))
		r.Launch = append(r.Launch, launch.Close(fd))
	}
	if set&2 != 0 {
		r.stdout = discard
	}
	r.mute = set&4 != 0
	return r
}

// How little of what has a limit must do.
const (
	fewFiles  = 32   // descriptors: some runtimes need twenty to begin
	smallFile = 4096 // bytes
	nobody    = 65534
)

func limits(t target) []Row {
	const mask = "does the same; what must be private (or open) has its mode set and not left to the mask"
	steps := func(name, good string, s ...launch.Step) Row {
		return Row{Name: name, Good: good, Start: trial.Start{Launch: s}}
	}
	masked := func(name string, mode int) Row {
		r := steps(name, mask, launch.Umask(mode))
		r.modes = true
		return r
	}
	small := steps("fsize=4096", "says that the file is too large, and leaves none that is cut off", launch.FileSize(smallFile))
	small.ends = []syscall.Signal{syscall.SIGXFSZ}
	user := steps("user=65534", "does the same, or says what it may not: the tree is that user's, $HOME is not", launch.User(nobody))
	user.Prepare, user.owner = t.giveAway, true
	return []Row{
		masked("umask=000", 0), masked("umask=077", 0o077),
		steps("nofile=32", "does the same, or says that too many files are open", launch.Files(fewFiles)),
		small,
		steps("ignored=SIGPIPE", "does the same, and ends when nobody reads", launch.Ignore(syscall.SIGPIPE)),
		steps("ignored=SIGHUP", "does the same", launch.Ignore(syscall.SIGHUP)),
		steps("ignored=SIGINT", "does the same", launch.Ignore(syscall.SIGINT)),
		user,
	}
}
