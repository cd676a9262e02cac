"""Minutes of everything at once, and then nothing must have grown: descriptors, threads, memory, processes, files. Only with
tests/run --long.
"""

import os
import random
import threading
import time
import unittest

import kprof_testing
from kprof_testing import DaemonTest, children_of, status_number, unique_seconds, wait_until

SECONDS = float(os.environ.get("KPROF_SOAK_S", "240"))
THREADS = 4
# Of what a daemon that has done it all once may still gain: caches fill, and the allocator keeps some.
MEMORY_LIMIT_KIB = 8 * 1024
SLACK = 4  # gRPC's threads come and go


@kprof_testing.long("minutes of mixed use")
class SoakTest(DaemonTest):
    CONFIG = '[retention]\nmax_artifact_bytes = 64000000\n'

    def numbers(self):
        """Of the daemon when nothing goes on."""
        wait_until(lambda: not children_of(self.daemon.pid), "its children to be gone")
        wait_until(lambda: len(os.listdir(f"/proc/{self.daemon.pid}/fd")) < 60, "its connections to be gone")
        time.sleep(2)
        return {"descriptors": len(os.listdir(f"/proc/{self.daemon.pid}/fd")),
                "threads": status_number(self.daemon.pid, "Threads"), "rss_kib": status_number(self.daemon.pid, "VmRSS")}

    def use(self, until, seed, failures):
        """One client that does this and that. What fails for a reason that the others cause is fine; a crash is not."""
        choose = random.Random(seed)
        ctl = self.ctl

        def abandoned_capture():
            client = ctl.start("capture", "command", "--device", "none", "--", "sleep", unique_seconds())
            time.sleep(choose.random() * 0.3)
            client.kill()
            client.communicate()

        acts = [
            lambda: ctl.run("capture", "command", "--", "true"),
            lambda: ctl.run("capture", "command", "--device", "none", "--", "sh", "-c", "head -c 20000000 /dev/zero; exit 3",
                            expect="command_failed"),
            lambda: ctl.run("cancel", ctl.detach("sleep", unique_seconds(), options=("--device", "none")), expect=None),
            abandoned_capture,
            lambda: ctl.run("runs", "--limit", "50"),
            lambda: ctl.run("query", "SELECT state, count(*) FROM run GROUP BY state"),
            lambda: ctl.run("query", "SELECT no_such_column FROM run", expect="usage"),
            lambda: ctl.run("logs", "@last", expect=None),
            lambda: ctl.run("show", "@last~3", expect=None),
            lambda: ctl.run("delete", "@last~5", expect=None),
            lambda: ctl.run("backup", self.path(f"b{seed}-{random.random()}.db"), expect=None),
            lambda: ctl.run("status"),
        ]
        while time.monotonic() < until:
            try:
                choose.choice(acts)()
            except AssertionError as failure:
                failures.append(failure)
                return

    def use_for(self, seconds):
        failures = []
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.use, args=(until, seed, failures)) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_nothing_grows(self):
        self.use_for(SECONDS / 4)
        before = self.numbers()
        self.use_for(SECONDS * 3 / 4)
        # An abandoned capture lives for ten seconds more.
        wait_until(lambda: not self.ctl.json("runs", "--state", "running", "--state", "queued")["runs"], "all runs to end")
        after = self.numbers()
        print(f"before {before}, after {after}")
        self.assertLessEqual(after["descriptors"], before["descriptors"] + SLACK)
        self.assertLessEqual(after["threads"], before["threads"] + SLACK)
        self.assertLessEqual(after["rss_kib"], before["rss_kib"] + MEMORY_LIMIT_KIB)
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "spool")), [])


if __name__ == "__main__":
    unittest.main()
