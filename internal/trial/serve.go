//go:build linux

package trial

import (
	"context"
	"syscall"
	"time"

	"faultlab/internal/shim"
)

// Server is the spec's helper on a stage. The actors ask it, and what it does in
// the tree is theirs.
type Server struct {
	*running
}

// serverLetter is what it has where an actor has a letter.
const serverLetter = 'S'

// Serve starts the spec's helper and waits until it says that it is ready: with
// the first line on its standard output. Without one there is no server. Its
// operations are shown to the gate.
func (s *Stage) Serve(ctx context.Context, gate shim.Gate) (*Server, error) {
	text := s.runner.spec.Serve
	if text == "" {
		return nil, nil
	}
	sub := s.runner.subject(Case{Watch: stageCalls()}, s.at, s.runner.sentry(Case{}, s.at), "server")
	sub.command = shell(s.fill([]string{text})[0])
	run, err := s.begin(ctx, sub, serverLetter, gate)
	if err != nil {
		return nil, err
	}
	server := &Server{run}
	if err := server.ready(ctx); err != nil {
		return nil, err
	}
	return server, nil
}

// ready waits for the first line. The error ends the server.
func (s *Server) ready(ctx context.Context) error {
	limit := time.NewTimer(s.runner.spec.Timeout)
	defer limit.Stop()
	select {
	case <-s.stdout.line:
		return nil
	case <-s.Ended():
		o, err := s.wait(ctx)
		if err != nil {
			return err
		}
		return shim.Voidf("--serve %q ended with status %d before it was ready%s", s.runner.spec.Serve, o.Status(), LastLine(o.Text()))
	case <-limit.C:
		s.Discard(ctx)
		return shim.Voidf("--serve %q is not ready within %v: it must print a line on standard output once it serves", s.runner.spec.Serve, s.runner.spec.Timeout)
	case <-ctx.Done():
		s.Discard(ctx)
		return ctx.Err()
	}
}

// Discard ends the server of a stage that nobody will look at.
func (s *Server) Discard(ctx context.Context) {
	s.Kill()
	_, _ = s.wait(ctx)
}

// Stop asks the server to end, as an operator would, and ends it if it does not.
// It returns what is wrong with what it did by itself.
func (s *Server) Stop(ctx context.Context) error {
	alone := s.HasEnded()
	_ = s.Signal(syscall.SIGTERM)
	select {
	case <-s.Exited():
	case <-time.After(grace):
	case <-ctx.Done():
	}
	s.Kill() // what it has started and left
	o, err := s.wait(ctx)
	switch {
	case err != nil:
		return err
	case len(o.Outside) > 0:
		return s.runner.Trespass("the server (--serve)", o.Outside[0])
	case o.Hang != "":
		return shim.Voidf("the server (--serve) %s", o.Hang)
	case alone:
		return shim.Voidf("the server (--serve) ended by itself with status %d%s", o.Status(), LastLine(o.Text()))
	}
	return nil
}
