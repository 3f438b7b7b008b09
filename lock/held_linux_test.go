package lock

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ended starts a process and lets it end; it stays a zombie until it is waited for.
func ended(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestJudge(t *testing.T) {
	t.Parallel()
	zombie, gone := ended(t), ended(t)
	zombieStart := startTicks(zombie.Process.Pid)
	defer zombie.Wait()
	_ = gone.Wait()
	me := newRecord(designCreate, Options{})
	rows := []struct {
		name   string
		change func(*Record)
		want   State
		detail string
	}{
		{"this process", func(*Record) {}, Alive, ""},
		{"start not known", func(r *Record) { r.StartTicks = 0 }, Alive, ""},
		{"gone", func(r *Record) { r.PID = gone.Process.Pid }, Gone, ""},
		{"zombie", func(r *Record) { r.PID, r.StartTicks = zombie.Process.Pid, zombieStart }, Zombie, ""},
		{"reused", func(r *Record) { r.StartTicks++ }, Reused, "of "},
		{"reused by a zombie", func(r *Record) { r.PID = zombie.Process.Pid }, Reused, "of true"},
		{"other host", func(r *Record) { r.Boot, r.Host = "other", "other" }, Elsewhere, ""},
		{"restarted", func(r *Record) { r.Boot = "other" }, Gone, "this machine has been restarted since"},
		{"renamed", func(r *Record) { r.Host = "other" }, Alive, ""},
		{"other host, boot not known", func(r *Record) { r.Boot, r.Host = "", "other" }, Elsewhere, ""},
		{"this host, boot not known", func(r *Record) { r.Boot = "" }, Alive, ""},
		{"container", func(r *Record) { r.PIDSpace = "pid:[1]" }, Elsewhere, "same machine, another container"},
	}
	for _, row := range rows {
		r := me
		row.change(&r)
		if got, detail := judge(r); got != row.want || !strings.HasPrefix(detail, row.detail) {
			t.Errorf("%s: %s (%s), want %s (%s)", row.name, got, detail, row.want, row.detail)
		}
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	tail := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n"
	for _, name := range []string{"sh", "a b", ") S 1", "((", ""} {
		p, err := parseStat([]byte("12 (" + name + ")" + tail))
		if err != nil || p.name != name || p.state != 'S' || p.start != 4711 {
			t.Errorf("%q: %+v, %v", name, p, err)
		}
	}
	for _, bad := range []string{"", "12", "12 (sh", "12 (sh) S 1", ")(", "12 (sh)" + strings.Replace(tail, "4711", "x", 1)} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q reads as %+v", bad, p)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name  string
		make  func(path string) error
		state State
		says  string // after the path
	}{
		{"nothing", func(string) error { return nil }, Free, " is free"},
		{"empty", func(p string) error { return os.WriteFile(p, nil, 0o644) }, HalfMade,
			" is half-made (empty): it is being written at this moment, or its writer died"},
		{"number", func(p string) error { return os.WriteFile(p, []byte("12\n"), 0o644) }, Unreadable,
			" is unreadable (not a lock record)"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o755) }, Unreadable, " is unreadable (not a regular file)"},
		{"link", func(p string) error { return os.Symlink("/dev/null", p) }, Unreadable, " is unreadable (a symbolic link)"},
		{"dangling link", func(p string) error { return os.Symlink("nowhere", p) }, Unreadable, " is unreadable (a symbolic link)"},
		{"fifo", func(p string) error { return unix.Mkfifo(p, 0o644) }, Unreadable, " is unreadable (not a regular file)"},
		{"socket", socketAt, Unreadable, " is unreadable (a socket)"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path := lockPath(t)
			if err := row.make(path); err != nil {
				t.Fatal(err)
			}
			s := mustInspect(t, path)
			if s.State != row.state || s.String() != path+row.says {
				t.Errorf("%s, %q", s.State, s)
			}
			_, err := Acquire(path, Options{})
			if row.state != Free {
				var held *HeldError
				if !errors.As(err, &held) || held.State != row.state || strings.Contains(err.Error(), "\n") {
					t.Errorf("acquire: %v", err)
				}
			}
		})
	}
}

func socketAt(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
}

// An unreadable lock is not a missing one, and not a free one.
func TestInspectWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	path := lockPath(t)
	if err := os.WriteFile(path, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(path); !errors.Is(err, syscall.EACCES) {
		t.Errorf("got %v", err)
	}
	var held *HeldError
	if _, err := Acquire(path, Options{}); !errors.As(err, &held) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
}

// A child must not keep the pin, nor the flock of the other design: the lock would outlive its holder.
func TestChildrenInheritNoDescriptor(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	mustAcquire(t, path)
	mustFlock(t, path+".flock")
	out, err := exec.Command("sh", "-c", "ls -l /proc/$$/fd").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), path) {
		t.Errorf("a child has it open:\n%s", out)
	}
}
