// Command boltcount keeps a number in a bbolt file, db: "set N", "get", and "add",
// one transaction with a caller who tries once more when he is told that it failed.
package main

import (
	"fmt"
	"os"
	"strconv"

	"go.etcd.io/bbolt"
)

var bucket, key = []byte("b"), []byte("n")

func main() {
	db, err := bbolt.Open("db", 0o600, nil)
	if err == nil {
		err = do(db, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "boltcount:", err)
		os.Exit(1)
	}
}

func do(db *bbolt.DB, args []string) error {
	switch args[0] {
	case "set":
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return b.Put(key, []byte(args[1]))
		})
	case "add":
		err := try(db)
		if err != nil {
			err = try(db)
		}
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		fmt.Println(string(tx.Bucket(bucket).Get(key)))
		return nil
	})
}

func try(db *bbolt.DB) error {
	fmt.Println("try")
	err := db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		n, err := strconv.Atoi(string(b.Get(key)))
		if err != nil {
			return err
		}
		return b.Put(key, strconv.AppendInt(nil, int64(n)+1, 10))
	})
	if err != nil {
		fmt.Println("failed")
		return err
	}
	fmt.Println("ack")
	return nil
}
