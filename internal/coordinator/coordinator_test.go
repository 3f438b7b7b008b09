package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"faultlab/fence"
)

var words = strings.Fields

func TestLifeOfALease(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir, "--clock", "virtual")
	if !strings.Contains(s.ready, fmt.Sprintf("socket=s pid=%d clock=virtual grantor=", s.Process.Pid)) {
		t.Errorf("ready line %q", s.ready)
	}
	first := ok(t, dir, "grant", "data", "--holder", "w1", "--ttl", "10s", "--socket", "s")
	refused(t, dir, 3, []string{"held by w1", first}, "grant", "data", "--holder", "w2", "--socket", "s")
	ok(t, dir, "renew", "data", first, "--ttl", "20s", "--socket", "s")
	if now := ok(t, dir, "advance", "20s", "--socket", "s"); now != "20s" {
		t.Errorf("reads %s", now)
	}
	second := ok(t, dir, "grant", "data", "--holder", "w2", "--socket", "s")
	refused(t, dir, 3, []string{"release data", "is over", "held by w2"}, "release", "data", first, "--socket", "s")
	refused(t, dir, 3, []string{"renew data", "is over"}, "renew", "data", first, "--socket", "s")
	if got := ok(t, dir, "leases", "--socket", "s"); strings.Join(words(got), " ") != "NAME HOLDER TOKEN TTL LEFT data w2 "+second+" 10s 10s" {
		t.Errorf("leases:\n%s", got)
	}
	ok(t, dir, "release", "data", second, "--socket", "s")
	if got := ok(t, dir, "leases", "--json", "--socket", "s"); got != "[]" {
		t.Errorf("leases: %s", got)
	}
	s.end(t, syscall.SIGTERM)
	if got := list(t, dir); got != "l.db" {
		t.Errorf("left behind: %s", got)
	}
}

func TestMarks(t *testing.T) {
	dir := t.TempDir()
	tok, err := fence.ParseToken("7@0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	if err := (fence.Store{Path: filepath.Join(dir, "s.db")}).Put("champion", tok, []byte("0.9")); err != nil {
		t.Fatal(err)
	}
	if got := ok(t, dir, "marks", "--store", "s.db"); strings.Join(words(got), " ") != "KEY MARK BYTES champion 7@0123456789abcdef 3" {
		t.Errorf("marks:\n%s", got)
	}
	var marks []fence.Mark
	if err := json.Unmarshal([]byte(ok(t, dir, "marks", "--store", "s.db", "--json")), &marks); err != nil || len(marks) != 1 || marks[0].Token != tok {
		t.Errorf("marks %v, %v", marks, err)
	}
	refused(t, dir, 1, []string{"open none.db", "check the path"}, "marks", "--store", "none.db")
}

// What curl does: plain HTTP on the socket, without our client.
func TestPlainHTTP(t *testing.T) {
	dir := t.TempDir()
	serveIn(t, dir, "--clock", "virtual")
	c := http.Client{Timeout: limit, Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, "s"))
	}}}
	resp, err := c.Post("http://c/v1/grant", "application/x-www-form-urlencoded", strings.NewReader(`{"name":"data","holder":"w1","ttl":"10s"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || !strings.HasPrefix(string(body), `{"name":"data","holder":"w1","token":"1@`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 108)
	for _, r := range []struct {
		say  string
		args []string
	}{
		{"a command is missing", nil},
		{`no command "fly"`, words("fly")},
		{"--socket is missing", words("serve --state l.db")},
		{"--state is missing", words("serve --socket s")},
		{"want real or virtual", words("serve --socket s --state l.db --clock wall")},
		{"107 bytes, this one has 108", []string{"serve", "--socket", long, "--state", "l.db"}},
		{"107 bytes, this one has 108", []string{"leases", "--socket", long}},
		{"--socket is missing", words("leases")},
		{"--holder is missing", words("grant data --socket s")},
		{"grant takes 1 arguments and got 0", words("grant --socket s --holder w")},
		{"unknown flag: --lease", words("grant data --lease 1s")},
		{"invalid argument", words("grant data --ttl ten --holder w --socket s")},
		{"token \"7\": want", words("release data 7 --socket s")},
		{"want a duration", words("advance far --socket s")},
		{"--store is missing", words("marks")},
	} {
		refused(t, dir, 2, []string{r.say}, r.args...)
	}
	if got := list(t, dir); got != "" {
		t.Errorf("a usage error made %s", got)
	}
	if help := ok(t, dir, "serve", "--help"); !strings.Contains(help, "--clock") {
		t.Errorf("help: %s", help)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	refused(t, dir, 1, []string{"leases at s", "no coordinator", "coordinator serve --socket s --state FILE"}, "leases", "--socket", "s")
	s := serveIn(t, dir, "--clock", "virtual")
	refused(t, dir, 3, []string{"never moves backwards"}, "advance", "-5s", "--socket", "s")
	refused(t, dir, 3, []string{"never moves backwards"}, "advance", "--socket", "s", "--", "-5s")
	refused(t, dir, 3, []string{"another store", "0123456789abcdef"}, "release", "data", "1@0123456789abcdef", "--socket", "s")
	refused(t, dir, 2, []string{"ttl"}, "grant", "data", "--holder", "w", "--ttl", "-1s", "--socket", "s")
	pid := fmt.Sprintf("pid %d (coordinator)", s.Process.Pid)
	refused(t, dir, 3, []string{"serve on s", "in use", pid}, "serve", "--socket", "s", "--state", "other.db")
	refused(t, dir, 3, []string{"open l.db", "in use", pid}, "serve", "--socket", "s2", "--state", "l.db")
	if got := list(t, dir); got != "l.db s s.lock" {
		t.Errorf("the refused left something: %s", got)
	}
	ok(t, dir, "leases", "--socket", "s") // and the one that serves was not disturbed
	s.kill()
	refused(t, dir, 1, []string{"leases at s", "no coordinator"}, "leases", "--socket", "s")
	refused(t, dir, 1, []string{"begun with the clock"}, "serve", "--socket", "s", "--state", "l.db", "--clock", "real")
	refused(t, dir, 1, []string{"a directory", "name a file"}, "serve", "--socket", "s", "--state", ".")
}

// What is not a coordinator's is left alone.
func TestSocketOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "s"), []byte("mine"), 0o600)
	refused(t, dir, 1, []string{"serve on s", "something else than a socket", "name another path"}, "serve", "--socket", "s", "--state", "l.db")
	if b, _ := os.ReadFile(filepath.Join(dir, "s")); string(b) != "mine" {
		t.Errorf("the file now holds %q", b)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "live"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused(t, dir, 3, []string{"serve on live", "in use"}, "serve", "--socket", "live", "--state", "l.db")
	os.Symlink("s", filepath.Join(dir, "link.lock"))
	refused(t, dir, 1, []string{"open link.lock"}, "serve", "--socket", "link", "--state", "l.db")
	refused(t, dir, 1, []string{"no/s.lock", "make its directory"}, "serve", "--socket", "no/s", "--state", "l.db")
	if got := list(t, dir); got != "link.lock live s" {
		t.Errorf("left behind: %s", got)
	}
}

// Many start at once on what a dead one left: exactly one serves.
func TestManyStartOnALeftSocket(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		serveIn(t, dir, "--clock", "virtual").kill()
		if got := list(t, dir); got != "l.db s s.lock" {
			t.Fatalf("a killed one leaves %s", got)
		}
		exits := make(chan *exec.Cmd, 6)
		left := map[*exec.Cmd]bool{}
		for range cap(exits) {
			cmd := exec.Command(program, words("serve --socket s --state l.db --clock virtual")...)
			cmd.Dir = dir
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			left[cmd] = true
			go func() { cmd.Wait(); exits <- cmd }()
		}
		for range len(left) - 1 {
			cmd := <-exits
			delete(left, cmd)
			if code := cmd.ProcessState.ExitCode(); code != 3 {
				t.Errorf("exit %d of one that should be refused", code)
			}
		}
		for cmd := range left {
			// Served, since a client is answered by nobody else.
			ok(t, dir, "leases", "--socket", "s")
			cmd.Process.Signal(syscall.SIGTERM)
			if code := (<-exits).ProcessState.ExitCode(); code != 0 {
				t.Errorf("exit %d of the one that serves", code)
			}
		}
	}
}

func TestSignalsEndCleanly(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		dir := t.TempDir()
		s := serveIn(t, dir, "--clock", "virtual")
		ok(t, dir, "grant", "data", "--holder", "w1", "--socket", "s")
		waiter := make(chan int)
		go func() {
			_, _, code := run(t, dir, "grant", "data", "--holder", "w2", "--wait", "1m", "--socket", "s")
			waiter <- code
		}()
		s.end(t, sig)
		if got := list(t, dir); got != "l.db" {
			t.Errorf("after %v: left behind %s", sig, got)
		}
		if code := <-waiter; code != 1 {
			t.Errorf("a waiting grant ended with %d", code)
		}
	}
}

func TestReadyThatCannotBeSaid(t *testing.T) {
	dir := t.TempDir()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	var stderr strings.Builder
	wd, _ := os.Getwd()
	defer os.Chdir(wd)
	os.Chdir(dir)
	if code := Main(words("serve --socket s --state l.db"), full, &stderr); code != 1 || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("exit %d, %s", code, &stderr)
	}
	if got := list(t, dir); got != "l.db" {
		t.Errorf("left behind: %s", got)
	}
}

// Killed with SIGKILL at random points under eight clients, and started again
// on what it left: every token is given once, and later grants are greater.
func TestKilledUnderLoad(t *testing.T) {
	dir := t.TempDir()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var last uint64
	for round := range 12 {
		s := serveIn(t, dir)
		got := make(chan fence.Token, 1<<12)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { load(ctx, fence.Client{Socket: filepath.Join(dir, "s")}, fmt.Sprintf("w%d-%d", round, i), got) })
		}
		seen := map[uint64]bool{}
		first := take(t, got, seen)
		<-time.After(time.Duration(rng.IntN(40)) * time.Millisecond)
		s.kill()
		cancel()
		wg.Wait()
		close(got)
		low, high := first, first
		for tk := range got {
			if seen[tk.N] {
				t.Fatalf("round %d, seed %d: token %v was given twice", round, seed, tk)
			}
			seen[tk.N] = true
			low, high = min(low, tk.N), max(high, tk.N)
		}
		if low <= last {
			t.Fatalf("round %d, seed %d: token %d after %d", round, seed, low, last)
		}
		last = high
	}
}

func load(ctx context.Context, c fence.Client, name string, got chan<- fence.Token) {
	for ctx.Err() == nil {
		l, err := c.Grant(ctx, name, name, fence.MinTTL, 0)
		if err == nil {
			got <- l.Token
			c.Release(ctx, name, l.Token)
		}
	}
}

func take(t *testing.T, got <-chan fence.Token, seen map[uint64]bool) uint64 {
	t.Helper()
	select {
	case tk := <-got:
		seen[tk.N] = true
		return tk.N
	case <-time.After(limit):
		t.Fatal("nobody was granted anything")
		return 0
	}
}

// Eight programs that start at once for one name are all served.
func TestEightProgramsAtOnce(t *testing.T) {
	dir := t.TempDir()
	serveIn(t, dir)
	var wg sync.WaitGroup
	tokens := make([]string, 8)
	for i := range tokens {
		wg.Go(func() {
			tokens[i] = ok(t, dir, "grant", "data", "--holder", fmt.Sprint("w", i), "--ttl", "1m", "--wait", "15s", "--socket", "s")
			ok(t, dir, "release", "data", tokens[i], "--socket", "s")
		})
	}
	wg.Wait()
	slices.Sort(tokens)
	if n := len(slices.Compact(tokens)); n != 8 {
		t.Errorf("%d different tokens, want 8", n)
	}
}

// The lock file of one that ended between another's open and lock: R08.
func TestLockOfALostName(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "s")
	first, err := listen(sock)
	if err != nil {
		t.Fatal(err)
	}
	late, err := openLock(sock + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if err := lockNamed(late); !errors.Is(err, errTaken) {
		t.Errorf("locked twice: %v", err)
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	if err := lockNamed(late); !errors.Is(err, errLost) {
		t.Errorf("the name is gone: %v", err)
	}
	second, err := listen(sock)
	if err != nil {
		t.Fatal(err)
	}
	defer second.release()
	if err := lockNamed(late); !errors.Is(err, errLost) {
		t.Errorf("the name is another file's: %v", err)
	}
}

// A token that cannot be printed is nobody's: its lease is given back.
func TestTokenThatCannotBePrinted(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	dir := t.TempDir()
	serveIn(t, dir, "--clock", "virtual")
	var stderr strings.Builder
	code := Main([]string{"grant", "data", "--holder", "w", "--socket", filepath.Join(dir, "s")}, full, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "no space left") || !strings.Contains(stderr.String(), "given back") {
		t.Errorf("exit %d, %s", code, &stderr)
	}
	if got := ok(t, dir, "leases", "--json", "--socket", "s"); got != "[]" {
		t.Errorf("still running: %s", got)
	}
}
