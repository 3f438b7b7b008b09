package fence

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limit bounds every wait of these tests.
const limit = 20 * time.Second

// TestMain lets the test binary be a process that is killed, stopped or in the
// way: FENCE_CHILD names what it does, on the file FENCE_FILE.
func TestMain(m *testing.M) {
	role := os.Getenv("FENCE_CHILD")
	if role == "" {
		if os.Getenv("FAULTLAB_LONG") != "" {
			rounds = 300
		} else {
			flag.Set("rapid.checks", "40")
		}
		os.Exit(m.Run())
	}
	if err := children[role](os.Getenv("FENCE_FILE")); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// children print one line for each thing done, once it is done.
var children = map[string]func(file string) error{
	"grant": func(file string) error {
		g, err := OpenGrantor(file, VirtualClock())
		if err != nil {
			return err
		}
		for {
			l, err := g.Grant("data", "child", time.Minute)
			if err != nil {
				return err
			}
			fmt.Println(l.Token)
			if err := g.Release("data", l.Token); err != nil {
				return err
			}
		}
	},
	"put": func(file string) error {
		first, err := strconv.ParseUint(os.Getenv("FENCE_FIRST"), 10, 64)
		if err != nil {
			return err
		}
		for n := first; ; n++ {
			if err := (Store{Path: file}).Put("k", tok(n), []byte(strings.Repeat(fmt.Sprint(n, " "), 2000))); err != nil {
				return err
			}
			fmt.Println(n)
		}
	},
	"hold": func(file string) error {
		f, err := Store{Path: file}.open(false)
		if err != nil {
			return err
		}
		fmt.Println("held", f.path)
		_, err = os.Stdin.Read(make([]byte, 1)) // until the test lets go
		return errors.Join(err, f.close())
	},
}

// child is such a process; its lines come on Lines until it ends.
type child struct {
	*exec.Cmd
	Lines chan string
}

func start(t *testing.T, role, file string, env ...string) *child {
	t.Helper()
	c := &child{exec.Command(os.Args[0]), make(chan string, 1<<16)}
	c.Env = append(os.Environ(), append(env, "FENCE_CHILD="+role, "FENCE_FILE="+file)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StdinPipe(); err != nil { // open until Wait, so that "hold" holds
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			c.Lines <- s.Text()
		}
		close(c.Lines)
	}()
	t.Cleanup(func() { c.kill() })
	return c
}

// line waits for the child's next line; "" when it ended.
func (c *child) line(t *testing.T) string {
	t.Helper()
	select {
	case l := <-c.Lines:
		if strings.HasPrefix(l, "error") {
			t.Fatal(l)
		}
		return l
	case <-time.After(limit):
		t.Fatal("the child says nothing")
		return ""
	}
}

// kill ends the child with SIGKILL and gives the lines that it still wrote.
func (c *child) kill() (rest []string) {
	c.Process.Kill()
	for l := range c.Lines {
		rest = append(rest, l)
	}
	c.Wait()
	return rest
}

const testGrantor = "0123456789abcdef"

func tok(n uint64) Token { return Token{testGrantor, n} }

// fakeClock is a real clock in a test's hands.
type fakeClock struct {
	now time.Duration
	era string
}

func (c *fakeClock) Now() time.Duration { return c.now }
func (c *fakeClock) Era() string        { return c.era }

func openTest(t *testing.T, path string, c Clock) *Grantor {
	t.Helper()
	g, err := OpenGrantor(path, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError fails unless err is an E whose message is one line that contains
// all the words.
func wantError[E error](t *testing.T, err error, words ...string) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want a %T", err, err, e)
	}
	for _, w := range append(words, ": ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.ContainsAny(err.Error(), "\n") {
		t.Errorf("%q is more than one line", err)
	}
	return e
}
