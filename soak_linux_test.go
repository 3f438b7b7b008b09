package faultlab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"faultlab/fence"
)

const (
	clients = 8
	ttl     = 10 * time.Second // on a virtual clock
)

// TestSoak lets workers contend for one lock, one lease and one store, while
// they and the coordinator are killed, their disk fails, they stall, and an
// operator takes the lock from some who live. Whatever the store then answered
// must be what a fenced register answers. FAULTLAB_SEED repeats the choices of
// a run, though not how the processes meet.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := newSoak(t, "")
	rounds := 3
	if os.Getenv("FAULTLAB_LONG") == "1" {
		rounds = 60
	}
	s.play(rounds)
	t.Log(s.figures())
	switch result, info := s.history.check(); result {
	case porcupine.Illegal:
		t.Errorf("seed %d: the store is no fenced register; drawn in %s", s.seed, s.draw("", info))
	case porcupine.Unknown:
		t.Errorf("seed %d: a minute was not enough to check %d operations", s.seed, len(s.history.ops))
	}
	if s.done.Load() == 0 || s.void.Load() > s.runs.Load()/4 {
		t.Errorf("seed %d: the soak looked at next to nothing", s.seed)
	}
}

// TestSoakFindsSharedToken: a soak that finds nothing proves something only if
// there is something that it finds.
func TestSoakFindsSharedToken(t *testing.T) {
	t.Parallel()
	s := newSoak(t, "shared-token")
	for range 20 {
		s.play(2)
		if result, info := s.history.check(); result == porcupine.Illegal {
			t.Log("found: " + s.figures())
			if drawn, err := os.ReadFile(s.draw(t.TempDir(), info)); err != nil || !bytes.Contains(drawn, []byte("<html")) {
				t.Errorf("not drawn: %v", err)
			}
			return
		}
	}
	t.Errorf("seed %d: not found: %s", s.seed, s.figures())
}

// soak is a data directory, a store and a coordinator, and who is at them.
type soak struct {
	t       *testing.T
	dir     string
	mutant  string
	seed    uint64
	history history
	client  fence.Client
	store   fence.Store

	// Runs hold it together; who restores the data directory holds it alone.
	data sync.RWMutex
	// taken: the lock was taken from a worker that lived, so that two may have
	// been in the data directory. Nothing protects that but the lock.
	taken atomic.Bool
	awake atomic.Int64 // clients at work

	lives, runs, done, stalls, kills, faults, void, restored, restarts atomic.Int64
}

func newSoak(t *testing.T, mutant string) *soak {
	try := exec.Command("faultfs", "run", "--allow-unfired", "--on", "sync path=x do fail EIO", "--", "true")
	try.Dir = t.TempDir()
	if out, err := try.CombinedOutput(); err != nil {
		if os.Getenv("FAULTLAB_REQUIRE") == "1" {
			t.Fatalf("faultfs: %v\n%s", err, out)
		}
		t.Skipf("needs faultfs: %v\n%s", err, out)
	}
	s := &soak{t: t, dir: t.TempDir(), mutant: mutant, seed: rand.Uint64()}
	if n, err := strconv.ParseUint(os.Getenv("FAULTLAB_SEED"), 10, 64); err == nil {
		s.seed = n
	}
	s.history.begun = time.Now()
	s.client = fence.Client{Socket: filepath.Join(s.dir, "c.sock")}
	s.store = fence.Store{Path: filepath.Join(s.dir, "s.db"), LockWait: 100 * time.Millisecond}
	s.must(os.Mkdir(filepath.Join(s.dir, "data"), 0o755))
	for i := range clients {
		s.write(fmt.Sprintf("cases%d", i), casesFor(i))
	}
	return s
}

// Every policy is right about a dataset of its own and wrong about the others,
// so that each beats whichever is champion.
func policy(name string, i int) string {
	return fmt.Sprintf(`{"name":%q,"weights":{"latency_ms":1,"errors":0,"queue":0},"page":%d,"ticket":%d}`, name, 100*i+150, 100*i+100)
}

func casesFor(i int) string {
	var b strings.Builder
	for j := range 2 * clients {
		latency, want := 50*j+75, "ignore"
		if latency >= 100*i+150 {
			want = "page"
		} else if latency >= 100*i+100 {
			want = "ticket"
		}
		fmt.Fprintf(&b, `{"id":"%d","latency_ms":%d,"errors":0,"queue":0,"want":"%s"}`+"\n", j, latency, want)
	}
	return b.String()
}

func (s *soak) must(err error) {
	if err != nil {
		s.t.Error(err)
		panic(err)
	}
}

func (s *soak) write(name, text string) {
	s.must(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
}

// play lets each client make so many runs.
func (s *soak) play(rounds int) {
	stop := s.coordinate()
	defer stop()
	var all sync.WaitGroup
	life := s.lives.Add(1)
	for i := range clients {
		s.awake.Add(1)
		all.Go(func() {
			defer s.awake.Add(-1)
			w := &client{soak: s, id: i, rng: rand.New(rand.NewPCG(s.seed, uint64(life)<<8+uint64(i)))}
			for k := range rounds {
				w.run(fmt.Sprintf("%d-%d-%d", life, i, k))
				w.read()
			}
		})
	}
	all.Wait()
}

// coordinate keeps a coordinator running, and kills it now and then.
func (s *soak) coordinate() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	kill := s.serve()
	go func() {
		defer close(ended)
		next := s.runs.Load() + 20
		for ctx.Err() == nil {
			if s.runs.Load() >= next {
				kill()
				kill = s.serve()
				s.restarts.Add(1)
				next += 20
			}
			time.Sleep(5 * time.Millisecond)
		}
		kill()
	}()
	return func() { cancel(); <-ended }
}

func (s *soak) serve() (kill func()) {
	cmd := exec.Command("coordinator", "serve", "--socket", "c.sock", "--state", "l.db", "--clock", "virtual")
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	if _, err := out.Read(make([]byte, 1)); err != nil {
		s.t.Errorf("the coordinator did not start: %v", err)
	}
	return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
}

// pass lets the time of all leases pass.
func (s *soak) pass() { _, _ = s.client.Advance(context.Background(), ttl) }

// restore begins the data directory anew, as an operator would from a copy.
func (s *soak) restore(name, why string) {
	s.data.RUnlock()
	defer s.data.RLock()
	s.data.Lock()
	defer s.data.Unlock()
	status := exec.Command("worker", "status", "--data", "data")
	status.Dir = s.dir
	if _ = status.Run(); status.ProcessState.ExitCode() != 1 {
		return // another one was first
	}
	if !s.taken.Swap(false) {
		s.t.Errorf("seed %d: run %s: the data directory is damaged, and nobody's lock was taken: %s", s.seed, name, why)
	}
	s.restored.Add(1)
	for _, file := range []string{"results.jsonl", "champion.json", "champion.json.tmp"} {
		if err := os.Remove(filepath.Join(s.dir, "data", file)); !errors.Is(err, fs.ErrNotExist) {
			s.must(err)
		}
	}
}

func (s *soak) figures() string {
	return fmt.Sprintf("seed %d: %d operations of %d processes on the store, %d of them known to be done; %d stalls, %d kills, %d faults, %d restarts of the coordinator, %d restored data directories, %d void",
		s.seed, len(s.history.ops), s.runs.Load(), s.done.Load(), s.stalls.Load(), s.kills.Load(), s.faults.Load(), s.restarts.Load(), s.restored.Load(), s.void.Load())
}

// draw writes the history into a file; without a directory it is one that stays.
func (s *soak) draw(dir string, info porcupine.LinearizationInfo) string {
	f, err := os.CreateTemp(dir, fmt.Sprintf("faultlab-soak-%d-*.html", s.seed))
	s.must(err)
	s.must(porcupine.Visualize(model, info, f))
	s.must(f.Close())
	return f.Name()
}

// client is one of those who contend: a process after the other.
type client struct {
	*soak
	id  int
	rng *rand.Rand
}

// read looks at the store and notes what it holds.
func (c *client) read() {
	from := c.history.now()
	v, err := c.store.Get("champion")
	var locked *fence.LockedError
	switch {
	case errors.As(err, &locked):
		return
	case err == nil:
		name := regexp.MustCompile(`"name":"([^"]*)"`).FindSubmatch(v.Data)
		c.history.add(c.id, from, request{}, answer{done, register{v.Token.N, string(name[1])}})
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fence.ErrNoValue):
		c.history.add(c.id, from, request{}, answer{done, register{}})
	default:
		c.t.Errorf("seed %d: the store cannot be read: %v", c.seed, err)
	}
}

// process is one run of a worker, and what it has said so far.
type process struct {
	name string
	from int64 // it cannot have put before
	mu   sync.Mutex
	out  bytes.Buffer
	err  bytes.Buffer
	over chan struct{}
	code int
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// said finds what a pattern has in its parentheses.
func (p *process) said(pattern string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := regexp.MustCompile(pattern).FindStringSubmatch(p.out.String()); m != nil {
		return m[1]
	}
	return ""
}

// run starts a worker, does to it what was chosen, and notes what came of it.
// It is not counted, and tried again, while others have the lock.
func (c *client) run(name string) {
	c.data.RLock()
	defer c.data.RUnlock()
	i := c.rng.IntN(clients)
	c.write(name+".json", policy(name, i))
	args := []string{"worker", "run", "--candidate", name + ".json", "--dataset", fmt.Sprintf("cases%d", i), "--data", "data",
		"--coordinator", "c.sock", "--store", "s.db", "--ttl", ttl.String(), "--mutant", c.mutant}
	rule, stalls := c.choose(name)
	if rule != "" {
		args = append([]string{"faultfs", "run", "--allow-unfired", "--on", rule, "--"}, args...)
	}
	for range 20 {
		p := c.start(name, args)
		if stalls {
			c.stall(p, rule)
		}
		<-p.over
		c.runs.Add(1)
		if p.code != 3 {
			c.note(p)
			return
		}
		c.giveWay(p)
	}
}

func (c *client) start(name string, args []string) *process {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	p := &process{name: name, from: c.history.now(), over: make(chan struct{})}
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, p, &p.err
	c.must(cmd.Start())
	go func() {
		defer cancel()
		defer close(p.over)
		_ = cmd.Wait()
		p.code = cmd.ProcessState.ExitCode()
	}()
	return p
}
