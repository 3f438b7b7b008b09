//go:build linux

package cli

import "github.com/spf13/cobra"

func newDoctor(std streams) *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Say what this machine lacks, and the remedy", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return nil }}
}
