package exit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"faultlab/exit"
	"faultlab/lock"
)

// The body of main: taking the lock and registering its release are one step, and so is each change made under the lock.
// A signal that arrives inside a step is acted upon when the step has ended.
func Example() {
	path := filepath.Join(os.TempDir(), "exit-example.lock")
	var held *lock.Lock
	var forget func()
	err := exit.Do(func() (err error) {
		if held, err = lock.Acquire(path, lock.Options{}); err == nil {
			forget = exit.Register(held.Release)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	err = exit.Do(func() error {
		fmt.Println("changing what the lock covers")
		return nil
	})

	// The ordinary release says what went wrong where it can still be handled. Only then is the hook forgotten.
	err = errors.Join(err, held.Release())
	forget()
	fmt.Println("released:", err == nil)
	// Output:
	// changing what the lock covers
	// released: true
}

// In a program that has its own main, the smallest form is one deferred call. It does not see a panic in another
// goroutine; exit.Main and exit.Go do.
func ExampleRun() {
	main := func() {
		defer exit.Run()
		// exit.Register(held.Release)
	}
	_ = main
}
