package fence

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// served is a grantor behind a handler on a Unix socket.
func served(t *testing.T, g *Grantor) Client {
	t.Helper()
	c := Client{Socket: filepath.Join(t.TempDir(), "s"), Timeout: limit}
	l := must[net.Listener](t)(net.Listen("unix", c.Socket))
	srv := &http.Server{Handler: NewHandler(g)}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return c
}

// Every error arrives as the type that the grantor returned, with its text.
func TestClientErrors(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "l.db"), VirtualClock())
	c, ctx := served(t, g), context.Background()
	a := must[Lease](t)(c.Grant(ctx, "data", "a", time.Minute, 0))
	if run, _, err := c.Leases(ctx); err != nil || len(run) != 1 || run[0] != a {
		t.Fatalf("leases %+v, %v; want %+v", run, err, a)
	}
	_, err := c.Grant(ctx, "data", "b", time.Minute, 0)
	_, want := g.Grant("data", "b", time.Minute)
	if held := wantError[*HeldError](t, err); held.Error() != want.Error() {
		t.Errorf("got %q, want %q", err, want)
	}
	if got := must[time.Duration](t)(c.Advance(ctx, 30*time.Second)); got != 30*time.Second {
		t.Errorf("reads %v", got)
	}
	if l := must[Lease](t)(c.Renew(ctx, "data", a.Token, time.Hour)); l.Expires != time.Hour+30*time.Second {
		t.Errorf("renewed to %+v", l)
	}
	_, err = c.Advance(ctx, -time.Second)
	wantError[*BackwardsError](t, err)
	if err := c.Release(ctx, "data", a.Token); err != nil {
		t.Fatal(err)
	}
	b := must[Lease](t)(c.Grant(ctx, "data", "b", time.Minute, 0))
	lost := wantError[*LostError](t, c.Release(ctx, "data", a.Token), "held by b")
	if lost.Current == nil || lost.Current.Token != b.Token {
		t.Errorf("current %+v", lost.Current)
	}
	if r := wantError[*RefusedError](t, c.Release(ctx, "data", tok(1)), "another store"); r.Code != "foreign" {
		t.Errorf("code %s", r.Code)
	}
	_, err = c.Grant(ctx, "data", "", time.Minute, 0)
	if r := wantError[*RefusedError](t, err, "holder"); r.Code != "invalid" {
		t.Errorf("code %s", r.Code)
	}
}

func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	c := Client{Socket: filepath.Join(dir, "none"), Timeout: 50 * time.Millisecond}
	_, err := c.Grant(context.Background(), "data", "a", time.Second, 0)
	if u := wantError[*UnreachableError](t, err, "grant at "+c.Socket, "no coordinator", "coordinator serve --socket"); u.Sent {
		t.Error("says that the request was sent")
	}
	c.Socket = filepath.Join(dir, "deaf") // takes connections and says nothing
	defer must[net.Listener](t)(net.Listen("unix", c.Socket)).Close()
	_, err = c.Grant(context.Background(), "data", "a", time.Second, 0)
	if u := wantError[*UnreachableError](t, err, "may have been done"); !u.Sent {
		t.Error("says that the request was not sent")
	}
	c.Socket = strings.Repeat("x", 108)
	_, err = c.Grant(context.Background(), "data", "a", time.Second, 0)
	wantError[*InvalidError](t, err, "107 bytes", "108")
}

func TestBadRequests(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "l.db"), VirtualClock())
	h := NewHandler(g)
	for _, r := range []struct {
		method, path, body string
		status             int
		say                string
	}{
		{"POST", "/v1/grant", `{`, 400, "one JSON object"},
		{"POST", "/v1/grant", ``, 400, "one JSON object"},
		{"POST", "/v1/grant", `{"nam":"x"}`, 400, "unknown field"},
		{"POST", "/v1/grant", `{"name":"x","holder":"h","ttl":"1s"}}`, 400, "more than one"},
		{"POST", "/v1/grant", `{"name":"x","holder":"h","ttl":"10"}`, 400, "with a unit"},
		{"POST", "/v1/grant", `{"name":"x","holder":"h","ttl":10}`, 400, "JSON"},
		{"POST", "/v1/grant", `{"name":"x","holder":"h","ttl":"1s","wait":"2m"}`, 400, "wait"},
		{"POST", "/v1/grant", `{"name":"` + strings.Repeat("x", MaxBody) + `"}`, 400, "too large"},
		{"POST", "/v1/release", `{"name":"x","token":"7"}`, 400, "7@8f3c2a9e1b5d4c60"},
		{"POST", "/v1/release", `{"name":"x","token":"07@8f3c2a9e1b5d4c60"}`, 400, "token"},
		{"GET", "/v1/grant", ``, 404, "no such request"},
		{"POST", "/", ``, 404, "no such request"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(r.method, r.path, strings.NewReader(r.body)))
		if b := w.Body.String(); w.Code != r.status || !strings.Contains(b, r.say) || !strings.Contains(b, `"code":"invalid"`) {
			t.Errorf("%s %s %.60s: %d %s", r.method, r.path, r.body, w.Code, b)
		}
	}
	if running, _, _ := g.List(); len(running) != 0 {
		t.Errorf("a bad request granted %v", running)
	}
}

// More requests than a handler takes on are told so at once.
func TestBusy(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "l.db"), VirtualClock())
	h := NewHandler(g)
	body, feed := io.Pipe()
	var wg sync.WaitGroup
	began := make(chan bool, maxAtOnce)
	for range maxAtOnce {
		wg.Go(func() {
			r := httptest.NewRequest("POST", "/v1/advance", nil)
			r.Body = io.NopCloser(readFunc(func(p []byte) (int, error) { began <- true; return body.Read(p) }))
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	for range maxAtOnce {
		<-began
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/leases", nil))
	if w.Code != http.StatusServiceUnavailable || !bytes.Contains(w.Body.Bytes(), []byte(`"busy"`)) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	feed.Close()
	wg.Wait()
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Eight at once on one name are all served, one after the other.
func TestEightAtOnce(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "l.db"), must[Clock](t)(RealClock()))
	c, ctx := served(t, g), context.Background()
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[Token]bool{}
	for i := range 8 {
		wg.Go(func() {
			for range 3 {
				l, err := c.Grant(ctx, "data", fmt.Sprint("w", i), time.Minute, limit)
				if err == nil {
					mu.Lock()
					if seen[l.Token] {
						t.Errorf("token %v was given twice", l.Token)
					}
					seen[l.Token] = true
					mu.Unlock()
					err = c.Release(ctx, "data", l.Token)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
