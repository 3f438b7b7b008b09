//go:build linux

package cli

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"faultlab/internal/op"
	"faultlab/internal/shim"
)

func newTrace(std streams) *cobra.Command {
	var tree, output string
	var limits shim.Limits
	cmd := &cobra.Command{
		Use:   "trace [flags] -- PROGRAM [ARGUMENT…]",
		Short: "List a program's operations on the tree, as selectors for rules",
		Long: `Run a program without a fault and list what it does to the tree: one operation a
line, each a selector that can stand in a rule before "do". The list goes to
standard error, or to a file with --output, so that the program's own output
stays apart.`,
		Example: `  faultfs trace --tree data -o points.txt -- worker run …`,
		Args:    func(cmd *cobra.Command, args []string) error { return commandLine(cmd, args) },
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkLimits(limits); err != nil {
				return err
			}
			c, err := subject(std, args)
			if err != nil {
				return err
			}
			root, err := treeRoot(tree)
			if err != nil {
				return err
			}
			l, err := newLister(std, output)
			if err != nil {
				return err
			}
			cfg := shim.Config{Tree: root, Actor: 'A', Calls: op.Calls(op.All), Observer: l}
			exit, err := supervise(std, c, cfg, limits)
			if err := l.finish(); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			return status(exit.Status())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&tree, "tree", ".", "the directory whose operations count")
	fl.StringVarP(&output, "output", "o", "", "write the list to this file instead of standard error")
	limitFlags(cmd, &limits)
	fl.SetInterspersed(false)
	return cmd
}

// lister prints each operation's point.
type lister struct {
	out    *bufio.Writer
	done   func() error
	points op.Counter
}

func newLister(std streams, path string) (*lister, error) {
	if path == "" {
		return &lister{out: bufio.NewWriter(std.err), done: func() error { return nil }}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, usagef("open the list: %w", err)
	}
	return &lister{out: bufio.NewWriter(f), done: f.Close}, nil
}

// Saw implements shim.Observer.
func (l *lister) Saw(o *op.Op, _ shim.Result) {
	fmt.Fprint(l.out, l.points.Point(o))
	if o.To != "" {
		fmt.Fprintf(l.out, "  # to %s", o.To)
	}
	if o.Size >= 0 {
		fmt.Fprintf(l.out, "  # %d bytes", o.Size)
	}
	fmt.Fprintln(l.out)
}

func (l *lister) finish() error {
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return l.done()
}
