//go:build linux

package trial

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/scratch"
	"faultlab/internal/shim"

	"golang.org/x/sys/unix"
)

// subject is one program about to run in a copy.
type subject struct {
	command
	start  *setting // nil: the plain way
	tree   string
	tmp    string
	out    string // where its output goes …
	name   string // … to NAME.stdout and NAME.stderr
	env    []string
	sentry *sentry // nil: nobody watches
	actor  byte    // 0: the only one
	gate   shim.Gate
	calls  []string
	// recording, where it is set, takes the run down.
	recording *shim.Recording
}

// command is what is executed.
type command struct {
	program string
	args    []string
}

// shell is a command of the user's as sh reads it.
func shell(text string) command { return command{"/bin/sh", []string{"sh", "-c", text}} }

// subject is the program under test.
func (r *Runner) subject(c Case, at *scratch.Copy, s *sentry, name string) *subject {
	sub := &subject{
		command: command{r.spec.Program, r.spec.Args},
		tree:    at.Tree(), tmp: at.Tmp(), out: at.Out(), name: name, sentry: s,
	}
	if s != nil {
		sub.start = s.start
	}
	sub.calls = slices.Concat(op.TreeCalls(), c.Watch)
	for _, rule := range c.Rules {
		sub.calls = append(sub.calls, rule.Calls()...)
	}
	slices.Sort(sub.calls)
	sub.calls = slices.Compact(sub.calls)
	return sub
}

// Limits on what a subject prints.
const (
	keptOutput = 1 << 20  // bytes that are kept of each stream
	mostOutput = 64 << 20 // bytes after which it is ended
)

// grace is how long what a program has started may outlive it: on a loaded machine
// the last of a pipeline takes its time to end.
const grace = 2 * time.Second

// run runs a subject to its end. The error says that the run shows nothing.
func (r *Runner) run(ctx context.Context, s *subject) (Outcome, error) {
	p, err := r.start(ctx, s)
	if err != nil {
		return Outcome{}, err
	}
	return p.wait(ctx)
}

// running is a subject that has been started.
type running struct {
	*shim.Run
	runner         *Runner
	subject        *subject
	stdout, stderr *stream
	unwatch        func() (why string, err error)
}

func (r *Runner) start(ctx context.Context, s *subject) (*running, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	open := newStream
	if s.recording != nil {
		open = newFileStream
	}
	stdout, err := open(filepath.Join(s.out, s.name+".stdout"))
	if err != nil {
		return nil, err
	}
	stderr, err := newStream(filepath.Join(s.out, s.name+".stderr"))
	if err != nil {
		stdout.close()
		return nil, err
	}
	free := r.watch.left()
	run, err := shim.Start(r.command(s, null, stdout, stderr), s.config())
	if err != nil {
		stdout.close()
		stderr.close()
		return nil, err
	}
	stdout.started()
	stderr.started()
	return &running{run, r, s, stdout, stderr, r.watch.over(ctx, run, filepath.Dir(s.tree), free, stdout, stderr)}, nil
}

// wait waits for the end. The error says that the run shows nothing.
func (p *running) wait(ctx context.Context) (Outcome, error) {
	defer p.stdout.close()
	defer p.stderr.close()
	exit, err := p.Run.Wait(shim.Limits{Timeout: p.runner.spec.Timeout, Grace: grace})
	why, full := p.unwatch()
	got := Outcome{Exit: exit, Ran: true, Stdout: p.said(p.stdout), Stderr: p.said(p.stderr),
		Cut: p.stdout.cut() || p.stderr.cut()}
	if err := cmp.Or(ctx.Err(), full); err != nil {
		return Outcome{}, err
	}
	if p.subject.sentry != nil {
		got.Outside = p.subject.sentry.outside
	}
	if refused := p.subject.start.refusal(got); refused != nil {
		return Outcome{}, refused
	}
	return p.runner.limited(got, why, err)
}

// said is what was printed, in which the copy's path reads "{tree}".
func (p *running) said(s *stream) string {
	return strings.ReplaceAll(s.finish(), p.subject.tree, "{tree}")
}

// limited tells a subject that had to be ended from a run that shows nothing.
func (r *Runner) limited(got Outcome, why string, err error) (Outcome, error) {
	switch {
	case why != "":
		got.Hang = why
		return got, nil
	case got.Late:
		got.Hang = fmt.Sprintf("does not end within %v", r.spec.Timeout)
		return got, nil
	}
	return got, err
}

func (r *Runner) command(s *subject, stdin *os.File, stdout, stderr *stream) shim.Command {
	set := s.start
	if set == nil {
		set = &setting{tree: s.tree}
	}
	own := []string{"FAULTFS_TREE=" + s.tree, "TMPDIR=" + s.tmp, "PWD=" + set.dir()}
	cmd := shim.Command{
		Env: set.environ(append(own, s.env...)), Dir: set.dir(),
		Stdin: stdin, Stdout: stdout.in, Stderr: stderr.in,
	}
	cmd.Path, cmd.Args = set.invocation(s.program, s.args)
	return cmd
}

func (s *subject) config() shim.Config {
	cfg := shim.Config{Tree: s.tree, Actor: 'A', Mark: "FAULTFS_TREE=" + s.tree}
	if s.actor != 0 {
		cfg.Actor, cfg.Mark, cfg.Gate = s.actor, s.env[0], s.gate
	}
	if s.sentry != nil {
		cfg.Calls, cfg.OpenWrites, cfg.Outside = s.calls, true, true
		cfg.Decider, cfg.Observer = s.sentry, s.sentry
		cfg.Recording, cfg.Names = s.recording, s.sentry.named
	}
	return cfg
}

// stream takes what a program prints: the beginning goes to a file, the rest is
// only counted.
type stream struct {
	in   *os.File // the program's end
	out  *os.File
	file *os.File
	done chan struct{}
	own  bool          // the program writes to the file by itself
	line chan struct{} // closed with the first whole line

	mu    sync.Mutex
	size  int64
	head  bytes.Buffer
	lined bool
}

func newStream(path string) (*stream, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &stream{in: in, out: out, file: file, done: make(chan struct{}), line: make(chan struct{})}, nil
}

// started gives up the program's end, which it has now, and reads the other.
func (s *stream) started() {
	_ = s.in.Close()
	if s.own {
		return
	}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(s, s.out)
	}()
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lined && bytes.IndexByte(p, '\n') >= 0 {
		s.lined = true
		close(s.line)
	}
	if room := keptOutput - s.size; room > 0 {
		kept := p[:min(int64(len(p)), room)]
		if s.head.Len() < keptText {
			s.head.Write(kept[:min(len(kept), keptText-s.head.Len())])
		}
		// A full disk must not stop the reading, for then the program would wait;
		// the watchdog ends it.
		_, _ = s.file.Write(kept)
	}
	s.size += int64(len(p))
	return len(p), nil
}

// keptText is how much of a stream is kept in memory.
const keptText = 64 << 10

func (s *stream) tooMuch() bool { return s.printed() > mostOutput }

// cut reports whether more was printed than is kept in memory.
func (s *stream) cut() bool { return s.printed() > keptText }

// printed is how many bytes have come.
func (s *stream) printed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own {
		return s.grown()
	}
	return s.size
}

// finish returns the beginning of what was printed. Every process that could
// print has ended.
func (s *stream) finish() string {
	<-s.done
	if s.own {
		return s.reread()
	}
	return s.head.String()
}

// empty reports whether nothing waits in the pipe.
func (s *stream) empty() bool {
	if s.own {
		return true
	}
	conn, err := s.out.SyscallConn()
	if err != nil {
		return true // closed: the run is over
	}
	waits := 0
	_ = conn.Control(func(fd uintptr) { waits, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return waits == 0
}

func (s *stream) close() {
	_ = s.in.Close()
	_ = s.out.Close()
	_ = s.file.Close()
}
