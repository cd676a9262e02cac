"""Odd, large and hostile requests: a clear error each, the daemon lives, nothing is left behind."""

import os
import signal
import threading
import time
import unittest

import kprof_testing
from kprof_testing import DaemonTest, wait_until


NOBODY = 65534


class ArgumentsTest(DaemonTest):
    def test_a_command_line_of_64_kib_runs(self):
        words = [f"{i:07}" for i in range(8192)]
        run = self.ctl.capture("echo", *words)
        self.assertEqual(self.log_of(run["id"]).split(), [word.encode() for word in words])
        self.assertEqual(run["command"], ["echo", *words])
        one = "x" * 65536
        run = self.ctl.capture("echo", one)
        self.assertEqual(self.log_of(run["id"]), one.encode() + b"\n")
        self.assertIn("echo", self.ctl.run("runs", "--limit", "2").text)

    def test_a_command_line_over_the_limit_is_refused(self):
        # The kernel takes no more than this in one argument, kprofd no more than 16,384 arguments.
        ran = self.ctl.run("--json", "capture", "command", "--", "echo", *["x"] * 16384, expect="usage")
        self.assertIn("16384", ran.error["message"])
        # One large list of runs is no trouble for later lists.
        self.ctl.run("runs", "--limit", "100")

    def test_bytes_that_are_not_utf8_arrive_and_are_shown(self):
        run = self.ctl.json("capture", "command", "--", b"printf", b"%s", b"\xff\xfe\x80", env=self.ctl.environment)
        self.assertEqual(self.log_of(run["id"]), b"\xff\xfe\x80")
        self.assertEqual(run["command"], ["printf", "%s", r"\xff\xfe\x80"])
        self.assertIn(r"\xff", self.ctl.run("show", run["id"]).text)
        self.assertIn(r"\xff", self.ctl.run("query", f"SELECT command FROM run WHERE id = '{run['id']}'").text)

    def test_control_characters_do_not_reach_the_terminal(self):
        # What it prints is its own business; what we print of it is ours.
        run = self.ctl.capture("sh", "-c", "printf '\\033]0;owned\\007' >&2; exit 1", "\x1b[31mred\x07", expect="command_failed")
        for verb in (("show", run["id"]), ("runs",), ("wait", run["id"])):
            ran = self.ctl.run(*verb, expect=None)
            self.assertNotIn(b"\x1b", ran.out + ran.err, verb)
            self.assertNotIn(b"\x07", ran.out + ran.err, verb)
        ran = self.ctl.run("capture", "command", "--quiet", "--", "sh", "-c", "printf '\\033[2J' >&2; exit 1",
                           expect="command_failed")
        self.assertNotIn(b"\x1b", ran.err)

    def test_nor_the_log_where_a_typing_mistake_is_nobodys_warning(self):
        odd = "/no/such/\u009b2J\u202egnp.token=s3cret\n<3>error forged"
        run = self.ctl.json("capture", "command", "--", odd, expect="spawn_failed")
        wait_until(lambda: f"run ended run={run['id']}" in self.daemon.log(), "the end in the log")
        lines = [line for line in self.daemon.log().splitlines() if run["id"] in line]
        self.assertTrue(any(line.endswith(f"info run in trouble run={run['id']} error=spawn_failed") for line in lines), lines)
        self.assertFalse([line for line in lines if " warning " in line], lines)
        for part in ("\u009b", "\u202e", "s3cret", "forged"):
            self.assertNotIn(part, self.daemon.log())

    def test_a_folder_whose_name_is_not_utf8_is_fine(self):
        folder = os.fsencode(self.folder) + b"/\xff\xfe"
        os.mkdir(folder)
        run = self.ctl.capture("pwd", cwd=folder)
        self.assertEqual(self.log_of(run["id"]), folder + b"\n")
        self.assertIn(r"\xff\xfe", run["cwd"])
        run = self.ctl.json("capture", "command", b"--cwd", folder, "--", "pwd")
        self.assertEqual(self.log_of(run["id"]), folder + b"\n")

    def test_labels_must_be_text(self):
        ran = self.ctl.run("--json", "capture", "command", b"--label", b"k=\xff", "--", "true", expect="usage")
        self.assertIn("UTF-8", ran.error["message"])
        run = self.ctl.capture("true", options=("--label", "k=naïve ✓ \x1b[31m"))
        self.assertEqual(run["labels"], {"k": "naïve ✓ \x1b[31m"})
        self.assertNotIn(b"\x1b", self.ctl.run("show", run["id"]).out)
        found = self.ctl.json("runs", "--label", "k=naïve ✓ \x1b[31m")["runs"]
        self.assertEqual([one["id"] for one in found], [run["id"]])

    def test_empty_arguments_are_arguments(self):
        run = self.ctl.capture("/usr/bin/python3", "-c", "import sys; print(sys.argv[1:])", "", "--", "")
        self.assertEqual(self.log_of(run["id"]), b"['', '--', '']\n")
        ran = self.ctl.run("--json", "capture", "command", "--", "", expect=None)
        self.assertIn(ran.code, (2, 7))
        self.assertTrue(ran.error["message"])


class LaunchTest(DaemonTest):
    def failed(self, *command, code, **rest):
        ran = self.ctl.run("--json", "capture", "command", *rest.pop("options", ()), "--", *command, expect=code, **rest)
        run = ran.json
        self.assertEqual((run["state"], run["error"]["code"]), ("failed", code))
        self.assertEqual((run["exit_code"], run["signal"], run["artifacts"]), (None, None, []))
        self.assertTrue(run["error"]["remedy"], run)
        self.assertFalse(os.path.exists(self.daemon.run_folder(run["id"])))
        wait_until(lambda: run["id"] not in os.listdir(os.path.join(self.daemon.state, "spool")), "the spool file to go")
        return run["error"]["message"]

    def test_a_missing_program_is_named(self):
        self.assertIn("nosuchprogram", self.failed("nosuchprogram", code="spawn_failed"))
        self.assertIn("/no/such/program", self.failed("/no/such/program", code="spawn_failed"))
        self.assertIn("./relative", self.failed("./relative", code="spawn_failed"))

    def test_a_file_that_cannot_be_executed_is_told(self):
        self.assertIn("plain", self.failed(self.write("plain", b"just text"), code="spawn_failed"))
        script = self.write("script", b"#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        self.assertIn("script", self.failed(script, code="spawn_failed"))
        self.assertIn(self.folder, self.failed(self.folder, code="spawn_failed"))

    def test_a_folder_that_is_not_there_is_named(self):
        self.assertIn("/no/such/folder", self.failed("true", code="spawn_failed", options=("--cwd", "/no/such/folder")))

    def test_a_folder_that_may_not_be_entered_is_named(self):
        if os.getuid() != 0:
            os.mkdir(self.path("locked"), 0o000)
            self.assertIn("locked", self.failed("true", code="spawn_failed", options=("--cwd", self.path("locked"))))
            return
        # Root may enter any folder: so a daemon and a client of somebody else's, where they may go.
        nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with kprof_testing.temporary_folder(within="/tmp") as folder:
            locked = os.path.join(folder, "locked")
            os.mkdir(locked, 0o000)
            os.chown(folder, NOBODY, NOBODY)
            daemon = kprof_testing.Daemon(folder, identity=nobody)
            try:
                daemon.start()
            except PermissionError as error:
                self.skipTest(f"uid {NOBODY} may not execute the programs: {error}")
            try:
                ran = daemon.ctl.run("--json", "capture", "command", "--cwd", locked, "--", "true", expect="spawn_failed",
                                     cwd="/", **nobody)
                self.assertIn(locked, ran.json["error"]["message"])
                self.assertTrue(ran.json["error"]["remedy"])
            finally:
                daemon.stop()

    def test_a_folder_that_went_away_under_the_caller_is_told(self):
        os.mkdir(self.path("gone"))

        def vanish():
            os.chdir(self.path("gone"))
            os.rmdir(self.path("gone"))
        ran = self.ctl.run("--json", "capture", "command", "--", "true", preexec_fn=vanish, expect=None)
        self.assertIn(ran.error["code"], ("usage", "spawn_failed"))
        self.assertTrue(ran.error["remedy"])

    def test_a_folder_that_is_a_file_is_named(self):
        self.assertIn("file", self.failed("true", code="spawn_failed", options=("--cwd", self.write("file", b""))))

    def test_the_program_is_looked_for_in_the_callers_path(self):
        os.mkdir(self.path("bin"))
        tool = self.write("bin/mytool", b"#!/bin/sh\necho mine\n")
        os.chmod(tool, 0o755)
        run = self.ctl.capture("mytool", env=dict(self.ctl.environment, PATH=self.path("bin") + ":/usr/bin:/bin"))
        self.assertEqual(self.log_of(run["id"]), b"mine\n")


ESCAPES = {
    "in the background": "sleep {token} &",
    "in a session of its own": "setsid sleep {token} &",
    "forked twice": "sh -c 'sh -c \"setsid sleep {token} &\" &' &",
    "without its environment": "env -i setsid sleep {token} &",
    "ignoring TERM": "sh -c 'trap \"\" TERM HUP INT; setsid sleep {token} & sleep {token}' &",
    "stopped": "sh -c 'kill -STOP $$; sleep {token}' &",
}


class EscapeTest(DaemonTest):
    def test_what_outlives_its_command_is_ended(self):
        for name, line in ESCAPES.items():
            with self.subTest(name):
                token = kprof_testing.unique_seconds()
                run = self.ctl.capture("sh", "-c", line.format(token=token) + " sleep 0.05")
                self.assertEqual((run["state"], run["exit_code"]), ("done", 0))
                self.assertIn("processes_left", [reason["code"] for reason in run["trust"]])
                self.assert_nothing_runs(token, run=run["id"])

    def test_cancel_reaches_what_has_escaped(self):
        for name, line in ESCAPES.items():
            with self.subTest(name):
                token = kprof_testing.unique_seconds()
                run = self.ctl.detach("sh", "-c", line.format(token=token) + f" echo ready; sleep {token}")
                self.addCleanup(self.ctl.run, "cancel", run, expect=None)
                wait_until(lambda run=run: self.log_of(run) == b"ready\n", "the command to begin")
                self.ctl.run("cancel", run)
                self.ctl.wait(run, expect="cancelled")
                self.assert_nothing_runs(token, run=run)

    def test_a_command_that_ignores_term_is_killed_after_the_grace(self):
        token = kprof_testing.unique_seconds()
        run = self.ctl.capture("sh", "-c", f"trap '' TERM INT HUP; while :; do sleep {token}; done",
                               options=("--timeout", "100ms"), expect="timed_out", limit_s=60 * kprof_testing.SLOW)
        self.assertEqual(run["signal"], signal.SIGKILL)
        self.assert_nothing_runs(token, run=run["id"])

    def test_a_command_that_forks_all_the_time_ends(self):
        # Each child forks the next and ends: whoever looks finds somebody else. One stays, so that the run goes on.
        token = kprof_testing.unique_seconds()
        code = ("import os, time\nprint('begun', flush=True)\nif os.fork(): time.sleep(1000)\n"
                "while True:\n  if os.fork(): os._exit(0)\n  os.setsid()\n  time.sleep(0.001)\n")
        run = self.ctl.detach("/usr/bin/python3", "-S", "-E", "-c", code, token)
        wait_until(lambda: self.log_of(run) == b"begun\n", "the command to begin")
        self.ctl.run("cancel", run)
        self.ctl.wait(run, expect="cancelled", limit_s=60 * kprof_testing.SLOW)
        self.assert_nothing_runs(token, run=run)

    def test_output_held_open_by_what_escaped_does_not_hold_the_run(self):
        token = kprof_testing.unique_seconds()
        began = time.monotonic()
        run = self.ctl.capture("sh", "-c", f"setsid sleep {token} & echo out")
        self.assertLess(time.monotonic() - began, kprof_testing.LIMIT_S)
        self.assertEqual(self.log_of(run["id"]), b"out\n")
        self.assert_nothing_runs(token)

    def test_a_run_that_kills_its_supervisor_is_lost_and_leaves_nothing(self):
        token = kprof_testing.unique_seconds()
        line = f"setsid env -i sleep {token} & sleep 0.1; kill -9 $PPID; sleep {token}"
        run = self.ctl.capture("sh", "-c", line, expect="lost_daemon")
        self.assertEqual(run["error"]["code"], "lost_daemon")
        self.assert_nothing_runs(token, run=run["id"])
        self.assertEqual(self.ctl.capture("true")["state"], "done")

    def test_a_run_that_stops_its_supervisor_ends_at_its_timeout_and_leaves_nothing(self):
        # The grace of the timeout, and what a supervisor has beyond it to answer: 26 s.
        token = kprof_testing.unique_seconds()
        run = self.ctl.capture("sh", "-c", f"setsid env -i sleep {token} & kill -STOP $PPID; sleep {token}",
                               options=("--timeout", "1s"), expect="timed_out", limit_s=60 * kprof_testing.SLOW)
        self.assertIn("kprof-launch did not answer", run["error"]["message"])
        self.assert_nothing_runs(token, run=run["id"])
        self.assertEqual(self.ctl.capture("true")["state"], "done")


class FloodTest(DaemonTest):
    BYTES = kprof_testing.of_all(2, 10, "GB of output") * 10**9 // (20 if kprof_testing.SANITIZER else 1)

    def state_bytes(self):
        total = 0
        for name in self.daemon.files():
            try:
                total += os.lstat(os.path.join(self.daemon.state, name)).st_size
            except OSError:
                pass
        return total

    def test_a_flood_of_output_costs_neither_memory_nor_disk_nor_anybodys_time(self):
        before_kib = kprof_testing.status_number(self.daemon.pid, "VmRSS")
        run = self.ctl.detach("head", "-c", str(self.BYTES), "/dev/zero")
        most = {"daemon": 0, "supervisor": 0, "disk": 0}
        slowest_s, over = 0.0, threading.Event()

        def follow():
            # A slow reader beside it.
            process = self.ctl.start("logs", run, "-f")
            while process.stdout.read(1 << 16) and not over.wait(0.01):
                pass
            process.kill()
            process.communicate()
        reader = threading.Thread(target=follow)
        reader.start()
        try:
            while True:
                began = time.monotonic()
                state = self.ctl.show(run)["state"]
                slowest_s = max(slowest_s, time.monotonic() - began)
                most["daemon"] = max(most["daemon"], kprof_testing.status_number(self.daemon.pid, "VmRSS"))
                for child in kprof_testing.children_of(self.daemon.pid):
                    most["supervisor"] = max(most["supervisor"], kprof_testing.status_number(child, "VmRSS"))
                most["disk"] = max(most["disk"], self.state_bytes())
                if state not in ("queued", "preparing", "running", "collecting"):
                    break
                time.sleep(0.05)
        finally:
            over.set()
            reader.join()
        ended = self.ctl.wait(run, expect=0)
        self.assertEqual(ended["stdout_bytes"], self.BYTES)
        self.assertEqual(ended["stdout_dropped_bytes"], self.BYTES - (8 << 20))
        self.assertIn("output_dropped", [reason["code"] for reason in ended["trust"]])
        seconds = ended["metrics"]["wall_ns"] / 1e9
        print(f"{self.BYTES / 1e9:.1f} GB in {seconds:.1f} s; daemon {before_kib} -> {most['daemon']} KiB, supervisor "
              f"{most['supervisor']} KiB, state folder {most['disk']} bytes; slowest `show` {slowest_s * 1e3:.0f} ms")
        allowed_kib = (64 << 10) * (8 if kprof_testing.SANITIZER else 1)
        self.assertLess(most["daemon"], before_kib + allowed_kib)
        self.assertLess(most["supervisor"], allowed_kib)
        self.assertLess(most["disk"], 40 << 20)
        self.assertLess(slowest_s, kprof_testing.LIMIT_S / 3, "a bound against hanging, not a measurement")


if __name__ == "__main__":
    unittest.main()
