"""Counts a run under a lock. Bad: the lock is a file that exists, and stays when
its record cannot be written. Good: the kernel holds the lock and forgets it with
the process; its file is never removed and means nothing by itself."""
import fcntl
import os
import sys


def acquire(bad):
    try:
        if bad:
            fd = os.open("run.lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(fd, b"%d\n" % os.getpid())
        else:
            fd = os.open("run.lock", os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (FileExistsError, BlockingIOError):
        sys.exit("another instance is running")
    return fd


def replace(name, text):
    """One name for the temporary file, so that the next run replaces what a killed one left."""
    with open(name + ".tmp", "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.replace(name + ".tmp", name)


def main():
    bad = sys.argv[1] == "bad"
    fd = acquire(bad)
    with open("runs") as f:
        runs = int(f.read())
    replace("runs", "%d\n" % (runs + 1))
    os.close(fd)
    if bad:
        os.unlink("run.lock")


try:
    main()
except OSError as e:
    sys.exit("lockfile: %s" % e)
