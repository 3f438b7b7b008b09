// Command probe asks the guard about its arguments, from wherever it is started,
// and prints one line for each: outside, inside, undecided or noroot, a tab, and
// the message. PROBE_WAIT makes it wait for a line on stdin first.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"faultlab/guard"
)

func main() {
	if os.Getenv("PROBE_WAIT") != "" {
		fmt.Println("waiting")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	root, err := guard.Find(guard.Options{})
	for _, path := range os.Args[1:] {
		e := err
		if e == nil {
			e = root.Outside(path)
		}
		fmt.Printf("%s\t%v\n", name(e), e)
	}
}

func name(err error) string {
	var inside *guard.InsideError
	var undecided *guard.UndecidedError
	var noRoot *guard.NoRootError
	switch {
	case err == nil:
		return "outside"
	case errors.As(err, &inside):
		return "inside"
	case errors.As(err, &undecided):
		return "undecided"
	case errors.As(err, &noRoot):
		return "noroot"
	}
	return "unknown"
}
