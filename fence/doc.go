// Package fence keeps a writer that has lost its lease from writing.
//
// A lease runs out by time, and its holder may be asleep when it does: stopped,
// swapped out, in a long garbage collection, behind a slow disk. No check that
// the holder makes itself can help, since it may fall asleep between the check
// and the write. So the resource checks: every lease comes with a number
// greater than any before it (the fencing token), every write carries the token
// of the lease under which it was made, and the store refuses a token smaller
// than one it has seen.
//
// The idea is the sequencer of Burrows' Chubby (OSDI 2006) and the fencing
// token of Kleppmann's "How to do distributed locking" (2016); leases are Gray
// and Cheriton's (SOSP 1989).
//
// # Granting
//
// A [Grantor] keeps the leases and the counter in one bbolt file, which it
// holds alone. A token is stored durably, in the transaction that stores its
// lease, before it is handed out; the counter is never inside a record that
// expires. So no token is given twice and none goes back: not after expiry or
// release, not after a crash at any point, not after a restart.
//
//	clock, err := fence.RealClock()
//	g, err := fence.OpenGrantor("leases.db", clock)
//	lease, err := g.Grant("data", "worker 7", 10*time.Second)
//	...
//	err = g.Release("data", lease.Token)
//
// Several processes share one grantor over HTTP: [NewHandler] serves it and a
// [Client] asks it. The program cmd/coordinator is little more than that on a
// Unix socket.
//
// # Writing
//
// A [Store] is a bbolt file that is opened for each write. Open it after the
// lease was granted, and give to Put the token that the grant returned: never
// one read from the store, from the grantor or from another process, for that
// is how a stalled writer comes to carry a fresh number.
//
//	s := fence.Store{Path: "scores.db"}
//	err = s.Put("champion", lease.Token, value)
//	var stale *fence.StaleError
//	if errors.As(err, &stale) {
//		// the lease was given on: stop, and start again with a new grant
//	}
//
// A refused token stays refused, whoever reads or writes meanwhile.
//
// # Time
//
// Expiry is decided by the grantor's [Clock] only, which never follows the wall
// clock. A holder that wants to know how long it may go on counts [Lease.Left]
// from a moment before it sent its request. It need not be exact: the store is
// what makes a late write harmless.
//
// # When the disk fails
//
// Nothing is reported as done before bbolt has synced it. When a write or a
// sync fails the result is a [*WriteError], whose Landed says what the file
// holds: bbolt writes the new state in place before it asks for the last sync,
// so a failed sync may have left the new state as well as the old. Never
// anything else: no half value, and no mark lower than before.
//
// # What it does not do
//
// A file restored from a backup, or copied, brings old marks and old counters
// back, and nobody can tell. Network file systems whose flock is local to one
// machine let two writers in. The marks of a store that was deleted are gone
// with it.
package fence
