"""System mode: what waits for somebody whom the settings no longer let start anything does not start. Needs root."""

import os
import signal
import unittest

import kprof_testing
from kprof_node import ALICE, BOB, Caller, Node
from kprof_testing import wait_until

BOTH = f'[access]\neveryone = "none"\nviewers = ["{ALICE}", "{BOB}"]\nadmins = ["root"]\n'
ALICE_ALONE = BOTH.replace(f', "{BOB}"', "")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class WithdrawnRightsTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.node = Node(self.folder, BOTH)
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.alice, self.bob, self.root = Caller(self.node, ALICE), Caller(self.node, BOB), Caller(self.node, 0)
        self.written = os.path.join(self.folder, "written")
        os.mkdir(self.written)
        os.chmod(self.written, 0o777)

    def configure(self, settings):
        self.node.configure(f'helper_socket = "{self.node.helper_socket}"\n{settings}')
        os.chmod(self.node.config_path, 0o644)

    def submit(self):
        """One of Alice that runs, one of each that waits: their ids."""
        holder = self.alice.detach("sleep", "600", options=("--device", "cpu"))
        wait_until(lambda: self.root.json("show", holder)["state"] == "running", "the first to run")
        waiting = [caller.detach("sh", "-c", f"id -u >{self.written}/$(id -u)", options=("--device", "cpu"))
                   for caller in (self.alice, self.bob)]
        return holder, *waiting

    def check(self, holder, of_alice, of_bob):
        ended = wait_until(lambda: (run := self.root.json("show", of_bob))["state"] == "failed" and run, "Bob's to end")
        self.assertEqual(ended["error"]["code"], "not_permitted")
        self.assertIn(f"uid {BOB} no longer has a role", ended["error"]["message"])
        self.root.run("cancel", holder, expect=None)
        self.assertEqual(self.root.json("wait", of_alice)["state"], "done")
        self.assertEqual(os.listdir(self.written), [str(ALICE)])
        self.bob.run("status", expect="not_permitted")

    def test_a_reload_ends_it(self):
        runs = self.submit()
        session = self.bob.start("--json", "session", "open", "--device", "cpu")
        wait_until(lambda: self.root.json("session", "list")["sessions"], "it to wait")
        self.configure(ALICE_ALONE)
        self.node.process.send_signal(signal.SIGHUP)
        self.check(*runs)
        out, err = session.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(session.returncode, kprof_testing.EXIT["not_permitted"], (out, err))

    def test_a_start_ends_it_before_anything_starts(self):
        holder, of_alice, of_bob = self.submit()
        self.node.stop()
        self.configure(ALICE_ALONE)
        self.node.start()
        self.check(holder, of_alice, of_bob)


if __name__ == "__main__":
    unittest.main(verbosity=2)
