//go:build linux

// Subject does one file-system call after the other, as its arguments say, and
// prints what came of each: the plainest program there can be to try faults on.
//
//	subject create f + write f hello + sync f + close f
//
// Each call is made exactly once and nothing is retried. It exits with 1 if a
// call failed, after all were made.
package main

import (
	"fmt"
	"os"
	"slices"
)

func main() {
	failed := false
	for _, words := range split(os.Args[1:]) {
		op, ok := ops[words[0]]
		if !ok || len(words)-1 < op.args {
			fmt.Fprintf(os.Stderr, "subject: bad operation %q\n", words)
			os.Exit(2)
		}
		args := words[1:]
		result, err := op.do(args)
		if err != nil {
			failed, result = true, errName(err)
		}
		if len(args) > 0 {
			fmt.Printf("%s %s: %s\n", words[0], args[0], result)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func split(args []string) [][]string {
	var all [][]string
	for len(args) > 0 {
		n := slices.Index(args, "+")
		if n < 0 {
			n = len(args)
		}
		all = append(all, args[:n])
		args = args[min(n+1, len(args)):]
	}
	return all
}
