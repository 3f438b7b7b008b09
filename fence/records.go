package fence

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"
)

// The leases bucket has one record a name, running or expired. The counter and
// the clock live in the meta bucket, where nothing expires.
var (
	leasesBucket = []byte("leases")
	keyLast      = []byte("last")  // the number of the last token granted
	keyEra       = []byte("era")   // of the clock, see Clock
	keyClock     = []byte("clock") // the greatest reading that was stored, ns
)

func (l Lease) at(now time.Duration) Lease {
	l.Left = l.Expires - now
	return l
}

// mine finds the lease with this token.
func mine(tx *bbolt.Tx, op, name string, t Token, now time.Duration) (Lease, error) {
	l, err := getLease(tx, name)
	if err != nil {
		return Lease{}, err
	}
	if l == nil || l.Token != t {
		lost := &LostError{Op: op, Name: name, Token: t}
		if l != nil && l.Expires > now {
			cur := l.at(now)
			lost.Current = &cur
		}
		return Lease{}, lost
	}
	return *l, nil
}

// nextToken counts on. In the transaction that stores the lease: a counter that
// is stored later, or only with the lease, comes back after a crash.
func nextToken(tx *bbolt.Tx) (uint64, error) {
	meta := tx.Bucket(metaBucket)
	n := getUint(meta, keyLast)
	if n == math.MaxUint64 {
		return 0, errors.New("grant: the tokens of this grantor are used up: begin new files for grantor and store")
	}
	return n + 1, putUint(meta, keyLast, n+1)
}

// sweep drops what has expired, when a new name comes, so that names that are
// used once do not pile up.
func sweep(tx *bbolt.Tx, now time.Duration) error {
	all, err := allLeases(tx)
	if err != nil {
		return err
	}
	running := 0
	for _, l := range all {
		if l.Expires > now {
			running++
		} else if err := tx.Bucket(leasesBucket).Delete([]byte(l.Name)); err != nil {
			return err
		}
	}
	if running >= MaxNames {
		return fmt.Errorf("grant: %d leases run already, the most that a grantor keeps: release some", running)
	}
	return nil
}

func allLeases(tx *bbolt.Tx) (all []Lease, err error) {
	err = tx.Bucket(leasesBucket).ForEach(func(k, v []byte) error {
		l, err := decodeLease(tx, k, v)
		all = append(all, l)
		return err
	})
	return all, err
}

func getLease(tx *bbolt.Tx, name string) (*Lease, error) {
	v := tx.Bucket(leasesBucket).Get([]byte(name))
	if v == nil {
		return nil, nil
	}
	l, err := decodeLease(tx, []byte(name), v)
	return &l, err
}

func decodeLease(tx *bbolt.Tx, name, v []byte) (l Lease, err error) {
	if err := json.Unmarshal(v, &l); err != nil {
		return l, &FileError{tx.DB().Path(), fmt.Sprintf("has a damaged lease %q", name), cureDamaged, err}
	}
	return l, nil
}

func putLease(tx *bbolt.Tx, l Lease) error {
	l.Left = 0 // depends on when one asks
	v, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return tx.Bucket(leasesBucket).Put([]byte(l.Name), v)
}

func getUint(b *bbolt.Bucket, key []byte) uint64 {
	if v := b.Get(key); len(v) == 8 {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func putUint(b *bbolt.Bucket, key []byte, n uint64) error {
	return b.Put(key, binary.BigEndian.AppendUint64(nil, n))
}
