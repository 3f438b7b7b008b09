//go:build linux

package shim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/shim"
)

func needSubject(t *testing.T) string {
	t.Helper()
	if subject == "" {
		need(t, "a C compiler (cc)")
	}
	return subject
}

// await waits for something that another process does.
func await(t *testing.T, done func() bool) {
	t.Helper()
	limit := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(limit) {
			t.Fatal("waited in vain for 30s")
		}
		time.Sleep(time.Millisecond)
	}
}

// stateOf is the letter of /proc/PID/stat.
func stateOf(pid int) byte {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := strings.LastIndexByte(string(text), ')'); i >= 0 && len(text) > i+2 {
		return text[i+2]
	}
	return 0
}

// Signals interrupt a held call only before it was received, and then it comes
// again: each of the writes lands once.
func TestSignalStorm(t *testing.T) {
	tr := try(t).seeAll().c("writes", "2000").ok("broken 0")
	tr.holds("out", strings.Repeat("x", 2000))
	if n := len(tr.log.ops); n < 2000 {
		t.Errorf("%d operations were seen of 2000", n)
	}
}

// A handler without SA_RESTART lets the program see an EINTR that no bare run
// has: then, and only then, the run is void.
func TestFragileSignalStorm(t *testing.T) {
	tr := try(t).seeAll().c("fragile", "3000")
	var broken int
	if tr.out == "" && shim.IsVoid(tr.err) {
		return // what it had to say was broken off, too
	}
	if _, err := fmt.Sscanf(tr.out, "broken %d", &broken); err != nil {
		t.Fatalf("%v: %q %s; %+v, %v", err, tr.out, tr.errOut, tr.exit, tr.err)
	}
	if broken > 0 && !shim.IsVoid(tr.err) {
		t.Errorf("the program saw %d EINTR and the run is not void", broken)
	}
}

// Shells handle SIGCHLD, and their calls are broken off now and then. Bash's are
// begun again, so no run is void for it; dash handles it without SA_RESTART.
func TestForkStorm(t *testing.T) {
	const loop = "i=0; while [ $i -lt 100 ]; do echo $i | { read x; echo $x >> out; }; i=$((i+1)); done; wc -l < out"
	try(t).seeAll().run("bash", "-c", loop).ok("100")
	tr := try(t).seeAll().run("dash", "-c", loop)
	if shim.IsVoid(tr.err) && tr.exit.Restarted > 0 {
		t.Logf("rightly void: %v", tr.err)
		return
	}
	tr.ok("100")
}

// A handler that an exec has left behind is nobody's any more.
func TestExecForgetsHandlers(t *testing.T) {
	needSubject(t)
	tr := try(t).seeAll().run("dash", "-c", "trap : ALRM; exec "+subject+" writes 3000")
	tr.ok("broken 0")
}

func TestNames(t *testing.T) {
	tr := try(t).seeAll().c("names").ok("")
	var writes []string
	for _, l := range tr.log.lines {
		if strings.HasPrefix(l, "write ") {
			writes = append(writes, strings.TrimPrefix(l, "write "))
		}
	}
	want := "out 1|odd (deleted) 1|new 1|dir/file 1|nowhere 1|dir/file 2|new 2|new 3"
	if got := strings.Join(writes, "|"); got != want {
		t.Errorf("writes went to\n%s, want\n%s", got, want)
	}
}

// The tree may be named through a symbolic link.
func TestLinkedTree(t *testing.T) {
	tr := try(t, "write path=sub/x do fail EIO")
	link := tr.dir + ".link"
	if err := os.Symlink(tr.dir, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tr.dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	tr.dir = link
	tr.run("sh", "-c", "cd sub && echo a > x")
	if tr.exit.Code == 0 || len(tr.matcher.Unfired()) != 0 {
		t.Errorf("the rule did not reach through the link: %+v", tr.exit)
	}
}

func TestKinds(t *testing.T) {
	tr := try(t).seeAll().c("kinds").ok("")
	want := `create out 1
write out 1
close out 1
open out 1
close out 2
truncate out 1
close out 3
open out 3
close out 4
open out 4
create . 1
create two 1
close two 1
create fifo 1
link sym 1
link out 1 to hard
rename two 1 to out replacing
create sock 1
connect sock 1
open hard 1
open out 5
write out 2
allocate out 1
truncate out 2
truncate out 3
sync out 1
attr out 1
attr out 2
lock out 1
mkdir d 1
rmdir d 1
unlink hard 1`
	var got []string
	for _, l := range tr.log.lines {
		if !strings.Contains(l, "#") { // the nameless file's close
			got = append(got, l)
		}
	}
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("saw\n%s\nwant\n%s", s, want)
	}
}

// What outlives the first process is ended after the grace, and named.
func TestDaemon(t *testing.T) {
	tr := try(t).seeAll()
	tr.limits.Grace = 50 * time.Millisecond
	tr.c("daemon").ok("")
	if len(tr.exit.Orphans) != 1 || !strings.Contains(tr.exit.Orphans[0], "subject") {
		t.Errorf("orphans: %q, want the daemon", tr.exit.Orphans)
	}
}

func TestTimeout(t *testing.T) {
	tr := try(t).seeAll()
	tr.limits.Timeout = 50 * time.Millisecond
	tr.run("sh", "-c", "trap '' TERM; while :; do :; done")
	if !shim.IsVoid(tr.err) || !strings.Contains(tr.err.Error(), "did not end within 50ms") {
		t.Errorf("err = %v", tr.err)
	}
}

// As an ordinary user, a program that hides its memory cannot be covered.
func TestNotDumpable(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t, "TestNotDumpable")
		return
	}
	tr := try(t, "write path=out do fail EIO").c("secret")
	if !shim.IsVoid(tr.err) || !strings.Contains(tr.err.Error(), "subject cannot be looked into") {
		t.Errorf("err = %v, want a void that names the program", tr.err)
	}
}

// asNobody runs one test of this binary as an ordinary user.
func asNobody(t *testing.T, name string) {
	t.Helper()
	const nobody = 65534
	home, err := os.MkdirTemp("", "shim-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	bin := filepath.Join(home, "test")
	src := filepath.Join(home, "testdata")
	self, _ := os.Executable()
	for _, err := range []error{
		os.Chmod(home, 0o755), os.Mkdir(src, 0o755),
		copyFile(self, bin), copyFile("testdata/subject.c", src+"/subject.c"),
		os.Chown(home, nobody, nobody),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(bin, "-test.run", "^"+name+"$", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "TMPDIR="+home, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

func TestUnseen(t *testing.T) {
	tr := try(t).seeAll().c("maps").ok("io_uring -1 Function not implemented")
	if notes := strings.Join(tr.exit.Notes, "\n"); !strings.Contains(notes, "out is mapped for writing") {
		t.Errorf("notes: %q", notes)
	}
	tr = try(t).seeAll().c("sandbox").ok("filter 0")
	if notes := strings.Join(tr.exit.Notes, "\n"); !strings.Contains(notes, "subject installs a filter of its own") {
		t.Errorf("notes: %q", notes)
	}
}

func TestMapMadeWritable(t *testing.T) {
	tr := try(t).seeAll().c("remap").ok("msync 0")
	for _, want := range []string{"out is mapped for writing", "subject syncs a map"} {
		if notes := strings.Join(tr.exit.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("notes: %q, want %q", notes, want)
		}
	}
}

// A fault that was chosen and never struck, because a signal came first, is no
// fault: the run is void.
func TestBrokenOffForGood(t *testing.T) {
	tr := try(t, "lock path=out nth=2 do kill after").c("give-up")
	if tr.exit.ByRule || !shim.IsVoid(tr.err) || !strings.Contains(tr.err.Error(), "was broken off by a signal") {
		t.Errorf("exit %+v, err = %v; it printed %s", tr.exit, tr.err, tr.out)
	}
}

// An absolute path is one in the subject's own root.
func TestOwnRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may change its root")
	}
	try(t, "create path=root/file do fail ENOSPC").c("jail").ok("create -1 No space left on device")
}

// A directory's name may end like the kernel's mark of what was deleted.
func TestDirectoryNamedDeleted(t *testing.T) {
	tr := try(t, "create path='d (deleted)/f' do fail EACCES").run("sh", "-c", "mkdir 'd (deleted)'; : > 'd (deleted)/f'")
	if len(tr.matcher.Unfired()) != 0 {
		t.Error("the rule did not fire")
	}
}

func TestForeignArchitecture(t *testing.T) {
	if strconv.IntSize != 64 || !strings.Contains(unameMachine(), "x86_64") {
		t.Skip("the subject makes i386 calls")
	}
	tr := try(t).seeAll().c("foreign")
	if tr.out == "" {
		t.Skip("this kernel has no i386 calls")
	}
	if !shim.IsVoid(tr.err) || !strings.Contains(tr.err.Error(), "another architecture") {
		t.Errorf("err = %v", tr.err)
	}
}

func unameMachine() string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return unix.ByteSliceToString(u.Machine[:])
}

// The very first operation of a program is under the rules, each time.
func TestNoneEscapes(t *testing.T) {
	for range 100 {
		try(t, "create path=x do fail EACCES").run("sh", "-c", ": > x").ok("")
	}
}

// What a subject inherits is what its caller had: ignored signals, further
// descriptors, and nothing of the supervisor's.
func TestInheritance(t *testing.T) {
	const script = "env | sort; ls /proc/self/fd; grep SigIgn /proc/self/status"
	tr := try(t).seeAll()
	bare := exec.Command("sh", "-c", script)
	bare.Dir = tr.dir
	want, err := bare.Output()
	if err != nil {
		t.Fatal(err)
	}
	tr.run("sh", "-c", script).ok(strings.TrimSpace(string(want)))
}

// The filter must leave the making of processes alone.
func TestNeverTrapped(t *testing.T) {
	for _, name := range op.Calls(op.All) {
		switch name {
		case "clone", "clone3", "fork", "vfork", "execve", "execveat":
			t.Errorf("%s must not be trapped", name)
		}
	}
}
