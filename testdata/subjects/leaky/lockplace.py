"""Counts a run in the data directory that it is given, under a lock that the kernel
holds. Bad: the lock lies where the program was started, so two that were started in
different places do not see each other. Good: it lies with the data."""
import fcntl
import os
import sys


def main(bad, data):
    lock = "run.lock" if bad else os.path.join(data, "run.lock")
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("lockplace: %s is held" % lock)
    count = os.path.join(data, "runs")
    with open(count) as f:
        runs = int(f.read())
    with open(count + ".tmp", "w") as f:
        f.write("%d\n" % (runs + 1))
        f.flush()
        os.fsync(f.fileno())
    os.replace(count + ".tmp", count)


try:
    main(sys.argv[1] == "bad", sys.argv[2])
except OSError as e:
    sys.exit("lockplace: %s" % e)
