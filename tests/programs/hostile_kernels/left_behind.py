"""Leaves processes behind that no group or session holds, to keep the CPUs busy while others are measured."""

import os
import sys
import time

from honest import kernel  # noqa: F401

for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            until = time.monotonic() + 120
            while time.monotonic() < until:
                time.sleep(0.001)
        os._exit(0)
