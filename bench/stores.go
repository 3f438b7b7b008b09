package main

import (
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"faultlab/fence"
)

// measureStores compares a grant and a fenced put with what they stand on: one
// update of a bbolt file on the same disk.
func (s *setting) measureStores(r *report) error {
	db, err := bbolt.Open(filepath.Join(s.dir, "open.db"), 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	g, err := fence.OpenGrantor(filepath.Join(s.dir, "leases.db"), &steps{})
	if err != nil {
		return err
	}
	defer g.Close()
	l, err := g.Grant("store", "bench", time.Hour)
	if err != nil {
		return err
	}
	store := fence.Store{Path: filepath.Join(s.dir, "store.db")}
	t := &table{title: "a record of 100 bytes that is to last", unit: time.Microsecond}
	update := t.add("bbolt, an update", repeated(func() error { return put(db) }), nil)
	opened := t.add("bbolt, open, update, close", repeated(s.openAndPut), nil)
	grant := t.add("a grant", repeated(func() error { _, err := g.Grant("data", "bench", time.Second); return err }), nil)
	fenced := t.add("a fenced put, which opens and closes", repeated(func() error { return store.Put("k", l.Token, make([]byte, 100)) }), nil)
	for _, row := range t.rows {
		row.base = update
	}
	r.tables = append(r.tables, t)
	r.bar("a grant, times a bbolt update", 1.5, timesOf(grant, update))
	r.bar("a fenced put, times a bbolt update", 1.5, timesOf(fenced, update))
	r.bar("a fenced put, times one that opens and closes, too", 1.5, timesOf(fenced, opened))
	return runRounds(t.rows, storesLast, mostRounds)
}

func put(db *bbolt.DB) error {
	return db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("b"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), make([]byte, 100))
	})
}

func (s *setting) openAndPut() error {
	db, err := bbolt.Open(filepath.Join(s.dir, "opened.db"), 0o600, nil)
	if err != nil {
		return err
	}
	if err := put(db); err != nil {
		return err
	}
	return db.Close()
}

// steps is a clock on which every lease is over by the next grant.
type steps struct{ now time.Duration }

func (s *steps) Now() time.Duration { s.now += time.Minute; return s.now }
func (s *steps) Era() string        { return "bench" }

// repeated is something that takes long enough to be timed a few at a time.
type repeated func() error

func (f repeated) measure() (float64, error) {
	const times = 10
	began := time.Now()
	for range times {
		if err := f(); err != nil {
			return 0, fmt.Errorf("a record: %w", err)
		}
	}
	return float64(time.Since(began).Nanoseconds()) / times, nil
}
