"""Is inside under portalocker's lock whose file goes away with it."""
import os
import sys

import portalocker

try:
    with portalocker.TemporaryFileLock("L"):
        log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(log, b"enter %d\n" % os.getpid())
        os.write(log, b"leave %d\n" % os.getpid())
except portalocker.AlreadyLocked:
    sys.exit(3)
