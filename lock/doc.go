// Package lock keeps two processes from being inside at the same time, by a file, and never by a guess.
//
// # Acquire: a file that is there or not
//
// Acquiring is one atomic open(O_CREAT|O_EXCL). Whoever creates the file has the lock; everybody else is refused with a
// *HeldError, always. A lock is never judged dead and removed: every "is this lock dead?" is a race between the look,
// which sees a file, and the removal, which names a path. The refusal says what is known of the holder and prints the
// command that clears exactly the lock that was looked at (Break). The idea is that of git's index.lock, with a record.
//
// It leaks when the process dies without a word (SIGKILL, power cut). Register the release with package exit, which closes
// every other way out. What is left then is legible, and an operator decides.
//
// # AcquireFlock: a lock that the kernel holds
//
// flock(2) on a file that is never removed. The kernel frees it when the holder dies, however it dies, so it heals itself.
//
// # Which to take
//
//	                                    Acquire              AcquireFlock
//	holder dies by SIGKILL or power cut stays, legible       free
//	what it covered may be half-done    somebody must look   the next one must repair it by itself
//	held across processes (a hand-over) yes                  no: it ends with the descriptor
//	a child inherits the descriptor     does not matter      keeps the lock (Go sets close-on-exec; others may not)
//	NFS v3 and later                    yes                  only where its lock service runs
//	file systems without flock          yes, but not Break   no
//	Windows                             yes, but not Break   no
//
// Take AcquireFlock where every run begins by repairing what the last one may have left. Take Acquire where a dead holder
// is something that a person has to look at. One path has one design: a mixture refuses, but it does not heal.
//
// # System calls of Acquire and Release (Linux)
//
//	openat   PATH  O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644    the lock is taken here
//	fcntl    F_DUPFD_CLOEXEC                                  the pin, see below
//	flock    LOCK_EX       on the pin                         "being written"
//	fstat    the pin;      newfstatat PATH                    nobody broke it in between
//	write    the record, one line, one call                   a short write is an error
//	fsync
//	close    the file
//	flock    LOCK_UN       on the pin                         "complete"
//
//	flock    LOCK_EX       on the pin
//	newfstatat PATH                                           it is still ours
//	unlinkat PATH                                             the lock is given back here
//	close    the pin
//
// If write, fsync or close fails, the lock is rolled back by these same four, and every error is handed up (go-multierror).
//
// The pin is a second descriptor of the same file, kept while the lock is held. It keeps the inode number from being
// reused, so "the same device and inode" means "the same file", and giving back needs no further open, which could fail
// for want of descriptors.
//
// The directory is not synced. After a power cut the holder is dead: whether its lock is then still there, or has come
// back after its release, is legible ("restarted since") and changes nothing. What must be durable is the record in a lock
// that is there, and that is what the fsync is for.
//
// # Why two Breaks and a new Acquire cannot collide
//
// Break, Release and rollback all remove by path, after a look. Two operators may look at the same dead lock; one removes
// it, somebody acquires, and the other one would remove the fresh lock. So every removal takes flock(2) on the very file
// that it looked at, compares device and inode of that file with what the path names, and only then unlinks. While it has
// that flock, nobody else of this package can take this file off the path, and nobody at all can create another one there.
// The flock lies on the lock file itself: there is no second file to leave behind, and the kernel frees it.
//
// Acquire needs no flock to be safe from other acquirers: the open decides. It holds one while it writes the record, so
// that a Break of a half-made lock waits (Limit), and then finds a complete record with another identity, and refuses.
// Between open and flock a Break may come first: the writer then sees that the path does not name its file, and fails.
//
// Where flock cannot work at all, Break refuses, so that Release and rollback are the only removers, and go on without.
package lock
