# Replaces a file under the filelock package's lock: a file that is there or not.
import os
import sys

import filelock

with filelock.SoftFileLock("state.lock", timeout=0.2):
    with open("state.tmp", "w") as f:
        f.write(sys.argv[1] + "\n")
    os.rename("state.tmp", "state")
