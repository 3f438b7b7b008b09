// Boltput puts keys into a bbolt file, a transaction each, and says so:
//
//	boltput init FILE          makes it, with a bucket
//	boltput put FILE KEY...    says "ack KEY" after each
//	boltput get FILE           checks the file, and prints its keys
package main

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

var bucket = []byte("keys")

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "boltput:", err)
		os.Exit(1)
	}
}

func run(verb, file string, keys []string) error {
	db, err := bbolt.Open(file, 0o644, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	switch verb {
	case "init":
		return db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket(bucket)
			return err
		})
	case "put":
		return put(db, keys)
	}
	return db.View(get)
}

func put(db *bbolt.DB, keys []string) error {
	for _, key := range keys {
		err := db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket(bucket).Put([]byte(key), make([]byte, 100))
		})
		if err != nil {
			return err
		}
		fmt.Println("ack", key)
	}
	return nil
}

func get(tx *bbolt.Tx) error {
	for err := range tx.Check() {
		return err
	}
	keys := tx.Bucket(bucket)
	if keys == nil {
		return errors.New("no bucket: it was never made")
	}
	return keys.ForEach(func(k, _ []byte) error {
		fmt.Println(string(k))
		return nil
	})
}
