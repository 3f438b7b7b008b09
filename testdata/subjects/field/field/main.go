// Command field is the subjects of the field scripts that are natural in Go: one
// file a report, each with a bad and a good variant.
//
//	field SUBJECT bad|good [ARG...]
package main

import (
	"fmt"
	"os"
)

// subject does what a report's program did, in the design that how names, and
// returns the exit status.
type subject func(how string, args []string) int

var subjects = make(map[string]subject)

func main() {
	if len(os.Args) < 3 || subjects[os.Args[1]] == nil || os.Args[2] != "bad" && os.Args[2] != "good" {
		fmt.Fprintln(os.Stderr, "usage: field SUBJECT bad|good [ARG...]")
		os.Exit(2)
	}
	os.Exit(subjects[os.Args[1]](os.Args[2], os.Args[3:]))
}

// fail says what went wrong, and is the exit status.
func fail(err error) int {
	fmt.Fprintln(os.Stderr, "field:", err)
	return 1
}
