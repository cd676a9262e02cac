"""`deploy/start-daemon`: what the quickstart does about a daemon, and about one of an older build."""

import contextlib
import os
import shutil
import signal
import subprocess
import unittest

import kprof_testing
from kprof_testing import Client, temporary_folder, wait_until

SCRIPT = os.path.join(kprof_testing.ROOT, "deploy", "start-daemon")


def copy(program, folder):
    """As a linker does: another file takes the name."""
    new = os.path.join(folder, "new")
    shutil.copy(program, new)
    os.rename(new, os.path.join(folder, os.path.basename(program)))


class StartDaemonTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        home = stack.enter_context(temporary_folder())
        self.bin = os.path.join(home, "bin")
        os.mkdir(self.bin)
        for program in (kprof_testing.KPROFD, kprof_testing.KPROFCTL, kprof_testing.LAUNCH):
            copy(program, self.bin)
        self.environment = dict(os.environ, HOME=home, KPROF_BIN=self.bin)
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "KPROF_SOCKET"):
            self.environment.pop(name, None)
        self.ctl = Client(os.path.join(home, ".local/state/kprof/kprofd.sock"))
        stack.callback(self.stop)

    def status(self):
        return self.ctl.json("status")

    def stop(self):
        """The daemon of this test's own socket, and no other."""
        answer = self.ctl.run("--json", "status", expect=None)
        if answer.code == 0:
            pid = answer.json["pid"]
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not kprof_testing.read_file(f"/proc/{pid}/cmdline"), "kprofd to end")

    def script(self, code=0):
        done = subprocess.run([SCRIPT], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=2 * kprof_testing.LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_it_starts_one_and_leaves_it_running(self):
        self.assertRegex(self.script(), r"^started kprofd --user, pid \d+\n$")
        pid = self.status()["pid"]
        self.assertEqual(self.script(), f"one is running already, pid {pid}\n")
        self.assertEqual(self.status()["pid"], pid)

    def test_one_of_an_older_build_is_restarted(self):
        for program in (kprof_testing.KPROFD, kprof_testing.LAUNCH):
            with self.subTest(program=program):
                self.script()
                before = self.status()["pid"]
                self.ctl.capture("true")
                copy(program, self.bin)
                self.assertRegex(self.script(), f"^one is running from an older build, pid {before}\nit has ended\n"
                                                r"started kprofd --user, pid \d+\n$")
                self.assertNotEqual(self.status()["pid"], before)
        self.assertEqual(self.status()["storage"]["runs"], 2)
        log = kprof_testing.read_file(os.path.join(os.path.dirname(self.ctl.socket), "kprofd.log")).decode()
        self.assertNotIn("unclean", log)

    def test_one_with_open_runs_is_left_alone(self):
        self.script()
        before = self.status()["pid"]
        run = self.ctl.detach("sleep", kprof_testing.unique_seconds())
        copy(kprof_testing.KPROFD, self.bin)
        said = self.script(code=1)
        self.assertIn(f"one is running from an older build, pid {before}\n", said)
        self.assertIn("it has open runs (1) and is left alone", said)
        self.assertIn("kprofctl cancel", said)
        self.assertEqual(self.status()["pid"], before)
        self.ctl.run("cancel", run)
        self.ctl.wait(run)
        self.script()
        self.assertNotEqual(self.status()["pid"], before)

    def test_one_of_another_place_is_left_alone(self):
        elsewhere = os.path.join(os.path.dirname(self.bin), "elsewhere")
        shutil.copytree(self.bin, elsewhere)
        self.environment["KPROF_BIN"] = elsewhere
        self.script()
        before = self.status()["pid"]
        self.environment["KPROF_BIN"] = self.bin
        self.assertEqual(self.script(), f"one is running already, pid {before}; it is not of this checkout, and left alone\n")
        self.assertEqual(self.status()["pid"], before)

    def test_one_at_another_socket_is_left_alone(self):
        self.script()
        before = self.status()["pid"]
        copy(kprof_testing.KPROFD, self.bin)
        other = os.path.join(os.path.dirname(self.bin), "runtime")
        os.mkdir(other)
        self.environment.update(XDG_RUNTIME_DIR=other, KPROF_SOCKET=self.ctl.socket)
        self.assertIn("left alone", self.script())
        self.assertEqual(self.status()["pid"], before)


if __name__ == "__main__":
    unittest.main()
