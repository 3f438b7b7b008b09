// Growth counts how many schedules `faultfs race` plays, by the number of actors and of
// their operations, with the reduction and without it:
//
//	go run ./growth [--faultfs PATH] [--most N] [--preemptions N]
//
// Every fifth operation of an actor is on a file that all of them change, and the others
// are on one of its own. What takes more than --most schedules is told as ">N".
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// role makes this program an actor.
const role = "act"

func main() {
	if len(os.Args) == 4 && os.Args[1] == role {
		exit(act(os.Args[2], os.Args[3]))
	}
	var g growth
	flag.StringVar(&g.faultfs, "faultfs", "faultfs", "the program")
	flag.IntVar(&g.most, "most", 1000, "schedules of one row that are played at most")
	flag.IntVar(&g.preemptions, "preemptions", 2, "the bound")
	flag.Parse()
	if flag.NArg() > 0 || g.most < 1 {
		exit(fmt.Errorf("want no arguments, and --most of 1 or more"))
	}
	exit(g.print(os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// act does so many operations.
func act(own, operations string) error {
	n, err := strconv.Atoi(operations)
	if err != nil {
		return err
	}
	for i := range n {
		path := own
		if (i+1)%5 == 0 {
			path = "shared"
		}
		if err := os.Truncate(path, int64(i)); err != nil {
			return err
		}
	}
	return nil
}

// print plays all, and writes a table with a plot.
func (g *growth) print(w io.Writer) error {
	fmt.Fprintln(w, "actors  operations each  reduced      full")
	for _, actors := range []int{2, 3, 4} {
		for _, operations := range []int{5, 10, 20, 40} {
			reduced, err := g.count(actors, operations)
			if err != nil {
				return err
			}
			full, err := g.count(actors, operations, "--full")
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%6d  %15d  %7s  %8s  %s\n", actors, operations, reduced, full, plot(reduced, full))
		}
	}
	return nil
}

// plot is a line whose length is a logarithm: what the reduction leaves is solid.
func plot(reduced, full schedules) string {
	const perTen = 10 // columns
	columns := func(s schedules) int { return int(math.Round(perTen * math.Log10(float64(max(s.n, 1))))) }
	short := columns(reduced)
	line := strings.Repeat("█", short) + strings.Repeat("░", max(0, columns(full)-short))
	if full.more {
		line += "…"
	}
	return line
}
