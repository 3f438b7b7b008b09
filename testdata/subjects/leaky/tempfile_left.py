"""Writes a report by way of a temporary file. Bad: a new name each time, and
nothing removes it when the run fails. Good: one name, which the next run replaces."""
import os
import sys
import tempfile


def temporary(bad):
    if bad:
        return tempfile.mkstemp(prefix=".report.", dir=".")
    return os.open(".report.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), ".report.tmp"


def main():
    with open("numbers") as f:
        total = sum(int(line) for line in f)
    fd, name = temporary(sys.argv[1] == "bad")
    with open(fd, "w") as f:
        f.write("total %d\n" % total)
        f.flush()
        os.fsync(f.fileno())
    os.replace(name, "report")


try:
    main()
except OSError as e:
    sys.exit("tempfile: %s" % e)
