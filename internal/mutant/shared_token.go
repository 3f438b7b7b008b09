package mutant

import (
	"context"
	"errors"
	"io/fs"

	"faultlab/fence"
)

// sharedToken asks, when it is about to write, for the newest token that there is, and writes under that.
//
// Mechanism: the token is looked up where all can see it, in the coordinator and in the store, instead of being kept from
// the grant. A writer that slept through its lease so finds its successor's token, and the store, which compares tokens
// and cannot know whose they are, lets it overwrite what the successor wrote. Seen where a token is kept in a
// configuration that all workers share, or is "refreshed" before a write so that the store does not refuse it. The fix is
// to send the token that the own grant returned.
var sharedToken = Design{
	Name:     "shared-token",
	About:    "writes are authorised by the newest token that anyone holds, not by the writer's own",
	Acquire:  Real.Acquire,
	Register: atExit,
	Token:    newestToken,
	Outside:  outsideRepository,
	Fix: `
-	Token:    newestToken,
+	Token:    ownToken,
`}

func newestToken(own fence.Lease, c fence.Client, s fence.Store) (fence.Token, error) {
	newest := own.Token
	running, _, err := c.Leases(context.Background())
	if err != nil {
		return newest, err
	}
	for _, l := range running {
		if l.Name == own.Name && l.Token.N > newest.N {
			newest = l.Token
		}
	}
	marks, err := s.Marks()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return newest, err
	}
	for _, m := range marks {
		if m.Token.N > newest.N {
			newest = m.Token
		}
	}
	return newest, nil
}
