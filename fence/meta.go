package fence

import (
	"crypto/rand"
	"encoding/hex"

	"go.etcd.io/bbolt"
)

// initMeta gives a new file its bucket and what its kind asks for.
func initMeta(tx *bbolt.Tx, w want) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	if err := meta.Put(keyKind, []byte(w.kind)); err != nil {
		return err
	}
	return w.init(tx)
}

// randomID is 64 random bits: enough that two grantors never share one.
func randomID() string {
	b := make([]byte, idLen/2)
	rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
