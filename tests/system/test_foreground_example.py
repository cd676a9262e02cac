"""The client of docs/foreground.md, none of ours: it captures in the foreground on a node for many users. Needs root, and
Debian's python3-grpcio."""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

import kprof_testing
from kprof_node import ALICE, BOB, Caller, SystemDaemon
from kprof_stubs import make_stubs

if importlib.util.find_spec("grpc") is None:
    raise unittest.SkipTest("needs python3-grpcio")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ForegroundExampleTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.daemon = SystemDaemon(self.folder)
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        self.stubs = os.path.join(self.folder, "stubs")
        os.mkdir(self.stubs)
        make_stubs(self.stubs)
        self.example = os.path.join(self.folder, "example.py")
        with open(os.path.join(kprof_testing.ROOT, "docs", "foreground.md"), encoding="utf-8") as page:
            text = re.search(r"```python\n(.*?)```", page.read(), re.DOTALL)[1]
        with open(self.example, "w", encoding="utf-8") as file:
            file.write(text)

    def run_example(self, uid, *command, launcher=None):
        return subprocess.run([sys.executable, self.example, *command], capture_output=True, text=True, check=False, cwd="/",
                              timeout=kprof_testing.LIMIT_S, user=uid, group=uid, extra_groups=[],
                              env={"PATH": os.environ["PATH"], "PYTHONPATH": self.stubs, "PYTHONDONTWRITEBYTECODE": "1",
                                   "KPROF_SOCKET": self.daemon.socket, "CUDA_VISIBLE_DEVICES": "$(no plain word)",
                                   "KPROF_LAUNCH": launcher or os.path.join(self.daemon.bin, "kprof-launch"),
                                   **kprof_testing.SANITIZER_ENVIRONMENT})

    def test_it_runs_its_command_as_its_caller(self):
        done = self.run_example(ALICE, "sh", "-c", "id -u; exit 3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-2:], ["RUN_STATE_FAILED", str(ALICE)])
        self.assertIn("RUN_STATE_RUNNING", done.stdout)
        run = Caller(self.daemon, ALICE).json("runs")["runs"][0]
        self.assertEqual((run["error"]["code"], run["exit_code"]), ("command_failed", 3))

    def test_its_supervisor_starts_nothing_but_that(self):
        launcher = os.path.join(self.folder, "other-sum")
        with open(launcher, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {self.daemon.bin}/kprof-launch --kept --control-fd=0 --digest={"0" * 64}\n')
        os.chmod(launcher, 0o755)
        done = self.run_example(BOB, "echo", "not this", launcher=launcher)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RUN_STATE_FAILED", done.stdout)
        self.assertNotIn("not this", done.stdout)


if __name__ == "__main__":
    unittest.main()
