// Bench measures what faultfs costs, side by side with the bare program and
// with other ways to fail a call, and says whether the bars hold:
//
//	go run . [--json FILE] [--check]
//
// It ends with 0 when all was measured (FUSE only where /dev/fuse lets us), 1
// when a bar is missed and --check was given, 2 when something is missing.
//
// Only ratios within one run mean something; figures of two runs, or of two
// machines, do not compare.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			exit(role(os.Args[2:]))
		}
	}
	jsonFile := flag.String("json", "", "write the figures to this file too")
	check := flag.Bool("check", false, "exit 1 if a bar is missed")
	flag.Parse()
	if flag.NArg() > 0 {
		exit(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	r, err := measure()
	if err != nil {
		exit(err)
	}
	if err := r.print(os.Stdout); err != nil {
		exit(err)
	}
	if *jsonFile != "" {
		if err := r.write(*jsonFile); err != nil {
			exit(err)
		}
	}
	for _, b := range r.bars {
		switch {
		case b.Missing != "" && !b.optional:
			exit(fmt.Errorf("not measured: %s: %s", b.Name, b.Missing))
		case *check && b.Missing == "" && !b.Held:
			os.Exit(1)
		}
	}
}

// roles are what this program is in the processes that it starts of itself.
var roles = map[string]func(args []string) error{
	"role-subject":          subject,
	"role-notify":           func(args []string) error { return bareNotify(args, func() {}) },
	"role-notify-real-time": func(args []string) error { return bareNotify(args, realTime) },
	"role-notify-short":     func(args []string) error { return bareNotify(args, shortTurns) },
	"role-fuse":             func(args []string) error { return emptyFuse(args[0], args[1:]) },
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	os.Exit(0)
}
