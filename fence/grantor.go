package fence

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

const kindLeases = "leases v1"

// Grantor grants leases. It holds its state file alone, for as long as it is
// open. Its methods may be called at once from several goroutines.
//
// After a write of which nobody can say what it left, a grantor refuses
// everything until it is opened again: going on would mean to answer from
// memory what the disk may not know.
type Grantor struct {
	f     *file
	clock Clock
	id    string

	// writing is held around every transaction that writes: bbolt has a lock of
	// its own, but a panic over a damaged page would leave that one locked.
	writing sync.Mutex

	mu      sync.Mutex
	broken  error         // why it refuses everything, or nil
	changed chan struct{} // closed when a lease may have become free
}

// OpenGrantor opens a grantor's state, or begins a new one with a new random id.
//
// Leases that ran when the last grantor ended run on. Within the clock's era
// their expiry stands; in a new one (after a reboot, see [Clock]) each gets its
// full TTL from now, since nobody knows how much of it has passed: a lease may
// last longer than was asked but never shorter. A state that was begun with a
// virtual clock is refused with any other, and the reverse.
//
// Errors: *LockedError where another process has the file open, *FileError
// where it is not a grantor's state, and those of the system.
func OpenGrantor(path string, clock Clock) (*Grantor, error) {
	f, err := openFile(path, want{kind: kindLeases, wait: time.Second, init: func(tx *bbolt.Tx) error {
		if _, err := tx.CreateBucket(leasesBucket); err != nil {
			return err
		}
		meta := tx.Bucket(metaBucket)
		return cmp.Or(meta.Put(keyGrantor, []byte(randomID())), meta.Put(keyEra, []byte(clock.Era())))
	}})
	if err != nil {
		return nil, err
	}
	g := &Grantor{f: f, clock: clock, changed: make(chan struct{})}
	if err := g.begin(); err != nil {
		return nil, joined(err, f.close())
	}
	return g, nil
}

// begin brings the state into the era of the clock.
func (g *Grantor) begin() error {
	// What an earlier life could not sync may be visible and yet not on the
	// disk; everything from here on builds on it.
	if err := g.f.rewriteMeta(); err != nil {
		return &WriteError{"sync", g.f.path, Unknown, err}
	}
	return g.f.update("open", func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		g.id = string(meta.Get(keyGrantor))
		old, now := string(meta.Get(keyEra)), g.clock.Era()
		if (old == virtualEra) != (now == virtualEra) {
			return &FileError{g.f.path, fmt.Sprintf("was begun with the clock %q and cannot go on with %q", old, now),
				"use the clock that it was begun with, or begin a new file", nil}
		}
		if old == now {
			return nil
		}
		return newEra(tx, now, g.clock.Now())
	})
}

// newEra gives every lease its full time again.
func newEra(tx *bbolt.Tx, era string, now time.Duration) error {
	meta := tx.Bucket(metaBucket)
	err := cmp.Or(meta.Put(keyEra, []byte(era)), putUint(meta, keyClock, uint64(now)))
	if err != nil {
		return err
	}
	leases, err := allLeases(tx)
	if err != nil {
		return err
	}
	for _, l := range leases {
		l.Expires = now + l.TTL
		if err := putLease(tx, l); err != nil {
			return err
		}
	}
	return nil
}

// ID is the random id that this grantor's tokens carry.
func (g *Grantor) ID() string { return g.id }

// Grant gives the name to the holder for ttl, if nobody has it. Two requests of
// the same holder are two requests: only a token identifies.
//
// Errors: *HeldError, *InvalidError, *WriteError. After a *WriteError no token
// was handed out, but the name may be taken until the ttl has passed.
func (g *Grantor) Grant(name, holder string, ttl time.Duration) (Lease, error) {
	if err := cmp.Or(checkName("name", name), checkName("holder", holder), checkTTL(ttl)); err != nil {
		return Lease{}, err
	}
	var granted Lease
	err := g.update("grant", func(tx *bbolt.Tx, now time.Duration) error {
		switch old, err := getLease(tx, name); {
		case err != nil:
			return err
		case old != nil && old.Expires > now:
			return &HeldError{old.at(now)}
		case old == nil:
			if err := sweep(tx, now); err != nil {
				return err
			}
		}
		n, err := nextToken(tx)
		if err != nil {
			return err
		}
		granted = Lease{Name: name, Holder: holder, Token: Token{g.id, n}, TTL: ttl, Expires: now + ttl, Left: ttl}
		return putLease(tx, granted)
	})
	if err != nil {
		return Lease{}, err
	}
	return granted, nil
}

// Renew gives a running lease its time again, counted from now. A lease that
// has expired cannot be renewed, whether or not somebody took it since.
//
// Errors: *LostError, *ForeignError, *InvalidError, *WriteError.
func (g *Grantor) Renew(name string, t Token, ttl time.Duration) (Lease, error) {
	if err := cmp.Or(g.checkToken("renew", name, t), checkTTL(ttl)); err != nil {
		return Lease{}, err
	}
	var renewed Lease
	err := g.update("renew", func(tx *bbolt.Tx, now time.Duration) error {
		l, err := mine(tx, "renew", name, t, now)
		if err != nil {
			return err
		}
		if l.Expires <= now {
			return &LostError{"renew", name, t, nil}
		}
		l.TTL, l.Expires, l.Left = ttl, now+ttl, ttl
		renewed = l
		return putLease(tx, l)
	})
	return renewed, err
}

// Release ends a lease early. The token is compared in the transaction that
// removes the lease, so a holder that comes late takes nothing from the next.
//
// Errors: *LostError, *ForeignError, *InvalidError, *WriteError. A second
// release of the same lease is a *LostError with no Current.
func (g *Grantor) Release(name string, t Token) error {
	if err := g.checkToken("release", name, t); err != nil {
		return err
	}
	err := g.update("release", func(tx *bbolt.Tx, now time.Duration) error {
		if _, err := mine(tx, "release", name, t, now); err != nil {
			return err
		}
		return tx.Bucket(leasesBucket).Delete([]byte(name))
	})
	if err == nil {
		g.wake()
	}
	return err
}

func (g *Grantor) checkToken(op, name string, t Token) error {
	if err := checkName("name", name); err != nil {
		return err
	}
	if !t.valid() {
		return &InvalidError{"token", t.String(), "the token that the grant returned"}
	}
	if t.Grantor != g.id {
		return &ForeignError{op + " " + show(name) + " in", g.f.path, t, g.id}
	}
	return nil
}

// List tells the leases that run, by name, and the clock's reading.
func (g *Grantor) List() (running []Lease, now time.Duration, err error) {
	if err := g.usable(); err != nil {
		return nil, 0, err
	}
	err = g.f.view(func(tx *bbolt.Tx) error {
		now = g.now(tx)
		all, err := allLeases(tx)
		for _, l := range all {
			if l.Expires > now {
				running = append(running, l.at(now))
			}
		}
		return err
	})
	return running, now, g.closedError(err)
}

// Advance moves a virtual clock on, durably, and returns its reading.
//
// Errors: *BackwardsError, *InvalidError for a clock that moves by itself or
// cannot go so far, *WriteError.
func (g *Grantor) Advance(by time.Duration) (now time.Duration, err error) {
	if by <= 0 {
		return 0, &BackwardsError{by}
	}
	if g.clock.Era() != virtualEra {
		return 0, &InvalidError{"advance", by.String(), "a grantor with a virtual clock; a real one moves by itself"}
	}
	err = g.update("advance", func(tx *bbolt.Tx, old time.Duration) error {
		if by > math.MaxInt64-MaxTTL-old {
			return &InvalidError{"advance", by.String(), "a clock that stays below 290 years"}
		}
		now = old + by
		return putUint(tx.Bucket(metaBucket), keyClock, uint64(now))
	})
	if err == nil {
		g.wake()
	}
	return now, err
}

// Close lets go of the state file. Leases run on, see OpenGrantor.
func (g *Grantor) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if errors.Is(g.broken, ErrClosed) {
		return nil
	}
	g.broken = fmt.Errorf("grantor %s: %w: open it, or start the coordinator, again", show(g.f.path), ErrClosed)
	close(g.changed)
	g.changed = nil
	return g.f.close()
}

// update runs fn in a transaction, with the clock's reading, which it stores.
func (g *Grantor) update(op string, fn func(*bbolt.Tx, time.Duration) error) error {
	if err := g.usable(); err != nil {
		return err
	}
	g.writing.Lock()
	defer g.writing.Unlock()
	err := g.f.update(op, func(tx *bbolt.Tx) error {
		now := g.now(tx)
		if err := putUint(tx.Bucket(metaBucket), keyClock, uint64(now)); err != nil {
			return err
		}
		return fn(tx, now)
	})
	var we *WriteError
	if errors.As(err, &we) && we.Landed == Unknown {
		g.mu.Lock()
		g.broken = fmt.Errorf("grantor %s: refuses everything until it is started again, since a write failed and nobody knows what it left: %w", show(g.f.path), err)
		g.mu.Unlock()
	}
	return g.closedError(err)
}

// now never goes behind a reading that was stored.
func (g *Grantor) now(tx *bbolt.Tx) time.Duration {
	return max(g.clock.Now(), time.Duration(getUint(tx.Bucket(metaBucket), keyClock)))
}

func (g *Grantor) usable() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

// closedError says "closed" for what bbolt says when Close came in between.
func (g *Grantor) closedError(err error) error {
	if err != nil && errors.Is(g.usable(), ErrClosed) {
		return g.usable()
	}
	return err
}
