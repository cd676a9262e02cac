"""A kprof-launch that is stopped, as by a SIGSTOP or a frozen cgroup: it dies of nothing, hears nothing, and does what it was
about to do when it goes on.
"""

import ctypes
import os
import signal
import unittest

import scripted_life  # noqa: F401 (puts tests/system on the path)
import kprof_testing
from kprof_testing import OwnDaemonTest, wait_until, wait_until_gone

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000


def launchers(daemon):
    return [pid for pid in kprof_testing.children_of(daemon.pid)
            if kprof_testing.read_file(f"/proc/{pid}/comm").startswith(b"kprof-launch")]


def is_stopped(pid):
    return kprof_testing.read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] in ([b"T"], [b"t"])


class StoppedLauncher(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.ctl = self.daemon.ctl
        self.token = kprof_testing.unique_seconds()

    def run_that_prints(self, first, then):
        """A run that has printed `first` and goes on with `then` once its launcher has stopped; and that launcher."""
        gate = os.path.join(self.folder, "gate")
        run = self.ctl.detach("sh", "-c", f"setsid env -i sleep {self.token} & echo {first}; "
                                          f"until [ -e '{gate}' ]; do sleep 0.01; done; {then}; "
                                          f"touch '{gate}.passed'; sleep {self.token}")
        wait_until(lambda: self.ctl.run("logs", run).out == first.encode() + b"\n", "the command to begin")
        launcher, = launchers(self.daemon)
        return run, launcher

    def let_it_print(self):
        gate = os.path.join(self.folder, "gate")
        with open(gate, "wb"):
            pass
        wait_until(lambda: os.path.exists(gate + ".passed"), "the command to have printed")

    def stop_launcher(self, launcher):
        os.kill(launcher, signal.SIGSTOP)
        self.addCleanup(self.resume, launcher)
        wait_until(lambda: is_stopped(launcher), "the launcher to be stopped")

    def resume(self, launcher):
        try:
            os.kill(launcher, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def assert_end_is_whole(self, run, launcher, code="lost_daemon"):
        """Lost, with logs that are what the catalog says, also when the launcher goes on."""
        self.assertEqual(self.ctl.wait(run, expect=code)["error"]["code"], code)
        before = self.ctl.json("artifacts", run)["artifacts"]
        self.resume(launcher)
        wait_until(lambda: not os.path.exists(f"/proc/{launcher}/exe"), "the launcher to be gone")
        wait_until_gone(self.token, run=run)
        self.assertEqual(self.ctl.json("artifacts", run)["artifacts"], before)
        copy = os.path.join(self.folder, "copy")
        self.ctl.run("artifacts", run, "get", "stdout.log", "-o", copy)  # checks the sum
        return kprof_testing.read_file(copy)

    def test_while_the_daemon_is_killed_and_comes_back(self):
        # The kernel wakes it when its daemon dies (its group is orphaned), with both before it: what was printed, and the
        # end of its channel; or only the first, while the last thread of the daemon still holds the other end.
        run, launcher = self.run_that_prints("a", "head -c 300000 /dev/zero")
        self.stop_launcher(launcher)
        self.let_it_print()
        self.daemon.kill()
        self.daemon.start()
        kept = self.assert_end_is_whole(run, launcher)
        self.assertTrue(kept.startswith(b"a\n") and not kept[2:].strip(b"\0"), kept[:100])

    def test_by_a_debugger_while_the_daemon_is_killed_and_comes_back(self):
        # This one stays where it is until it is killed.
        run, launcher = self.run_that_prints("a", "head -c 300000 /dev/zero")
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(PTRACE_SEIZE, launcher, 0, 0) != 0 or libc.ptrace(PTRACE_INTERRUPT, launcher, 0, 0) != 0:
            self.skipTest("ptrace is not allowed here: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(os.waitpid, launcher, WALL)
        wait_until(lambda: is_stopped(launcher), "the launcher to be stopped")
        self.let_it_print()
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.assert_end_is_whole(run, launcher), b"a\n")

    def test_under_a_cancel_and_a_stop_of_the_daemon(self):
        run, launcher = self.run_that_prints("a", "echo b")
        self.stop_launcher(launcher)
        self.ctl.run("cancel", run)
        self.daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "kprofd is stopping" in self.daemon.log(), "the first signal to be taken")
        self.daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), 0)
        self.assertFalse(os.path.exists(f"/proc/{launcher}"))
        wait_until_gone(self.token, run=run)
        self.daemon.start()
        error = self.ctl.show(run)["error"]
        self.assertEqual(error["code"], "cancelled")
        self.assertIn("did not answer", error["message"])
        self.assertEqual(self.assert_end_is_whole(run, launcher, "cancelled"), b"a\n")


if __name__ == "__main__":
    unittest.main()
