#!/usr/bin/python3
"""How long a single run of one user waits while another user has 500 queued, beside the same on an empty queue.

Needs root, to be two users at once: the daemon runs in system mode as one uid, its callers as two others.
"""

import os
import sys
import time

from bench_support import kprof_testing, line, print_machine
from kprof_testing import Client, Daemon, temporary_folder

DAEMON_UID, MANY_UID, SINGLE_UID = 61_801, 61_802, 61_803
QUEUED = 500
SINGLES = 20
RUN_S = 0.1  # of each run of the long queue: what a single one has to wait for, at most


class SystemDaemon(Daemon):
    """In system mode, as a user of its own."""

    def __init__(self, folder):
        os.chown(folder, DAEMON_UID, DAEMON_UID)
        os.chmod(folder, 0o755)
        super().__init__(folder, identity={"user": DAEMON_UID, "group": DAEMON_UID, "extra_groups": []})
        self.configure("")

    def options(self):
        return ["--config", self.config_path, "--state-dir", self.state, "--socket", self.socket]


def waits_of_singles(ctl):
    """Seconds from the submission to the start, of runs that are submitted one after the other."""
    waits = []
    for _ in range(SINGLES):
        run = ctl.json("wait", ctl.detach("true", options=("--device", "cpu"), user=SINGLE_UID, group=SINGLE_UID,
                                          extra_groups=[]), user=SINGLE_UID, group=SINGLE_UID, extra_groups=[])
        waits.append((int(run["started_ns"]) - int(run["queued_ns"])) / 1e9)
    return waits


def main():
    if os.getuid() != 0:
        print("needs root: it runs the daemon and its callers as three users")
        return 1
    kprof_testing.need_programs()
    print_machine()
    with temporary_folder("fair-") as folder:
        daemon = SystemDaemon(folder)
        daemon.start()
        try:
            ctl = Client(daemon.socket)
            as_many = {"user": MANY_UID, "group": MANY_UID, "extra_groups": []}
            print(line("a run waits on an empty queue", waits_of_singles(ctl)))
            queued = 0
            while queued < QUEUED:  # some have run already
                for _ in range(50):
                    ctl.detach("sleep", str(RUN_S), options=("--device", "cpu"), **as_many)
                queued = ctl.json("status", **as_many)["queue"]["queued"]
            began = time.monotonic()
            print(line(f"beside {queued} queued of another user, of {RUN_S} s each", waits_of_singles(ctl)))
            left = ctl.json("status", **as_many)["queue"]["queued"]
            print(f"meanwhile, in {time.monotonic() - began:.1f} s, the other user's queue went from {queued} to {left}")
        finally:
            daemon.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
