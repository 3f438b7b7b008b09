package fence

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

const kindValues = "fenced values v1"

// What a store accepts.
const (
	MaxKey   = 1024     // bytes of a key
	MaxValue = 16 << 20 // bytes of a value
)

// The values bucket has one record a key: the number of the token that wrote it
// (8 bytes, big-endian), then the value. Mark and value are one record so that
// neither can be there without the other.
var valuesBucket = []byte("values")

// Store is a fenced store: a bbolt file that is opened, locked, for each call
// and closed before it returns. Nothing is kept between calls, so nothing can
// be remembered wrongly.
type Store struct {
	Path     string
	LockWait time.Duration // for other processes to let go; 0: DefaultLockWait
}

// Value is what a key holds.
type Value struct {
	Data  []byte
	Token Token // of the lease under which it was written
}

// Mark is a key's high-water mark.
type Mark struct {
	Key   string `json:"key"`
	Token Token  `json:"token"`
	Bytes int    `json:"bytes"` // length of the value
}

// Put writes the value if t is not smaller than the key's high-water mark, and
// makes t the mark. Comparison and write are one transaction, which is synced
// before Put returns nil. A holder may put as often as it likes.
//
// Give it the token that your own grant returned, and take the lease before you
// call. The first Put creates the file and binds it to the token's grantor.
//
// Errors: *StaleError, *ForeignError, *InvalidError and *LockedError have
// written nothing; *WriteError says what it left.
func (s Store) Put(key string, t Token, value []byte) error {
	if err := cmp.Or(checkKey(key), checkPut(t, value)); err != nil {
		return err
	}
	f, err := s.open(false)
	if err != nil {
		return err
	}
	err = f.update("put", func(tx *bbolt.Tx) error {
		if err := s.adopt(tx, t); err != nil {
			return err
		}
		b := tx.Bucket(valuesBucket)
		if mark := markOf(b.Get([]byte(key))); t.N < mark {
			return &StaleError{s.Path, key, t, Token{t.Grantor, mark}}
		}
		return b.Put([]byte(key), append(binary.BigEndian.AppendUint64(nil, t.N), value...))
	})
	cerr := f.close()
	if err == nil && cerr != nil {
		return &WriteError{"put", s.Path, Written, cerr}
	}
	return joined(err, cerr)
}

// adopt binds a new store to the grantor of its first write, and refuses the
// tokens of any other ever after.
func (s Store) adopt(tx *bbolt.Tx, t Token) error {
	meta := tx.Bucket(metaBucket)
	switch id := string(meta.Get(keyGrantor)); id {
	case t.Grantor:
		return nil
	case "":
		return meta.Put(keyGrantor, []byte(t.Grantor))
	default:
		return &ForeignError{"put into", s.Path, t, id}
	}
}

// Get reads a key. It needs no token and changes nothing: a mark that a mere
// look could raise would let nobody trust a refusal.
//
// Errors: ErrNoValue, and an fs.ErrNotExist where nothing was ever put.
func (s Store) Get(key string) (v Value, err error) {
	if err := checkKey(key); err != nil {
		return v, err
	}
	err = s.read(func(tx *bbolt.Tx) error {
		rec := tx.Bucket(valuesBucket).Get([]byte(key))
		if rec == nil {
			return fmt.Errorf("get %s from %s: %w: check the key", show(key), show(s.Path), ErrNoValue)
		}
		v.Token = Token{string(tx.Bucket(metaBucket).Get(keyGrantor)), markOf(rec)}
		v.Data = bytes.Clone(rec[8:])
		return nil
	})
	return v, err
}

// Marks lists every key's high-water mark, by key.
func (s Store) Marks() (marks []Mark, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		id := string(tx.Bucket(metaBucket).Get(keyGrantor))
		return tx.Bucket(valuesBucket).ForEach(func(k, rec []byte) error {
			marks = append(marks, Mark{string(k), Token{id, markOf(rec)}, len(rec) - 8})
			return nil
		})
	})
	return marks, err
}

func (s Store) read(fn func(*bbolt.Tx) error) error {
	f, err := s.open(true)
	if err != nil {
		return err
	}
	return joined(f.view(fn), f.close())
}

func (s Store) open(readOnly bool) (*file, error) {
	return openFile(s.Path, want{
		kind: kindValues, readOnly: readOnly, wait: s.LockWait,
		init: func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket(valuesBucket)
			return err
		},
	})
}

// markOf reads a record's token; a key that was never written has 0, which no
// token is below.
func markOf(rec []byte) uint64 {
	if rec == nil {
		return 0
	}
	return binary.BigEndian.Uint64(rec)
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return &InvalidError{"key", key[:min(len(key), 32)], fmt.Sprintf("1 to %d bytes", MaxKey)}
	}
	return nil
}

func checkPut(t Token, value []byte) error {
	if !t.valid() {
		return &InvalidError{"token", t.String(), "the token that the grant returned"}
	}
	if len(value) > MaxValue {
		return &InvalidError{"value", fmt.Sprintf("of %d bytes", len(value)), fmt.Sprintf("at most %d bytes", MaxValue)}
	}
	return nil
}
