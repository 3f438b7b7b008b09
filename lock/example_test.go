package lock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"faultlab/lock"
)

func Example() {
	dir, _ := os.MkdirTemp("", "lock-example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.lock")
	options := lock.Options{
		// What a refusal tells the operator to run. Everything in it is quoted, nothing depends on a working directory.
		Clear: func(token string) string {
			return lock.Quote("/usr/bin/tool", "unlock", "--data", dir, "--token", token)
		},
	}

	mine, err := lock.Acquire(path, options)
	fmt.Println("first:", err)

	_, err = lock.Acquire(path, options)
	var held *lock.HeldError
	fmt.Println("second is refused:", errors.As(err, &held), held.State)
	fmt.Println("the command names this very lock:", held.Token == mine.Token())

	fmt.Println("released:", mine.Release())
	// Output:
	// first: <nil>
	// second is refused: true alive
	// the command names this very lock: true
	// released: <nil>
}

// An operator looks, decides that the holder is gone, and breaks exactly what was looked at.
func ExampleBreak() {
	dir, _ := os.MkdirTemp("", "lock-example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.lock")
	_ = os.WriteFile(path, nil, 0o644) // its writer died between creating the file and writing the record

	seen, _ := lock.Inspect(path)
	fmt.Println(seen.State, seen.Detail)
	fmt.Println("cleared:", lock.Break(path, seen.Token))

	next, _ := lock.Acquire(path, lock.Options{})
	defer next.Release()
	var changed *lock.ChangedError
	fmt.Println("a second operator is refused:", errors.As(lock.Break(path, seen.Token), &changed))
	// Output:
	// half-made empty
	// cleared: <nil>
	// a second operator is refused: true
}

func ExampleAcquireFlock() {
	dir, _ := os.MkdirTemp("", "lock-example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.flock")

	mine, err := lock.AcquireFlock(path, lock.Options{})
	fmt.Println("first:", err)
	_, err = lock.AcquireFlock(path, lock.Options{})
	var held *lock.HeldError
	fmt.Println("second is refused:", errors.As(err, &held))
	fmt.Println("released:", mine.Release())
	_, err = os.Stat(path)
	fmt.Println("the file stays:", err == nil)
	// Output:
	// first: <nil>
	// second is refused: true
	// released: <nil>
	// the file stays: true
}
