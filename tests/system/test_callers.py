"""System mode: captures in the foreground run as their callers, where their callers are. kprofd is an unprivileged user's,
and callers are made-up uids. Needs root."""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import unittest

import kprof_testing
from kprof_node import ALICE, BOB, Caller, SystemDaemon
from kprof_testing import unique_seconds, wait_until


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class CallersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        cls.folder = cls.enterClassContext(kprof_testing.temporary_folder())
        cls.daemon = SystemDaemon(cls.folder)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.alice = Caller(cls.daemon, ALICE, [61010])
        cls.bob = Caller(cls.daemon, BOB)

    def sleepers(self, seconds):
        """Those that run `sleep seconds`, not who was asked to."""
        wanted = f"sleep\0{seconds}\0".encode()
        return [pid for pid, (line, _) in kprof_testing.living_processes().items() if line == wanted]

    def newest(self):
        return self.alice.json("runs", "--limit", "1")["runs"][0]["id"]

    def log_of(self, caller, run):
        return caller.run("logs", run["id"]).text

    def test_a_command_is_its_callers(self):
        run = self.alice.capture("sh", "-c", "id -u; id -g; id -G; exit 3", expect="command_failed")
        self.assertEqual(run["uid"], ALICE)
        self.assertEqual(run["exit_code"], 3)
        self.assertEqual(self.log_of(self.alice, run), "61002\n61002\n61002 61010\n")

    def test_a_command_stays_where_its_caller_is(self):
        process = self.alice.start("--json", "capture", "command", "--", "sh", "-c",
                                   "cat /proc/self/cgroup; readlink /proc/self/ns/mnt; ulimit -n; ps -o ppid= -p $PPID",
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 400)))
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, 0, err)
        lines = self.log_of(self.alice, json.loads(out)).splitlines()
        self.assertEqual("\n".join(lines[:-3]) + "\n", kprof_testing.read_file("/proc/self/cgroup").decode())
        self.assertEqual(lines[-3], os.readlink("/proc/self/ns/mnt"))
        self.assertEqual(lines[-2], "300")

    def test_what_a_run_left_is_its_owners(self):
        run = self.alice.capture("echo", "mine")
        self.bob.run("show", run["id"], expect="not_found")
        self.bob.run("logs", run["id"], expect="not_found")
        folder = self.daemon.run_folder(run["id"])
        self.assertEqual({os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in os.listdir(folder)}, {0o600})
        for uid in (ALICE, BOB):
            read = subprocess.run(["cat", os.path.join(folder, "stdout.log")], user=uid, group=uid, extra_groups=[],
                                  capture_output=True, check=False)
            self.assertNotEqual(read.returncode, 0)

    def test_a_killed_client_leaves_nothing(self):
        seconds = unique_seconds()
        process = self.alice.start("capture", "command", "--", "sleep", seconds)
        wait_until(lambda: self.sleepers(seconds), "the command to run")
        process.kill()
        process.communicate()
        self.assertEqual(self.alice.wait_for_state(self.newest(), "cancelled")["error"]["code"], "client_gone")
        self.assertFalse(self.sleepers(seconds))

    def test_a_killed_supervisor_leaves_nothing(self):
        process = self.alice.start("--json", "capture", "command", "--", os.path.join(self.daemon.bin, "fork_escape"), "stay")
        wait_until(lambda: kprof_testing.children_of(process.pid), "the guard")
        guard = kprof_testing.children_of(process.pid)[0]
        run = wait_until(self.newest, "the run")
        said = wait_until(lambda: self.alice.run("logs", run, expect=None).text, "what escapes to say so")
        found = [int(said.split()[1])]
        supervisor = kprof_testing.children_of(guard)[0]
        self.assertGreater(supervisor, 1)
        os.kill(supervisor, signal.SIGKILL)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, kprof_testing.EXIT["lost_daemon"])
        for pid in found:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_a_hostile_supervisor_cannot_touch_its_runs_logs(self):
        folder = os.path.join(self.folder, "alices")
        os.mkdir(folder)
        os.chown(folder, ALICE, ALICE)
        table = os.path.join(folder, "table")
        program = shutil.copy(os.path.join(self.daemon.bin, "kprofctl"), folder)
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile_supervisor.py")
        os.chmod(shutil.copy(source, os.path.join(folder, "kprof-launch")), 0o755)
        process = subprocess.Popen([program, "--socket", self.daemon.socket, "--json", "capture", "command", "--", "true"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=ALICE, group=ALICE,
                                   extra_groups=[], cwd="/", env={"PATH": os.environ["PATH"], "HOSTILE_TABLE": table,
                                                                  **kprof_testing.SANITIZER_ENVIRONMENT})
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, 0, err)
        run = json.loads(out)
        log = os.path.join(self.daemon.run_folder(run["id"]), "stdout.log")
        size, sums = os.path.getsize(log), [artifact["sha256"] for artifact in self.alice.json("artifacts", run["id"])["artifacts"]]
        said = wait_until(lambda: [text for text in [kprof_testing.read_file(table).decode()] if "over" in text], "its end")[0]
        print(said)
        # Two sockets, and what it only holds: there it can read how much it printed itself.
        self.assertEqual([line for line in said.splitlines() if "DONE" in line], ["read 2\tDONE"])
        self.assertEqual(len([line for line in said.splitlines() if line.startswith("descriptor ")]), 3)
        # It printed what kprofd counted, and its other numbers are possible ones.
        dropped = run["stdout_dropped_bytes"]
        self.assertGreaterEqual(run["stdout_bytes"], 64 << 20)
        self.assertLess(run["stdout_bytes"], 100 << 20)
        self.assertEqual(dropped + size - len(f"\n[kprof: {dropped} bytes dropped here]\n"), run["stdout_bytes"])
        self.assertLess(size, (8 << 20) + 100)
        self.assertLess(run["metrics"]["wall_ns"], 1e9 * kprof_testing.LIMIT_S)
        self.assertEqual(run["state"], "done")  # that the disk was full is for kprofd to know
        # Of what it handed over as its command's files nothing is a file that may be kept.
        self.assertEqual(len([reason for reason in run["trust"] if reason["code"] == "output_left_out"]), 4)
        # And the log is the one that was summed.
        self.assertEqual(sums, [hashlib.sha256(kprof_testing.read_file(log)).hexdigest()])
        self.assertEqual(os.path.getsize(log), size)

    def test_cancel_ends_a_run_of_the_clients(self):
        seconds = unique_seconds()
        process = self.alice.start("capture", "command", "--", "sleep", seconds)
        wait_until(lambda: self.sleepers(seconds), "the command to run")
        run = self.newest()
        self.bob.run("cancel", run, expect="not_found")
        self.alice.run("cancel", run)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, kprof_testing.EXIT["cancelled"])
        self.assertFalse(self.sleepers(seconds))

    def test_a_detached_run_needs_the_helper(self):
        refused = self.alice.run("--json", "capture", "command", "--detach", "--", "true", limit_s=60, expect=None)
        self.assertEqual(refused.code, kprof_testing.EXIT["spawn_failed"])
        self.assertIn("foreground", refused.error["remedy"])

    def test_a_hostile_command_gets_nothing(self):
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("of root")
        os.chmod(secret, 0o600)
        program = os.path.join(self.daemon.bin, "hostile_command")
        run = self.alice.capture(program, "--read", secret, "--read", self.daemon.catalog(), "--write", self.daemon.catalog(),
                                 "--read", self.daemon.state, "--signal", str(self.daemon.pid), expect=None)
        table = self.log_of(self.alice, run)
        print(table)
        done = [line.split("\t")[0] for line in table.splitlines() if line.endswith("DONE")]
        # The keyring is its caller's own, here that of the tests.
        self.assertEqual([what for what in done if what != "find a key in the session's keyring"], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
