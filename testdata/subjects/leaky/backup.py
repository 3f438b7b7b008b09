"""Adds a line to a list and keeps the list of before as a backup. Bad: both are
written in place, and a failure copies over the list whatever the backup has become.
Good: each is written beside and renamed, so one of them is whole at any time."""
import os
import sys


def in_place(name, data):
    with open(name, "wb") as f:
        f.write(data)


def beside(name, data):
    with open(name + ".tmp", "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.replace(name + ".tmp", name)


def content(name):
    with open(name, "rb") as f:
        return f.read()


def main(bad):
    save = in_place if bad else beside
    try:
        old = content("list")
        save("list.bak", old)
        save("list", old + b"pears\n")
    except OSError:
        if bad:
            save("list", content("list.bak"))
        raise


try:
    main(sys.argv[1] == "bad")
except OSError as e:
    sys.exit("backup: %s" % e)
