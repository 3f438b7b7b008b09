package fence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"
)

// DefaultTimeout is how long a client waits for an answer, beyond the time that
// it asked a grant to wait.
const DefaultTimeout = 10 * time.Second

// Client asks a coordinator on a Unix socket. It keeps no connection, so that
// it notices nothing of a coordinator that is restarted between two requests.
// Its methods return the errors of [Grantor]'s, and *UnreachableError.
type Client struct {
	Socket  string
	Timeout time.Duration // 0: DefaultTimeout
}

// UnreachableError says that there was no answer.
type UnreachableError struct {
	Op, Socket string
	Sent       bool // the request may have been done all the same
	Err        error
}

func (e *UnreachableError) Error() string {
	cure := fmt.Sprintf("start it with: coordinator serve --socket %s --state FILE", show(e.Socket))
	what := "no coordinator there"
	if e.Sent {
		what = "the coordinator did not answer, the request may have been done"
		cure = "see coordinator leases; a lease that nobody uses ends by itself"
	}
	return fmt.Sprintf("%s at %s: %s (%s): %s", e.Op, show(e.Socket), what, oneLine(e.Err.Error()), cure)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Grant asks for a lease and, where somebody has it, waits up to wait, at most
// MaxWait, for it to become free.
func (c Client) Grant(ctx context.Context, name, holder string, ttl, wait time.Duration) (l Lease, err error) {
	err = c.post(ctx, "grant", grantRequest{name, holder, duration(ttl), duration(wait)}, &l, wait, func(r errorReply) error {
		if r.Code == "held" && r.Lease != nil {
			return &HeldError{*r.Lease}
		}
		return nil
	})
	return l, err
}

// Renew gives a running lease its time again, see [Grantor.Renew].
func (c Client) Renew(ctx context.Context, name string, t Token, ttl time.Duration) (l Lease, err error) {
	err = c.post(ctx, "renew", tokenRequest{name, t, duration(ttl)}, &l, 0, lost("renew", name, t))
	return l, err
}

// Release ends a lease, see [Grantor.Release].
func (c Client) Release(ctx context.Context, name string, t Token) error {
	return c.post(ctx, "release", tokenRequest{Name: name, Token: t}, &struct{}{}, 0, lost("release", name, t))
}

// Advance moves a virtual clock, see [Grantor.Advance].
func (c Client) Advance(ctx context.Context, by time.Duration) (now time.Duration, err error) {
	var r advanceReply
	err = c.post(ctx, "advance", advanceRequest{duration(by)}, &r, 0, func(r errorReply) error {
		if r.Code == "backwards" {
			return &BackwardsError{by}
		}
		return nil
	})
	return time.Duration(r.Now), err
}

// Leases tells the leases that run, and the clock's reading.
func (c Client) Leases(ctx context.Context) (running []Lease, now time.Duration, err error) {
	var r leasesReply
	err = c.do(ctx, "leases", http.MethodGet, nil, &r, 0, nil)
	return r.Leases, time.Duration(r.Now), err
}

func lost(op, name string, t Token) func(errorReply) error {
	return func(r errorReply) error {
		if r.Code == "lost" {
			return &LostError{op, name, t, r.Lease}
		}
		return nil
	}
}

func (c Client) post(ctx context.Context, op string, req, got any, wait time.Duration, known func(errorReply) error) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	return c.do(ctx, op, http.MethodPost, body, got, wait, known)
}

// do sends a request and reads the answer into got; known makes the errors that
// this operation knows by type.
func (c Client) do(ctx context.Context, op, method string, body []byte, got any, wait time.Duration, known func(errorReply) error) error {
	if err := CheckSocket(c.Socket); err != nil {
		return err
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://coordinator/v1/"+op, bytes.NewReader(body))
	if err != nil {
		return err
	}
	var connected atomic.Bool
	resp, err := c.transport(&connected).RoundTrip(req)
	if err != nil {
		return &UnreachableError{op, c.Socket, connected.Load(), err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return &UnreachableError{op, c.Socket, true, err}
	}
	if resp.StatusCode != http.StatusOK {
		return c.refusal(op, resp.StatusCode, answer, known)
	}
	if err := json.Unmarshal(answer, got); err != nil {
		return &UnreachableError{op, c.Socket, true, fmt.Errorf("not a coordinator's answer: %w", err)}
	}
	return nil
}

func (c Client) transport(connected *atomic.Bool) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
			connected.Store(err == nil)
			return conn, err
		},
	}
}

// refusal makes an error of an answer: by type where it is known.
func (c Client) refusal(op string, status int, answer []byte, known func(errorReply) error) error {
	var r errorReply
	if err := json.Unmarshal(answer, &r); err != nil || r.Error == "" {
		return &UnreachableError{op, c.Socket, true, fmt.Errorf("status %d and not a coordinator's answer", status)}
	}
	if known != nil {
		if err := known(r); err != nil {
			return err
		}
	}
	if r.Code != "failed" {
		return &RefusedError{r.Code, r.Error}
	}
	return errors.New(r.Error)
}

// RefusedError is a coordinator's refusal of which the client knows no more
// than what it says. Code is one of those that [NewHandler] lists.
type RefusedError struct{ Code, Text string }

func (e *RefusedError) Error() string { return e.Text }

// CheckSocket says whether a path can be a Unix socket's: the kernel has room
// for 107 bytes of it on Linux and for 103 elsewhere, whatever it leads to.
func CheckSocket(path string) error {
	limit := 103
	if runtime.GOOS == "linux" {
		limit = 107
	}
	if path == "" || len(path) > limit {
		return &InvalidError{"socket", path, fmt.Sprintf("a path of 1 to %d bytes, this one has %d: use a shorter one, such as one relative to the working directory", limit, len(path))}
	}
	return nil
}
