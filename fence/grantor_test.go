package fence

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestGrantHeldExpiredReleased(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	a := must[Lease](t)(g.Grant("data", "a", 10*time.Second))
	if want := (Lease{"data", "a", Token{g.ID(), 1}, 10 * time.Second, 10 * time.Second, 10 * time.Second}); a != want {
		t.Fatalf("got %+v, want %+v", a, want)
	}
	must[time.Duration](t)(g.Advance(4 * time.Second))
	_, err := g.Grant("data", "b", time.Second)
	held := wantError[*HeldError](t, err, "grant data", "held by a", "another 6s", a.Token.String())
	if held.Lease.Left != 6*time.Second {
		t.Errorf("left %v, want 6s", held.Lease.Left)
	}
	must[Lease](t)(g.Grant("other", "b", time.Second))
	must[time.Duration](t)(g.Advance(6 * time.Second)) // to the very end
	b := must[Lease](t)(g.Grant("data", "b", time.Second))
	if b.Token.N != 3 {
		t.Errorf("token %v, want 3: one counter for all names", b.Token)
	}
	if err := g.Release("data", b.Token); err != nil {
		t.Fatal(err)
	}
	if c := must[Lease](t)(g.Grant("data", "c", time.Second)); c.Token.N != 4 {
		t.Errorf("token %v after a release, want 4", c.Token)
	}
}

// R15: what the expired holder does late takes nothing from the next.
func TestLateHolderTakesNothing(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	late := must[Lease](t)(g.Grant("data", "late", time.Second))
	must[time.Duration](t)(g.Advance(2 * time.Second))
	_, err := g.Renew("data", late.Token, time.Second)
	if lost := wantError[*LostError](t, err, "renew data", "nobody holds it"); lost.Current != nil {
		t.Errorf("current %v, want nobody", lost.Current)
	}
	next := must[Lease](t)(g.Grant("data", "next", time.Minute))
	for range 3 { // R18: a refusal is for good
		wantError[*LostError](t, g.Release("data", late.Token), "release data", "held by next", next.Token.String())
		_, err = g.Renew("data", late.Token, time.Hour)
		wantError[*LostError](t, err, "renew data", "held by next")
		if running, _, err := g.List(); err != nil || len(running) != 1 || running[0].Token != next.Token {
			t.Fatalf("running %v, %v; want only %v", running, err, next)
		}
	}
	_, err = g.Grant("data", "third", time.Second)
	wantError[*HeldError](t, err)
	if err := g.Release("data", next.Token); err != nil {
		t.Fatal(err)
	}
	wantError[*LostError](t, g.Release("data", next.Token), "nobody holds it")
}

func TestRenew(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	l := must[Lease](t)(g.Grant("data", "a", 10*time.Second))
	for range 5 {
		must[time.Duration](t)(g.Advance(9 * time.Second))
		if l2 := must[Lease](t)(g.Renew("data", l.Token, 10*time.Second)); l2.Token != l.Token || l2.Left != 10*time.Second {
			t.Fatalf("renewed to %+v", l2)
		}
	}
	_, err := g.Grant("data", "b", time.Second)
	wantError[*HeldError](t, err)
}

// R16: the counter is not in the record that expires, nor in memory.
func TestTokensGoOnAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	var last uint64
	var id string
	for range 4 {
		g := openTest(t, path, VirtualClock())
		if id != "" && g.ID() != id {
			t.Fatalf("id %s after a restart, was %s", g.ID(), id)
		}
		id = g.ID()
		for _, name := range []string{"data", "once" + string(rune('a'+last))} {
			l := must[Lease](t)(g.Grant(name, "a", time.Second))
			if l.Token.N <= last {
				t.Fatalf("token %v after %d", l.Token, last)
			}
			last = l.Token.N
		}
		must[time.Duration](t)(g.Advance(time.Minute))
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// R17 and restarts: one row is a life of the grantor.
func TestExpiryAndEras(t *testing.T) {
	const ttl = 10 * time.Second
	rows := []struct {
		what string
		was  fakeClock // at the grant
		is   fakeClock // after a restart
		left time.Duration
	}{
		{"same boot", fakeClock{100 * time.Second, "boot 1"}, fakeClock{103 * time.Second, "boot 1"}, 7 * time.Second},
		{"same boot, over", fakeClock{100 * time.Second, "boot 1"}, fakeClock{110 * time.Second, "boot 1"}, 0},
		{"same boot, long over", fakeClock{100 * time.Second, "boot 1"}, fakeClock{time.Hour, "boot 1"}, 0},
		{"went back within a boot", fakeClock{100 * time.Second, "boot 1"}, fakeClock{50 * time.Second, "boot 1"}, ttl},
		{"rebooted, reading smaller", fakeClock{100 * time.Second, "boot 1"}, fakeClock{5 * time.Second, "boot 2"}, ttl},
		{"rebooted, reading greater", fakeClock{100 * time.Second, "boot 1"}, fakeClock{500 * time.Hour, "boot 2"}, ttl},
	}
	for _, r := range rows {
		t.Run(r.what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases.db")
			g := openTest(t, path, &r.was)
			l := must[Lease](t)(g.Grant("data", "a", ttl))
			g.Close()
			g = openTest(t, path, &r.is)
			running, _, err := g.List()
			if err != nil {
				t.Fatal(err)
			}
			if r.left == 0 && len(running) != 0 || r.left > 0 && (len(running) != 1 || running[0].Left != r.left || running[0].Token != l.Token) {
				t.Errorf("running %+v, want left %v", running, r.left)
			}
			r.is.now += r.left // and not a moment longer
			if now, _, _ := g.List(); r.what != "went back within a boot" && len(now) != 0 {
				t.Errorf("still running: %+v", now)
			}
		})
	}
}

func TestClockOfAnotherKindIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	openTest(t, path, VirtualClock()).Close()
	_, err := OpenGrantor(path, &fakeClock{era: "boot 1"})
	wantError[*FileError](t, err, path, "virtual", "begin a new file")
	openTest(t, path, VirtualClock()) // and the refusal let go of the file
}

func TestRealClock(t *testing.T) {
	c := must[Clock](t)(RealClock())
	d := must[Clock](t)(RealClock())
	if a, b := c.Now(), d.Now(); b < a || c.Era() != d.Era() && c.Era()[:4] == "boot" {
		t.Errorf("%v %s, then %v %s", a, c.Era(), b, d.Era())
	}
}

func TestAdvance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	g := openTest(t, path, VirtualClock())
	must[time.Duration](t)(g.Advance(time.Minute))
	for _, by := range []time.Duration{0, -1, math.MinInt64} {
		_, err := g.Advance(by)
		wantError[*BackwardsError](t, err, "never moves backwards")
	}
	_, err := g.Advance(math.MaxInt64)
	wantError[*InvalidError](t, err, "290 years")
	g.Close()
	if _, now, err := openTest(t, path, VirtualClock()).List(); now != time.Minute || err != nil {
		t.Errorf("after a restart it reads %v, %v; want 1m", now, err)
	}
	_, err = openTest(t, filepath.Join(t.TempDir(), "l"), &fakeClock{era: "boot 1"}).Advance(1)
	wantError[*InvalidError](t, err, "a virtual clock")
}

func TestBadArguments(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	for _, name := range []string{"", "a\nb", "\xff", string(make([]byte, 300))} {
		_, err := g.Grant(name, "a", time.Second)
		wantError[*InvalidError](t, err, "name")
		_, err = g.Grant("data", name, time.Second)
		wantError[*InvalidError](t, err, "holder")
		wantError[*InvalidError](t, g.Release(name, Token{g.ID(), 1}), "name")
	}
	for _, ttl := range []time.Duration{0, -1, MaxTTL + 1, math.MaxInt64} {
		_, err := g.Grant("data", "a", ttl)
		wantError[*InvalidError](t, err, "ttl")
	}
	wantError[*InvalidError](t, g.Release("data", Token{}), "token")
	wantError[*ForeignError](t, g.Release("data", tok(1)), "release data", tok(1).String(), g.ID())
}

// Names that are used once do not pile up, and too many at once are refused.
func TestSweepAndLimit(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	err := g.f.update("test", func(tx *bbolt.Tx) error {
		for i := range MaxNames {
			if err := putLease(tx, Lease{Name: string(rune(0x4e00 + i)), Token: tok(1), Expires: time.Hour}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Grant("new", "a", time.Second); err == nil {
		t.Error("granted one more than MaxNames")
	}
	must[time.Duration](t)(g.Advance(time.Hour))
	must[Lease](t)(g.Grant("new", "a", time.Second))
	g.f.view(func(tx *bbolt.Tx) error {
		if all, err := allLeases(tx); len(all) != 1 || err != nil {
			t.Errorf("%d records are left, %v", len(all), err)
		}
		return nil
	})
}

func TestTokensUsedUp(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	g.f.update("test", func(tx *bbolt.Tx) error { return putUint(tx.Bucket(metaBucket), keyLast, math.MaxUint64-1) })
	must[Lease](t)(g.Grant("data", "a", time.Second))
	if l, err := g.Grant("other", "a", time.Second); err == nil {
		t.Errorf("granted %v after the last token", l)
	}
}

func TestGrantWait(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	first := must[Lease](t)(g.Grant("data", "first", time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	got := make(chan Lease, 8)
	for range cap(got) {
		go func() {
			l, err := g.GrantWait(ctx, "data", "waiter", time.Minute)
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
	}
	g.Release("data", first.Token)
	last := first.Token.N
	for i := range cap(got) {
		l := <-got
		if l.Token.N <= last {
			t.Fatalf("token %v after %d", l.Token, last)
		}
		last = l.Token.N
		if i%2 == 0 { // half end by release, half by expiry
			g.Release("data", l.Token)
		} else {
			g.Advance(time.Minute)
		}
	}
	must[Lease](t)(g.Grant("data", "last", time.Minute))
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err := g.GrantWait(over, "data", "b", time.Second)
	wantError[*HeldError](t, err)
}

// toldClock is a virtual clock that tells when it is read.
type toldClock struct {
	virtual
	read chan bool
}

func (c *toldClock) Now() time.Duration {
	c.read <- true
	return 0
}

// One that found the name taken is woken by the release, and by the clock.
func TestGrantWaitIsWoken(t *testing.T) {
	for what, free := range map[string]func(*Grantor, Lease) error{
		"release": func(g *Grantor, l Lease) error { return g.Release("data", l.Token) },
		"advance": func(g *Grantor, l Lease) error { _, err := g.Advance(time.Minute); return err },
	} {
		clock := &toldClock{read: make(chan bool, 1000)}
		g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), clock)
		first := must[Lease](t)(g.Grant("data", "first", time.Minute))
		<-clock.read
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		got := make(chan error)
		go func() {
			_, err := g.GrantWait(ctx, "data", "waiter", time.Minute)
			got <- err
		}()
		<-clock.read // the waiter is in the transaction that refuses it
		if err := free(g, first); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestGrantWaitRealClock(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), must[Clock](t)(RealClock()))
	must[Lease](t)(g.Grant("data", "first", 50*time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	must[Lease](t)(g.GrantWait(ctx, "data", "second", time.Second))
}

func TestClosed(t *testing.T) {
	g := openTest(t, filepath.Join(t.TempDir(), "leases.db"), VirtualClock())
	must[Lease](t)(g.Grant("data", "a", time.Minute))
	waits := make(chan error)
	go func() {
		_, err := g.GrantWait(context.Background(), "data", "b", time.Minute)
		waits <- err
	}()
	if err := g.Close(); err != nil || g.Close() != nil {
		t.Fatal(err)
	}
	if err := <-waits; err == nil {
		t.Error("granted by a closed grantor")
	}
	if _, err := g.Grant("x", "a", time.Second); err == nil {
		t.Error("granted by a closed grantor")
	}
}
