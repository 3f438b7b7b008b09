package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"faultlab/exit"
	"faultlab/fence"
)

// Bounds on what a run waits for while it holds the lock. Each is below exit.Limit, so that a signal that comes
// meanwhile finds the step over in time and the lock can be given back.
const (
	askLimit   = 3 * time.Second // for the coordinator's answer
	storeLimit = 2 * time.Second // for another process to let go of the store
)

// fenced is where a run puts its score when other writers, of other data directories, put theirs there too.
type fenced struct {
	socket, path, lease, key string
	ttl                      time.Duration

	granted fence.Lease
}

func (f *fenced) wanted() bool         { return f.socket != "" }
func (f *fenced) client() fence.Client { return fence.Client{Socket: f.socket, Timeout: askLimit} }
func (f *fenced) store() fence.Store   { return fence.Store{Path: f.path, LockWait: storeLimit} }

func (f *fenced) check() error {
	switch {
	case (f.socket == "") != (f.path == ""):
		return usagef("--coordinator and --store: one is missing: a score is put under a lease, and a lease is for a score")
	case !f.wanted():
		return nil
	case f.lease == "" || f.key == "":
		return usagef("--lease and --key must not be empty")
	case f.ttl < fence.MinTTL || f.ttl > fence.MaxTTL:
		return usagef("--ttl %v: want %v to %v", f.ttl, fence.MinTTL, fence.MaxTTL)
	}
	return nil
}

// takeLease asks for the lease, after the lock: nobody's lease is to run out while its holder waits for something else.
// What it returns gives the lease back, once, whether it is called here or by an exit hook.
func (r *run) takeLease() (giveBack func(), err error) {
	f := &r.fenced
	if !f.wanted() {
		return func() {}, nil
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("worker, pid %d on host %s", os.Getpid(), host)
	err = exit.Do(func() (err error) {
		if f.granted, err = f.client().Grant(context.Background(), f.lease, holder, f.ttl, 0); err != nil {
			return fmt.Errorf("%w (nothing was changed)", err)
		}
		once := sync.OnceFunc(r.returnLease)
		forget := exit.Register(func() error { once(); return nil })
		giveBack = func() { once(); forget() }
		return nil
	})
	if err != nil {
		return nil, err
	}
	return giveBack, r.say("granted %s", f.granted.Token)
}

// returnLease says what became of it and fails nothing: the run's work is done or not by now, and a lease that cannot be
// given back ends by itself. A lease that was given on stays with whom it was given to, since the token says whose it is.
func (r *run) returnLease() {
	f := r.fenced
	err := f.client().Release(context.Background(), f.lease, f.granted.Token)
	var lost *fence.LostError
	switch {
	case errors.As(err, &lost):
		r.store.notice("the lease %q ran out during the run: give it more time with --ttl", f.lease)
	case err != nil:
		r.store.notice("%v (the next run may have to wait up to %v for it)", err, f.ttl)
	}
}

// putScore puts the record into the store, under the token that this run itself was granted. It comes before the first
// change of the data directory: a run that slept through its lease must be refused before it has touched anything. One
// that dies right after it has left a score without its champion, which the next run that passes the gate replaces.
func (r *run) putScore() error {
	f := r.fenced
	if !f.wanted() {
		return nil
	}
	token, err := r.design.Token(f.granted, f.client(), f.store())
	if err != nil {
		return err
	}
	if err := f.store().Put(f.key, token, mustJSON(json.Marshal(r.record))); err != nil {
		return fmt.Errorf("%w (%q is not promoted)", err, r.record.Candidate.Name)
	}
	return r.say("stored %s %s", f.key, token)
}

// promote puts the score and changes the data directory.
func (r *run) promote(size int64) error {
	if err := r.putScore(); err != nil {
		return err
	}
	err := r.store.promote(r.record, size)
	if err != nil && r.fenced.wanted() {
		err = flat(err, fmt.Errorf("%s holds the score of %q already: run again when the cause is gone", r.fenced.path, r.record.Candidate.Name))
	}
	return err
}

// status prints what the store holds, where one was named.
func (f *fenced) status(w io.Writer) error {
	if f.path == "" {
		return nil
	}
	said, err := f.describe()
	if err == nil {
		_, err = fmt.Fprintf(w, "score: %s\n", said)
	}
	return err
}

func (f *fenced) describe() (string, error) {
	v, err := f.store().Get(f.key)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fence.ErrNoValue) {
		return "none yet", nil
	}
	if err != nil {
		return "", err
	}
	var r Record
	if _, err := decode(v.Data, &r); err != nil {
		return fmt.Sprintf("not a worker's, under token %s", v.Token), nil
	}
	return fmt.Sprintf("%s, %v, under token %s", r.Candidate.Name, r.Score, v.Token), nil
}
