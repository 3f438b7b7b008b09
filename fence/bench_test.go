package fence

import (
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// The bar: a grant, and a fenced write, each within 1.5 times of one bbolt
// update of the same size on the same disk.
func BenchmarkUpdate(b *testing.B) {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "b.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for b.Loop() {
		err := db.Update(func(tx *bbolt.Tx) error {
			bk, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return bk.Put([]byte("k"), make([]byte, 100))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGrant(b *testing.B) {
	g, err := OpenGrantor(filepath.Join(b.TempDir(), "l.db"), &steps{})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		if _, err := g.Grant("data", "bench", time.Second); err != nil {
			b.Fatal(err)
		}
	}
}

// steps is a clock on which every lease is over by the next grant.
type steps struct{ now time.Duration }

func (s *steps) Now() time.Duration { s.now += time.Minute; return s.now }
func (s *steps) Era() string        { return "bench" }

func BenchmarkPut(b *testing.B) {
	s := Store{Path: filepath.Join(b.TempDir(), "s.db")}
	for b.Loop() {
		if err := s.Put("k", tok(1), make([]byte, 100)); err != nil {
			b.Fatal(err)
		}
	}
}
