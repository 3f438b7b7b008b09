// Command leveldb drives github.com/syndtr/goleveldb: it opens the store in the
// folder db and
//
//	put N   puts N keys, each synced, and says "ack KEY"
//	open    does no more
//	list    prints the keys
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

func main() {
	db, err := leveldb.OpenFile("db", nil)
	if err == nil {
		err = do(db, os.Args[1:])
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leveldb:", err)
		os.Exit(1)
	}
}

func do(db *leveldb.DB, args []string) error {
	switch args[0] {
	case "put":
		n, err := strconv.Atoi(args[1])
		for i := 0; i < n && err == nil; i++ {
			key := fmt.Sprint("key", i)
			if err = db.Put([]byte(key), []byte("value"), &opt.WriteOptions{Sync: true}); err == nil {
				fmt.Println("ack", key)
			}
		}
		return err
	case "list":
		keys := db.NewIterator(nil, nil)
		defer keys.Release()
		for keys.Next() {
			fmt.Println(string(keys.Key()))
		}
		return keys.Error()
	}
	return nil
}
