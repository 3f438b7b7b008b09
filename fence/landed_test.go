package fence

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// What a failed commit left, told after the fact: here the commits are made to
// look failed. The scripts of the lab make real ones fail at every call.
func TestLanded(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	if err := s.Put("k", tok(1), nil); err != nil {
		t.Fatal(err)
	}
	f := must[*file](t)(s.open(false))
	defer f.close()
	var id int
	f.view(func(tx *bbolt.Tx) error { id = tx.ID(); return nil })
	if got := f.landed(id + 1); got != NotWritten {
		t.Errorf("a commit before its meta page: %v", got)
	}
	if got := f.landed(id); got != Written {
		t.Errorf("a commit whose last sync failed once: %v", got)
	}
	good := f.fd
	f.fd = must[*os.File](t)(os.Open(s.Path)) // cannot be written: the disk still fails
	if got := f.landed(id); got != Unknown {
		t.Errorf("a commit that cannot be synced at all: %v", got)
	}
	f.fd.Close()
	f.fd = good
	v := must[int](t)(id, nil)
	f.view(func(tx *bbolt.Tx) error {
		if tx.ID() != v {
			t.Errorf("looking changed the transaction to %d", tx.ID())
		}
		return nil
	})
}

// R24: after a write of which nobody knows what it left, a grantor refuses
// until it is opened again, and the token is not given again.
func TestBrokenGrantorRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	g := openTest(t, path, VirtualClock())
	must[Lease](t)(g.Grant("a", "h", time.Second))
	err := g.update("grant", func(*bbolt.Tx, time.Duration) error {
		return &WriteError{"grant", path, Unknown, errors.New("input/output error")}
	})
	wantError[*WriteError](t, err, "grant "+path, "input/output error", "old state or the new")
	for range 2 {
		_, err := g.Grant("b", "h", time.Second)
		wantError[*WriteError](t, err, "refuses everything", path, "started again")
		_, _, err = g.List()
		wantError[*WriteError](t, err)
	}
	g.Close()
	if l := must[Lease](t)(openTest(t, path, VirtualClock()).Grant("b", "h", time.Second)); l.Token.N != 2 {
		t.Errorf("token %v", l.Token)
	}
}

// A file that was replaced between the look and the lock is opened anew.
func TestReplacedWhileOpened(t *testing.T) {
	dir := t.TempDir()
	s := Store{Path: filepath.Join(dir, "s.db")}
	s.Put("k", tok(1), nil)
	f := must[*file](t)(s.open(false))
	defer f.close()
	os.Rename(s.Path, filepath.Join(dir, "old.db"))
	if err := f.check(want{kind: kindValues}); !errors.Is(err, errAgain) {
		t.Errorf("the name is gone: %v", err)
	}
	Store{Path: s.Path}.Put("k", tok(2), nil)
	if err := f.check(want{kind: kindValues}); !errors.Is(err, errAgain) {
		t.Errorf("the name is another file's: %v", err)
	}
}
