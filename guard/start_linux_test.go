package guard

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asked is what every start is asked, and the right answers.
var asked = []struct{ path, kind string }{
	{"$W/w/repo", "inside"},
	{"$W/w/repo/", "inside"},
	{"$W/w/repo/.", "inside"},
	{"$W/w/repo/data/x", "inside"},
	{"$W/w/repo/data/not/yet", "inside"},
	{"$W/w/repo/not-yet", "inside"},
	{"$W//w///repo//data", "inside"},
	{"$W/w/out/../repo/data/x", "inside"},
	{"$W/w", "inside"}, // contains the repository
	{"/", "inside"},
	{"$W/w/out/x", "outside"},
	{"$W/w/out", "outside"},
	{"$W/w/out/not/yet", "outside"},
	{"$W/w/repo-old/x", "outside"}, // a sibling with the same prefix
	{"$W/w/repo2/not/yet", "outside"},
	{"$W/w/rep", "outside"},
	{"$W/else/repo/x", "outside"}, // another of the same name
	{"$W/w/repo/data/../../out/x", "outside"},
	{"$W/../../../../../../../../../../..$W/w/out/x", "outside"},
	// Through links, on either side.
	{"$W/into/data/x", "inside"}, // -> w/repo
	{"$W/deep/../x", "inside"},   // -> w/repo/data/deep: ".." is data, not $W
	{"$W/intodeep/x", "inside"},  // -> into/data, a link through a link
	{"$W/dangling", "inside"},    // -> w/repo/nothing
	{"$W/dangling/below", "inside"},
	{"$W/relative", "inside"},        // -> w/out/../repo/data
	{"$W/w/repo/leave/x", "outside"}, // -> w/out
	{"$W/w/repo/leave/deep/../x", "outside"},
	{"$W/danglingout", "outside"}, // -> w/out/nothing
	// What nobody can tell.
	{"$W/loop", "undecided"},
	{"$W/loop/x", "undecided"},
	{"$W/ping", "undecided"},
	{"$W/w/out/missing/../x", "undecided"},
	{"$W/w/out/x/below", "undecided"}, // below a file
	{"$W/w/out/x/..", "undecided"},
	{"", "undecided"},
}

func (w *world) links() {
	w.link(w.path("w/repo"), "into")
	w.link("w/repo/data/deep", "deep")
	w.link("into/data", "intodeep")
	w.link("w/repo/nothing", "dangling")
	w.link("w/out/../repo/data", "relative")
	w.link("../out", "w/repo/leave")
	w.link("w/out/nothing", "danglingout")
	w.link("loop", "loop")
	w.link("pong", "ping")
	w.link("ping", "pong")
	w.link(w.path("w/repo/bin/probe"), "tool")
	w.link(w.path("w/repo/bin"), "bin")
	w.link(w.dir, "here")
	w.mkdir("fake/.git")
}

// TestStarts asks the same from every place; where the program is started must
// change nothing. In most rows the working directory is neither in the
// repository nor above it.
func TestStarts(t *testing.T) {
	rows := []struct {
		what string
		s    start
	}{
		{"from /", start{}},
		{"from the root", start{dir: "$W/w/repo"}},
		{"from a subfolder", start{dir: "$W/w/repo/data/deep"}},
		{"from /tmp", start{dir: os.TempDir()}},
		{"from a sibling", start{dir: "$W/w/out"}},
		{"from a sibling with the same prefix", start{dir: "$W/w/repo-old"}},
		{"from another repository", start{dir: "$W/fake"}},
		{"from behind a link", start{dir: "$W/into/data", env: []string{"PWD=$W/into/data"}}},
		{"with a lying PWD", start{dir: "$W/else", env: []string{"PWD=$W/fake"}}},
		{"with PWD behind a link", start{dir: "$W/else", env: []string{"PWD=$W/here/else"}}},
		{"with a relative PWD", start{dir: "$W/else", env: []string{"PWD=else"}}},
		{"with GIT_DIR", start{dir: "$W/else", env: []string{"GIT_DIR=$W/fake/.git", "GIT_WORK_TREE=$W/fake"}}},
		{"with GIT_DIR, in a hook", start{dir: "$W/w/repo", env: []string{"GIT_DIR=.git", "GIT_INDEX_FILE=.git/index", "GIT_PREFIX="}}},
		{"as cron does", start{env: []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "SHELL=/bin/sh"}}},
		{"through a link to the program", start{exe: "$W/tool", dir: "$W/else"}},
		{"through a link to its directory", start{exe: "$W/bin/probe", dir: "$W/else"}},
		{"by a relative path", start{exe: "../w/repo/bin/probe", dir: "$W/else"}},
		{"under another argv[0]", start{dir: "$W/else", with: func(c *exec.Cmd) { c.Args[0] = "/usr/bin/true" }}},
		{"as another user", start{with: nobody}},
		{"from a working directory that was removed", start{exe: "/bin/sh", with: removed}},
		{"with a file descriptor limit", start{exe: "/bin/sh", with: func(c *exec.Cmd) {
			c.Args = append([]string{"sh", "-c", `ulimit -n 8; exec "$0" "$@"`, ""}, c.Args[1:]...)
		}}},
	}
	for _, probe := range []string{plain, trimmed} {
		w := newWorld(t, probe)
		w.links()
		var paths []string
		for _, a := range asked {
			paths = append(paths, a.path)
		}
		for _, r := range rows {
			t.Run(filepath.Base(probe)+" "+r.what, func(t *testing.T) {
				w := &world{t, w.dir, w.exe}
				s := r.s
				if s.exe == "/bin/sh" {
					with := s.with
					s.with = func(c *exec.Cmd) { with(c); c.Args[3] = w.exe; c.Env = append(c.Env, "W="+w.dir) }
				}
				answers := w.ask(s, paths...)
				for i, a := range asked {
					w.want(a.kind, a.path, answers[i])
				}
			})
		}
	}
}

// removed starts the program in a directory that is gone by then.
func removed(c *exec.Cmd) {
	c.Args = append([]string{"sh", "-c", `mkdir "$W/gone" && cd "$W/gone" && rmdir "$W/gone" && exec "$0" "$@"`, ""}, c.Args[1:]...)
}

// The scripts of the working directory: relative paths count from where the
// process really is.
func TestRelativePaths(t *testing.T) {
	w := newWorld(t, plain)
	w.links()
	for _, r := range []struct {
		what, dir, pwd, path, kind string
	}{
		{"inside", "$W/w/repo/data", "", "x", "inside"},
		{"dot", "$W/w/repo", "", ".", "inside"},
		{"dot outside", "$W/w/out", "", ".", "outside"},
		{"up and in", "$W/w/out", "", "../repo/x", "inside"},
		{"up and out", "$W/w/repo", "", "../out/x", "outside"},
		{"behind a link, up: data, not $W", "$W/deep", "$W/deep", "../x", "inside"},
		{"behind a link, out", "$W/deep", "$W/deep", "../../../out/x", "outside"},
		{"PWD lies: outside", "$W/w/repo/data", "$W/w/out", "x", "inside"},
		{"PWD lies: inside", "$W/w/out", "$W/w/repo/data", "x", "outside"},
	} {
		s := start{dir: r.dir}
		if r.pwd != "" {
			s.env = []string{"PWD=" + r.pwd}
		}
		w.want(r.kind, r.what, w.ask(s, r.path)[0])
	}
	gone := w.ask(start{exe: "/bin/sh", with: func(c *exec.Cmd) { removed(c); c.Args[3] = w.exe; c.Env = append(c.Env, "W="+w.dir) }}, "x", w.path("w/out/x"))
	w.want("undecided", "x in a removed directory", gone[0])
	w.want("outside", "absolute in a removed directory", gone[1])
}

// Where the program finds no root, nothing is outside.
func TestNoRoot(t *testing.T) {
	w := newWorld(t, plain)
	w.copy(plain, w.path("else/probe"))
	for _, dir := range []string{"$W/else", "$W/w/repo", "/"} {
		answer := w.ask(start{exe: "$W/else/probe", dir: dir, env: []string{"PWD=$W/w/repo", "GIT_DIR=$W/w/repo/.git"}}, "$W/w/out/x")[0]
		w.want("noroot", "a program outside any repository, from "+dir, answer)
		if !strings.Contains(answer, "-X faultlab/guard.fixed=") {
			t.Errorf("no cure in %q", answer)
		}
	}
	w.must(os.Link(w.exe, w.path("else/hard")))
	w.want("noroot", "a hard link to the program", w.ask(start{exe: "$W/else/hard"}, "$W/w/out/x")[0])
	w.must(os.Chmod(w.path("w/repo"), 0o711)) // searchable: enough
	w.want("outside", "an unreadable root", w.ask(start{with: nobody}, "$W/w/out/x")[0])
}

// The nearest marker counts, be it a directory, a worktree's file or a link.
func TestMarkers(t *testing.T) {
	w := newWorld(t, plain)
	w.mkdir("w/repo/sub/bin")
	w.copy(plain, w.path("w/repo/sub/bin/probe"))
	for _, make := range []func(){
		func() { w.file("w/repo/sub/.git") },
		func() { w.mkdir("w/repo/sub/.git") },
		func() { w.link("nowhere", "w/repo/sub/.git") },
	} {
		make()
		answers := w.ask(start{exe: "$W/w/repo/sub/bin/probe"}, "$W/w/repo/sub/x", "$W/w/repo/data/x")
		w.want("inside", "in the nearest", answers[0])
		w.want("outside", "in the one around it", answers[1])
		w.must(os.RemoveAll(w.path("w/repo/sub/.git")))
	}
	w.want("inside", "without", w.ask(start{exe: "$W/w/repo/sub/bin/probe"}, "$W/w/repo/data/x")[0])
}

// A root fixed when the program was built holds wherever the program lies.
func TestFixedRoot(t *testing.T) {
	w := newWorld(t, plain)
	exe := w.path("else/fixed")
	w.must(build(exe, "-ldflags", "-X faultlab/guard.fixed="+w.path("w/repo")))
	answers := w.ask(start{exe: exe, dir: "$W"}, "$W/w/repo/data/x", "$W/w/out/x")
	w.want("inside", "fixed", answers[0])
	w.want("outside", "fixed", answers[1])
}

// The same within this process, which is started where no marker is above.
func TestGivenRoot(t *testing.T) {
	w := newWorld(t, plain)
	w.links()
	defer func() { fixed = "" }()
	for _, r := range []struct {
		root string
		ok   bool
	}{
		{w.path("w/repo"), true},
		{w.path("into"), true}, // through a link
		{w.path("w/nothing"), false},
		{w.path("dangling"), false},
		{w.path("w/repo/data/x"), false},
		{"w/repo", false},
		{"testdata", false}, // is there, from here
	} {
		for _, o := range []Options{{Root: r.root}, {Root: "/nonexistent"}} {
			fixed = ""
			if o.Root == "/nonexistent" {
				fixed = r.root // goes before the option
			}
			root, err := Find(o)
			if r.ok && (err != nil || root.Path != w.path("w/repo")) || !r.ok && err == nil {
				t.Errorf("root %s: %+v, %v", r.root, root, err)
			}
		}
	}
}

// Moved, removed or replaced since it was started, the program cannot say
// where it belongs.
func TestProgramMoved(t *testing.T) {
	for what, move := range map[string]func(w *world){
		"removed":    func(w *world) { w.must(os.Remove(w.exe)) },
		"replaced":   func(w *world) { w.must(os.Remove(w.exe)); w.copy(plain, w.exe) },
		"moved away": func(w *world) { w.must(os.Rename(w.exe, w.path("else/probe"))) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, plain)
			cmd := exec.Command(w.exe, w.path("w/out/x"))
			cmd.Env = []string{"PROBE_WAIT=1"}
			in, err := cmd.StdinPipe()
			w.must(err)
			out, err := cmd.StdoutPipe()
			w.must(err)
			w.must(cmd.Start())
			lines := bufio.NewReader(out)
			if l, err := lines.ReadString('\n'); l != "waiting\n" {
				t.Fatal(l, err)
			}
			move(w)
			io.WriteString(in, "\n")
			answer, _ := lines.ReadString('\n')
			w.must(cmd.Wait())
			w.want("noroot", what, answer)
		})
	}
}
