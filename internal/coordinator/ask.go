package coordinator

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"faultlab/fence"
)

// asking is a command that asks a coordinator; it gets a client for --socket.
func asking(cmd *cobra.Command, do func(cmd *cobra.Command, c fence.Client, args []string) error) *cobra.Command {
	socket := cmd.Flags().String("socket", "", "ask the coordinator on this Unix socket (`PATH`)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := needed("socket", *socket); err != nil {
			return err
		}
		return do(cmd, fence.Client{Socket: *socket}, args)
	}
	return cmd
}

func grantCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "grant NAME --holder WHO", Short: "Take a lease and print its token", Args: exactly("NAME")}
	holder := cmd.Flags().String("holder", "", "`WHO` takes it, for messages to others")
	ttl := cmd.Flags().Duration("ttl", 10*time.Second, "how long it lasts")
	wait := cmd.Flags().Duration("wait", 0, "how long to wait for one who has it, at most 1m")
	asJSON := cmd.Flags().Bool("json", false, "print the lease as JSON")
	return asking(cmd, func(cmd *cobra.Command, c fence.Client, args []string) error {
		if err := needed("holder", *holder); err != nil {
			return err
		}
		l, err := c.Grant(cmd.Context(), args[0], *holder, *ttl, *wait)
		if err != nil {
			return err
		}
		if err := printLease(cmd, l, *asJSON); err != nil {
			// Nobody knows the token, so nobody else would release it.
			return oneLine(fmt.Errorf("grant %s: print the token: %w: the lease was given back, print to where there is room", args[0], bare(err)),
				c.Release(cmd.Context(), l.Name, l.Token))
		}
		return nil
	})
}

func renewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "renew NAME TOKEN", Short: "Give a running lease its time again", Args: exactly("NAME", "TOKEN")}
	ttl := cmd.Flags().Duration("ttl", 10*time.Second, "how long it lasts from now")
	asJSON := cmd.Flags().Bool("json", false, "print the lease as JSON")
	return asking(cmd, func(cmd *cobra.Command, c fence.Client, args []string) error {
		t, err := fence.ParseToken(args[1])
		if err != nil {
			return err
		}
		l, err := c.Renew(cmd.Context(), args[0], t, *ttl)
		if err != nil {
			return err
		}
		return printLease(cmd, l, *asJSON)
	})
}

func releaseCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "release NAME TOKEN", Short: "End a lease early", Args: exactly("NAME", "TOKEN")}
	return asking(cmd, func(cmd *cobra.Command, c fence.Client, args []string) error {
		t, err := fence.ParseToken(args[1])
		if err != nil {
			return err
		}
		return c.Release(cmd.Context(), args[0], t)
	})
}

func advanceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "advance DURATION", Short: "Move a virtual clock on and print what it reads", Args: exactly("DURATION")}
	return asking(cmd, func(cmd *cobra.Command, c fence.Client, args []string) error {
		by, err := time.ParseDuration(args[0])
		if err != nil {
			return &usageError{fmt.Sprintf("advance %q: want a duration such as 10s or 1m30s", args[0])}
		}
		now, err := c.Advance(cmd.Context(), by)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), now)
		return err
	})
}

func leasesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "leases", Short: "List the leases that run", Args: exactly()}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	return asking(cmd, func(cmd *cobra.Command, c fence.Client, _ []string) error {
		leases, _, err := c.Leases(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), notNil(leases))
		}
		return printTable(cmd.OutOrStdout(), "NAME\tHOLDER\tTOKEN\tTTL\tLEFT", len(leases), func(i int) string {
			l := leases[i]
			return fmt.Sprintf("%s\t%s\t%s\t%v\t%v", l.Name, l.Holder, l.Token, l.TTL, l.Left.Round(time.Millisecond))
		})
	})
}

func marksCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "marks --store FILE", Short: "List a store's high-water marks", Args: exactly()}
	store := cmd.Flags().String("store", "", "the fenced store, a `FILE`; no coordinator is asked")
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed("store", *store); err != nil {
			return err
		}
		marks, err := fence.Store{Path: *store}.Marks()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), notNil(marks))
		}
		return printTable(cmd.OutOrStdout(), "KEY\tMARK\tBYTES", len(marks), func(i int) string {
			return fmt.Sprintf("%s\t%s\t%d", marks[i].Key, marks[i].Token, marks[i].Bytes)
		})
	}
	return cmd
}

// printLease prints the token alone unless asked, so that a shell can keep it.
func printLease(cmd *cobra.Command, l fence.Lease, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), l)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), l.Token)
	return err
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printTable(w io.Writer, head string, n int, row func(int) string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	for i := range n {
		fmt.Fprintln(t, row(i))
	}
	return t.Flush() // where the errors of all lines come up
}

// notNil prints as [] and not as null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
