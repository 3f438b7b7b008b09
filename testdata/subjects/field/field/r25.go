package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

func init() { subjects["r25"] = r25 }

// r25Size is that of a record, a number and its newline; the last whole one counts,
// and half a one is written over.
const r25Size = 8

var errR25Unknown = errors.New("whether the transaction is there is not known: open the store again")

type r25Store struct {
	*os.File
	how    string
	broken bool
}

// r25 keeps a number in the file db: "set N", "get", and "add", one transaction with
// a caller who tries once more when he is told that it failed. Bad: after a failed
// sync it says so, and the record is in the file all the same.
func r25(how string, args []string) int {
	f, err := os.OpenFile("db", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer f.Close() // every commit is synced, or said not to be
	s := &r25Store{File: f, how: how}
	switch args[0] {
	case "set":
		n, _ := strconv.Atoi(args[1])
		err = s.commit(0, n)
	case "get":
		var n int
		if _, n, err = s.last(); err == nil {
			fmt.Println(n)
		}
	case "add":
		err = r25Twice(s)
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// r25Twice is the caller.
func r25Twice(s *r25Store) error {
	fmt.Println("try")
	err := s.add()
	if err != nil && !errors.Is(err, errR25Unknown) {
		fmt.Println("failed")
		fmt.Println("try")
		err = s.add()
	}
	switch {
	case err == nil:
		fmt.Println("ack")
	case errors.Is(err, errR25Unknown):
		fmt.Println("unknown")
	default:
		fmt.Println("failed")
	}
	return err
}

func (s *r25Store) add() error {
	if s.broken {
		return errR25Unknown
	}
	end, n, err := s.last()
	if err != nil {
		return err
	}
	return s.commit(end, n+1)
}

func (s *r25Store) commit(at int64, n int) error {
	if _, err := s.WriteAt(fmt.Appendf(nil, "%0*d\n", r25Size-1, n), at); err != nil {
		return err
	}
	err := s.Sync()
	if err != nil && s.how == "good" {
		s.broken = true // no later sync says anything of these pages
		return fmt.Errorf("%w: %w", err, errR25Unknown)
	}
	return err
}

// last is the last whole record, and where the next one belongs.
func (s *r25Store) last() (end int64, n int, err error) {
	var record [r25Size]byte
	for {
		if _, err := s.ReadAt(record[:], end); err == io.EOF {
			return end, n, nil
		} else if err != nil {
			return 0, 0, err
		}
		next, err := strconv.Atoi(string(record[:r25Size-1]))
		if err != nil {
			return end, n, nil // the file had grown, and the power went
		}
		end, n = end+r25Size, next
	}
}
