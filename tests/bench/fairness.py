#!/usr/bin/python3
"""How long a single run of one user waits while another user has 500 queued, beside the same on an empty queue.

Needs root, to be two users at once: the daemon runs in system mode as one uid, its callers as two others.
"""

import os
import sys
import time

from bench_support import kprof_testing, line, print_machine
from kprof_node import ALICE, BOB, Caller, Node
from kprof_testing import temporary_folder

QUEUED = 500
SINGLES = 20
RUN_S = 0.1  # of each run of the long queue: what a single one has to wait for, at most


def waits_of_singles(caller):
    """Seconds from the submission to the start, of runs that are submitted one after the other."""
    waits = []
    for _ in range(SINGLES):
        run = caller.json("wait", caller.detach("true", options=("--device", "cpu")))
        waits.append((int(run["started_ns"]) - int(run["queued_ns"])) / 1e9)
    return waits


def main():
    if os.getuid() != 0:
        print("needs root: it runs the daemon and its callers as three users")
        return 1
    kprof_testing.need_programs()
    print_machine()
    with temporary_folder("fair-") as folder:
        node = Node(folder)
        node.start_helper()
        node.start()
        try:
            single, many = Caller(node, ALICE), Caller(node, BOB)
            print(line("a run waits on an empty queue", waits_of_singles(single)))
            queued = 0
            while queued < QUEUED:  # some have run already
                for _ in range(50):
                    many.detach("sleep", str(RUN_S), options=("--device", "cpu"))
                queued = many.json("status")["queue"]["queued"]
            began = time.monotonic()
            print(line(f"beside {queued} queued of another user, of {RUN_S} s each", waits_of_singles(single)))
            left = many.json("status")["queue"]["queued"]
            print(f"meanwhile, in {time.monotonic() - began:.1f} s, the other user's queue went from {queued} to {left}")
        finally:
            node.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
