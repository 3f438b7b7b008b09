# Appends to a file that the portalocker package holds with flock.
import sys

import portalocker

with portalocker.Lock("log", "a", timeout=2) as f:
    f.write(sys.argv[1] + "\n")
