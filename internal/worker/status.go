package worker

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"faultlab/internal/mutant"
	"faultlab/lock"
)

// errLocked is what status returns when there is a lock: what is to be said of it was printed.
var errLocked = errors.New("locked: see above")

func statusCommand(stdout io.Writer) *cobra.Command {
	var data, lockName string
	var f fenced
	c := &cobra.Command{
		Use:   "status --data DIR",
		Short: "Say who holds the lock, and who is champion; change nothing",
		Long:  "Say who holds the lock, and who is champion; change nothing.\n\nExit status: 0 free, 3 locked, 1 the data directory is damaged or cannot be read, 2 wrong usage.",
		Args:  cobra.NoArgs,
		RunE:  begin(func() error { return flat(f.status(stdout), status(stdout, data, lockName)) }),
	}
	c.Flags().StringVar(&data, "data", "", "the data directory `DIR`")
	c.Flags().StringVar(&f.path, "store", "", "say, too, what this fenced store holds, a `FILE`")
	c.Flags().StringVar(&f.key, "key", defaultKey, "the `KEY` of the score in the store")
	c.Flags().StringVar(&lockName, "lock", "create", "how it is locked, a `DESIGN`: create or flock")
	required(c, "data")
	return c
}

func required(c *cobra.Command, names ...string) {
	for _, name := range names {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of that name was defined just now
		}
	}
}

func status(stdout io.Writer, data, lockName string) error {
	dir, err := dataDir(data)
	if err != nil {
		return err
	}
	s := store{dir: dir}
	inspect := lock.Inspect
	if lockName == mutant.Flock.Name {
		inspect = lock.InspectFlock
	} else if lockName != mutant.Real.Name {
		_, err := chooseDesign(lockName, "")
		return err
	}
	seen, err := inspect(s.lock())
	if err != nil {
		return err
	}
	held := seen.State != lock.Free
	line := seen.String()
	if held {
		refusal := lock.HeldError{Status: seen}
		if seen.Token != "" {
			refusal.Clear = s.clear(seen.Token)
		}
		line = refusal.Error()
	}
	_, err = fmt.Fprintf(stdout, "lock: %s\n", line)
	err = flat(err, s.describe(stdout))
	if err == nil && held {
		return errLocked
	}
	return err
}

// describe prints what the directory holds. Read beside a run it may see a record whose champion is not there yet.
func (s store) describe(w io.Writer) error {
	st, err := s.read()
	if err != nil {
		return err
	}
	champion := "none yet"
	if c := st.champion; c != nil {
		champion = fmt.Sprintf("%s, %v, run %d", c.Candidate.Name, c.Score, c.Run)
	}
	results := fmt.Sprintf("%d", len(st.records))
	if st.torn > 0 {
		results += fmt.Sprintf(", and %d bytes of a record without its end: the next run takes them back", st.torn)
	}
	_, err = fmt.Fprintf(w, "champion: %s\nresults: %s\n", champion, results)
	return err
}

func unlockCommand(stdout io.Writer) *cobra.Command {
	var data, token string
	c := &cobra.Command{
		Use:   "unlock --data DIR --token T",
		Short: "Clear the lock that was looked at, and no other",
		Long: `Clear the lock with this token, whether its holder lives or not. The token is the one that a refusal or ` + "`worker status`" + `
printed. If the lock has become another one meanwhile, or is being written at this moment, it stays.

Exit status: 0 cleared, 1 there is no lock or it could not be removed, 2 wrong usage, 3 it is another lock by now.`,
		Args: cobra.NoArgs,
		RunE: begin(func() error { return unlock(stdout, data, token) }),
	}
	c.Flags().StringVar(&data, "data", "", "the data directory `DIR`")
	c.Flags().StringVar(&token, "token", "", "the `TOKEN` of the lock")
	required(c, "data", "token")
	return c
}

func unlock(stdout io.Writer, data, token string) error {
	if err := lock.CheckToken(token); err != nil {
		return usagef("--token %w", err)
	}
	dir, err := dataDir(data)
	if err != nil {
		return err
	}
	s := store{dir: dir}
	if err := lock.Break(s.lock(), token); err != nil {
		return s.unlockAdvice(err)
	}
	_, err = fmt.Fprintf(stdout, "cleared %s\n", s.lock())
	return err
}

// unlockAdvice says what to do when the lock stays.
func (s store) unlockAdvice(err error) error {
	var changed *lock.ChangedError
	if !errors.As(err, &changed) {
		return err
	}
	return fmt.Errorf("%w; if that one is to go: %s", err, s.clear(changed.Now.Token))
}
