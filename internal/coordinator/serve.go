package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-multierror"

	"faultlab/fence"
)

// Bounds on a connection. A grant may wait for fence.MaxWait before the first
// byte of its answer.
const (
	headerWait   = 5 * time.Second
	bodyWait     = 10 * time.Second
	answerWait   = fence.MaxWait + 10*time.Second
	idleWait     = 60 * time.Second
	headerBytes  = 8 << 10
	shutdownWait = 5 * time.Second
)

// serve runs until a signal and leaves nothing but the state.
func serve(ctx context.Context, path, state, clock string, stdout, stderr io.Writer) error {
	// Before anything is made, so that no signal finds half of it.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c, err := clockNamed(clock)
	if err != nil {
		return err
	}
	sock, err := listen(path)
	if err != nil {
		return err
	}
	g, err := fence.OpenGrantor(state, c)
	if err != nil {
		return oneLine(err, sock.Close(), sock.release())
	}
	srv := &http.Server{
		Handler:           fence.NewHandler(g),
		ReadHeaderTimeout: headerWait,
		ReadTimeout:       bodyWait,
		WriteTimeout:      answerWait,
		IdleTimeout:       idleWait,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          log.New(stderr, "coordinator: ", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(sock) }()

	if _, err = fmt.Fprintf(stdout, "ready socket=%s pid=%d clock=%s grantor=%s\n", path, os.Getpid(), clock, g.ID()); err == nil {
		select {
		case err = <-ended:
		case <-ctx.Done():
			stop() // a second signal ends it at once
		}
	}
	return oneLine(err, shutdown(srv, g), sock.release())
}

// shutdown answers what is in work. The grantor closes first where grants wait
// for a name, for nothing else would wake them in time.
func shutdown(srv *http.Server, g *fence.Grantor) error {
	err := g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownWait)
	defer cancel()
	if serr := srv.Shutdown(ctx); errors.Is(serr, context.DeadlineExceeded) {
		srv.Close() // clients that do not read their answer
	}
	return err
}

func clockNamed(name string) (fence.Clock, error) {
	switch name {
	case "real":
		return fence.RealClock()
	case "virtual":
		return fence.VirtualClock(), nil
	}
	return nil, &usageError{fmt.Sprintf("--clock %q: want real or virtual", name)}
}

// oneLine hands up all errors, on the one line that a message has.
func oneLine(errs ...error) error {
	m := multierror.Append(nil, errs...)
	m.ErrorFormat = func(errs []error) string {
		var all []string
		for _, err := range errs {
			all = append(all, err.Error())
		}
		return strings.Join(all, "; and ")
	}
	return m.ErrorOrNil()
}
