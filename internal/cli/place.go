//go:build linux

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"faultlab/internal/place"
	"faultlab/internal/trial"
)

func newPlace(std streams) *cobra.Command {
	var list bool
	var groups []string
	cmd := &cobra.Command{
		Use:   "place [flags] -- PROGRAM [ARGUMENT…]",
		Short: "Start a program from everywhere else, and judge what it does there",
		Long: `Start a program again and again, each time in a fresh copy of a tree and from
somewhere else: another working directory, one that is gone, a HOME that is
missing, descriptors closed, standard output on a full disk, few descriptors,
another user. --list names every start and what a good program does there.

The plain start is what they are measured against; where it is a refusal, no
other start may get around it. The program and the arguments that name existing
files are found where the command is typed; {tree} in an argument is the copy's
path, and a file that the program is to make is best written {tree}/FILE. The
original is never changed.`,
		Example: `  faultfs place --tree data -- worker run --data {tree} …
  faultfs place --tree . --only 'cwd=/' -- {tree}/bin/tool check`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return cobra.NoArgs(cmd, args)
			}
			return commandLine(cmd, args)
		},
	}
	e := newExperiment(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "print the starts, and what a good program does there; run nothing")
	startsFlag(cmd, &groups)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if list {
			return listPlaces(std)
		}
		if err := checkStarts(groups); err != nil {
			return err
		}
		return e.run(std, args, e.placePlanner(args[0], groups))
	}
	return cmd
}

func startsFlag(cmd *cobra.Command, groups *[]string) {
	cmd.Flags().StringSliceVar(groups, "starts", nil, "places to start from, such as cwd,HOME,closed: the words before the = in faultfs place --list (default: all)")
}

func checkStarts(groups []string) error {
	for _, group := range groups {
		if known := place.Groups(); !slices.Contains(known, group) {
			return usagef("--starts %q: want some of %s", group, strings.Join(known, ", "))
		}
	}
	return nil
}

func (e *experiment) placePlanner(name string, groups []string) planner {
	return planner{
		plan: func(r *trial.Runner, c *trial.Controls, log *trial.Log) study {
			for _, word := range e.words {
				log.Note("the argument %q is taken for the file of that name", word)
			}
			if e.spec.Tree == "" && e.spec.Setup == "" && len(c.Once.Tree) == 0 {
				log.Note("every start was in an empty tree, and the plain one leaves it empty: if it works on files, give them with --tree or --setup")
			}
			return place.New(r, c, place.Options{Program: e.spec.Program, Name: name, Groups: groups}, log)
		},
		parse: parsePlace,
	}
}

func listPlaces(std streams) error {
	for _, row := range place.List() {
		if _, err := fmt.Fprintf(std.out, "%-22s %s\n", row.Name, row.Good); err != nil {
			return err
		}
	}
	return nil
}

// parsePlace reads the name of a start.
func parsePlace(choice string) (trial.Case, error) {
	c, known := place.Parse(choice)
	if known {
		return c, nil
	}
	if near := nearPlaces(choice); len(near) > 0 {
		return c, fmt.Errorf("no such start: did you mean %s?", strings.Join(near, " or "))
	}
	return c, fmt.Errorf("no such start: faultfs place --list names all")
}

// nearPlaces are the starts that a slip turns into the choice, found as commands
// are.
func nearPlaces(choice string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, row := range place.List() {
		names.AddCommand(&cobra.Command{Use: row.Name, Run: func(*cobra.Command, []string) {}})
	}
	return names.SuggestionsFor(choice)
}
