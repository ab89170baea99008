"""Started as a folder: `python3 /stack/lib`."""

import os
import sys

import endpoint

status = endpoint.main()
sys.stdout.flush()
sys.stderr.flush()
# Nothing is left to do, and taking the interpreter down takes time.
os._exit(status)
