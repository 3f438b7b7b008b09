// Package coordinator is the program that grants leases: a [fence.Grantor]
// served on a Unix socket, and the commands that ask it.
//
// It keeps three files: the state, which the grantor locks; the socket; and
// beside the socket a lock file, SOCKET.lock. Who holds a flock on the lock
// file may remove the socket and make a new one. The socket itself cannot
// decide that: "nobody answers, so it is left over, so remove it" is a race
// between the look and the removal, in which two that start at once remove each
// other's.
//
// The lock file goes with a clean end. That is safe only because whoever locks
// it looks afterwards whether it still is the file of that name, and starts
// over if not: a lock on a file that has lost its name keeps nobody out. After
// a kill both files stay, and the next coordinator takes them over.
package coordinator
