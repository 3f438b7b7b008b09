"""journal.py VARIANT KEY VALUE: sets a key in the files "a" and "b", both or none, by
way of a journal that a later run finishes.

    good   the journal goes when what it says is on the disk
    early  the journal goes before
"""
import os
import sys


def put(name, text):
    with open(name, "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())


def sync_dir():
    fd = os.open(".", os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def apply(variant):
    with open("journal") as f:
        lines = f.read().split("\n")
    if lines[-2:] != ["end", ""]:
        os.unlink("journal")  # it was never complete: nothing has begun
        return
    for name in "a", "b":
        with open(name, "r+") as f:
            f.write(lines[0])
            f.truncate()
            f.flush()
            if variant != "early":
                os.fsync(f.fileno())
    os.unlink("journal")


variant, value = sys.argv[1:]
if os.path.exists("journal"):
    apply(variant)
if value != "recover":
    put("journal", value + "\nend\n")
    sync_dir()
    apply(variant)
    sync_dir()
    print("set", value)
