"""A container that kprofd's socket is mounted into, as a mount namespace of its own makes one: whoever is inside has the uid
of a user of this machine, and gets nothing started outside, also while that user is connected from outside. Needs root."""

import os
import shutil
import signal
import socket
import unittest

import kprof_testing
from kprof_node import ALICE, BOB, Caller, Node
from kprof_testing import unique_seconds, wait_until

GROUPS = [61010]


class Inside(Caller):
    """The same user with the same groups, in a mount namespace of its own."""

    def command(self, *args):
        groups = ",".join(str(gid) for gid in self.identity["extra_groups"])
        return ["unshare", "--mount", "setpriv", "--reuid", str(self.identity["user"]), "--regid", str(self.identity["group"]),
                "--groups", groups, *super().command(*args)]

    def start(self, *args, **options):
        return super().start(*args, user=0, group=0, extra_groups=[], **options)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
@unittest.skipUnless(shutil.which("unshare") and shutil.which("setpriv"), "needs unshare and setpriv")
class ContainersTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.node = Node(self.folder)
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.outside = Caller(self.node, ALICE, GROUPS)
        self.inside = Inside(self.node, ALICE, GROUPS)

    def stay_connected(self, caller):
        """A run that its client follows; the client stays until the test ends."""
        process = caller.start("--json", "capture", "command", "--device", "none", "--", "sleep", unique_seconds())
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)

        def runs():
            found = self.outside.json("runs", "--limit", "1")["runs"]
            return found and found[0]["state"] == "running"
        wait_until(runs, "its client to stay")

    def refuse(self, caller, *command):
        return caller.run("--json", "capture", "command", "--detach", "--", *command, expect=None)

    def ids(self):
        return [run["id"] for run in self.outside.json("runs")["runs"]]

    def test_nothing_starts_outside_for_who_is_inside_while_the_user_is_connected_from_outside(self):
        self.stay_connected(self.outside)
        before = self.ids()
        mark = os.path.join(self.folder, "state", "mark")
        refused = self.refuse(self.inside, "touch", mark)
        self.assertEqual(refused.code, kprof_testing.EXIT["not_permitted"], refused)
        self.assertIn("is in a container", refused.error["message"])
        self.assertIn("in the foreground", refused.error["remedy"])
        self.assertEqual(self.ids(), before)
        self.assertEqual(os.listdir(os.path.join(self.folder, "grants")), [])
        # Meanwhile the user's own go on, and so do those that were begun when somebody inside is connected, too.
        self.assertEqual(self.outside.wait(self.outside.detach("true", options=("--device", "none")))["state"], "done")
        self.stay_connected(self.inside)
        self.assertEqual(self.outside.wait(self.outside.detach("true", options=("--device", "none")))["state"], "done")
        self.assertEqual(self.refuse(self.inside, "true").code, kprof_testing.EXIT["not_permitted"])

    def test_a_foreground_capture_stays_inside(self):
        self.stay_connected(self.outside)
        run = self.inside.capture("readlink", "/proc/self/ns/mnt", options=("--device", "none"))
        self.assertEqual(run["state"], "done")
        self.assertEqual(run["uid"], ALICE)
        said = self.outside.run("logs", run["id"]).text.strip()
        self.assertRegex(said, r"^mnt:\[\d+\]$")
        self.assertNotEqual(said, os.readlink("/proc/self/ns/mnt"))

    def test_what_is_ones_own_is_so_inside_and_outside(self):
        seconds = unique_seconds()
        run = self.outside.detach("sleep", seconds)
        self.outside.wait_for_state(run, "running")
        self.assertEqual(self.inside.show(run)["state"], "running")
        self.inside.run("cancel", run)
        self.assertEqual(self.outside.wait(run, expect="cancelled")["state"], "cancelled")

    def test_a_helper_that_hangs_costs_who_connects_a_moment_and_detached_runs_alone(self):
        self.node.helper.send_signal(signal.SIGSTOP)
        self.addCleanup(self.node.helper.send_signal, signal.SIGCONT)
        bob = Caller(self.node, BOB)
        for caller in (self.outside, bob, self.inside):
            self.assertEqual(caller.capture("true")["state"], "done")
        refused = self.refuse(self.outside, "true")
        self.assertEqual(refused.code, kprof_testing.EXIT["spawn_failed"], refused)
        self.assertIn("kprofd-helper did not say", refused.error["message"])
        self.assertIn("in the foreground", refused.error["remedy"])
        self.node.helper.send_signal(signal.SIGCONT)
        wait_until(lambda: self.refuse(bob, "true").code == 0, "it to answer again")
        self.assertEqual(self.refuse(self.inside, "true").code, kprof_testing.EXIT["not_permitted"])

    def connect_as(self, uid):
        """A connection that is served, of a process that stays: of this one."""
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        os.seteuid(uid)
        try:
            connection.connect(self.node.socket)
        finally:
            os.seteuid(0)
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        connection.settimeout(kprof_testing.LIMIT_S)
        self.assertTrue(connection.recv(1))
        return connection

    def test_who_stays_who_they_were_is_not_disturbed_by_a_reload(self):
        stays, goes = self.connect_as(ALICE), self.connect_as(BOB)
        with open(self.node.config_path, "a", encoding="ascii") as config:
            config.write(f'[access]\neveryone = "viewer"\noperators = ["{BOB}"]\n')
        self.node.process.send_signal(signal.SIGHUP)
        while goes.recv(1000):
            pass
        stays.setblocking(False)
        while True:
            try:
                self.assertTrue(stays.recv(1000))
            except BlockingIOError:
                break

    def test_stops_while_somebody_waits_to_be_looked_at(self):
        self.node.helper.send_signal(signal.SIGSTOP)
        self.addCleanup(self.node.helper.send_signal, signal.SIGCONT)
        waiting = [self.outside.start("status") for _ in range(20)]
        self.node.stop()
        for process in waiting:
            process.communicate(timeout=kprof_testing.LIMIT_S)


if __name__ == "__main__":
    unittest.main(verbosity=2)
