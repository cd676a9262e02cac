"""The steps of a run beside its command: what prepares it before its devices are leased, and what checks it afterwards."""

import json
import os
import signal
import unittest

import kprof_testing
from kprof_node import ALICE, AsAlice, OnANode
from kprof_testing import DaemonTest, OwnDaemonTest, unique_seconds, wait_until


class StepsTest(DaemonTest):
    """In user mode."""

    def capture(self, *command, prepare="", check="", **rest):
        steps = [*(["--prepare", prepare] if prepare else []), *(["--check", check] if check else [])]
        return self.ctl.capture(*command, options=steps, cwd=self.folder, **rest)

    def test_all_three_run_in_order_and_in_one_place(self):
        run = self.capture("sh", "-c", "cat built; echo measured > result", prepare='echo "built in $PWD" > built; echo prepared',
                           check="cat result; echo checked >&2")
        self.assertEqual(run["state"], "done")
        self.assertEqual(self.log_of(run["id"]), f"prepared\nbuilt in {self.folder}\nmeasured\n".encode())
        self.assertEqual(self.log_of(run["id"], "--stderr"), b"checked\n")

    def test_it_is_prepared_while_others_have_the_device(self):
        other = self.ctl.detach("sh", "-c", self.gate(), cwd=self.folder)
        self.ctl.wait_for_state(other, "running")
        run = self.ctl.detach("cat", "built", options=["--prepare", "echo yes > built"], cwd=self.folder)
        wait_until(lambda: os.path.exists(self.path("built")), "the step to run")
        self.assertEqual(self.ctl.show(run)["state"], "queued")
        self.assertIsNone(self.ctl.show(run)["started_ns"])
        self.open_gate()
        ended = self.ctl.wait(run)
        self.assertEqual(ended["state"], "done")
        self.assertEqual(self.log_of(run), b"yes\n")
        self.assertGreaterEqual(ended["started_ns"], self.ctl.show(other)["ended_ns"])

    def test_a_step_that_fails_ends_it_before_it_has_a_device(self):
        run = self.capture("touch", "ran", prepare="echo no >&2; exit 4", expect="command_failed")
        self.assertIn("4", run["error"]["message"])
        self.assertIn("--prepare", run["error"]["message"] + run["error"]["remedy"])
        self.assertIsNone(run["started_ns"])
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(self.log_of(run["id"], "--stderr"), b"no\n")

    def test_a_check_that_fails_fails_the_run(self):
        run = self.capture("true", check="echo wrong; exit 1", expect="check_failed")
        self.assertEqual((run["state"], run["exit_code"]), ("failed", 0))
        self.assertEqual(self.log_of(run["id"]), b"wrong\n")
        self.capture("true", check="kill -SEGV $$", expect="check_failed")

    def test_what_failed_is_not_checked(self):
        self.capture("false", check="touch checked", expect="command_failed")
        self.assertFalse(os.path.exists(self.path("checked")))

    def test_a_check_sees_what_the_command_left_and_may_leave_more(self):
        run = self.capture("sh", "-c", 'echo 1 > "$KPROF_OUTPUT_DIR/a.txt"',
                           check='test -e "$KPROF_OUTPUT_DIR/a.txt" && echo 2 > "$KPROF_OUTPUT_DIR/b.txt"')
        self.assertEqual([artifact["name"] for artifact in run["artifacts"]], ["a.txt", "b.txt"])

    def test_a_step_that_is_cancelled_may_clean_up(self):
        for step in ("prepare", "check"):
            script = f"trap 'touch cleaned-{step}; exit 1' TERM; touch begun-{step}; while :; do sleep 0.02; done"
            run = self.ctl.detach("true", options=[f"--{step}", script], cwd=self.folder)
            wait_until(lambda: os.path.exists(self.path(f"begun-{step}")), "the step to run")
            self.ctl.run("cancel", run)
            self.assertEqual(self.ctl.wait(run)["state"], "cancelled")
            self.assertTrue(os.path.exists(self.path(f"cleaned-{step}")))

    def test_one_that_is_cancelled_over_what_its_step_left_is_cancelled(self):
        seconds = unique_seconds()
        # It is deaf to TERM before the step leaves it.
        step = f"(trap '' TERM; touch deaf; sleep {seconds}; true) & while [ ! -e deaf ]; do sleep 0.01; done"
        run = self.ctl.detach("true", options=["--prepare", step], cwd=self.folder)
        wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), "the step to leave it")
        self.ctl.run("cancel", run, expect=None)
        ended = self.ctl.wait(run, expect=None)
        self.assertEqual((ended["state"], ended["started_ns"]), ("cancelled", None))
        self.assert_nothing_runs(f"sleep\0{seconds}", run=run)

    def test_the_timeout_is_the_commands(self):
        run = self.ctl.capture("sh", "-c", 'echo 1 > "$KPROF_OUTPUT_DIR/a.txt"', cwd=self.folder,
                               options=["--timeout", "1s", "--prepare", "sleep 1.2", "--check", "sleep 1.2"])
        self.assertEqual(run["state"], "done")
        self.assertEqual([artifact["name"] for artifact in run["artifacts"]], ["a.txt"])

    def test_each_step_can_be_cancelled_and_killed(self):
        for step in ("prepare", "command", "check"):
            for end in ("cancel", "kill"):
                with self.subTest(step=step, end=end):
                    seconds = unique_seconds()
                    scripts = {"prepare": "true", "command": "true", "check": "true", step: f"sleep {seconds}"}
                    run = self.ctl.detach("sh", "-c", scripts["command"], cwd=self.folder,
                                          options=["--prepare", scripts["prepare"], "--check", scripts["check"]])
                    wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), f"the {step} to run")
                    if end == "cancel":
                        self.ctl.run("cancel", run)
                    else:
                        for pid in kprof_testing.supervisors_of(run):
                            kprof_testing.kill_if_there(pid)
                    ended = self.ctl.wait(run)
                    self.assertEqual(ended["state"], "cancelled" if end == "cancel" else "failed", ended)
                    self.assert_nothing_runs(f"sleep\0{seconds}", run=run)
        self.capture("true")  # the device is free


class StepsAndTheDaemonTest(OwnDaemonTest):
    """The daemon is killed while a step runs."""

    def test_who_was_prepared_when_it_was_killed_is_prepared_anew(self):
        self.daemon.start()
        seconds, log = unique_seconds(), os.path.join(self.folder, "log")
        gate = os.path.join(self.folder, "gate")
        step = f"echo prepare >> {log}; [ -e {gate} ] || sleep {seconds}"
        run = self.daemon.ctl.detach("sh", "-c", f"echo command >> {log}", options=["--prepare", step])
        wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), "the step to run")
        self.daemon.kill()
        kprof_testing.wait_until_gone(f"sleep\0{seconds}")
        with open(gate, "wb"):
            pass
        self.daemon.start()
        self.assertEqual(self.daemon.ctl.wait(run)["state"], "done")
        self.assertEqual(kprof_testing.read_file(log), b"prepare\nprepare\ncommand\n")

    def test_who_was_checked_when_it_was_killed_is_lost(self):
        self.daemon.start()
        seconds = unique_seconds()
        run = self.daemon.ctl.detach("true", options=["--check", f"sleep {seconds}"])
        wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), "the check to run")
        self.daemon.kill()
        kprof_testing.wait_until_gone(f"sleep\0{seconds}")
        self.daemon.start()
        ended = self.daemon.ctl.wait(run, expect=None)
        self.assertEqual((ended["state"], ended["error"]["code"]), ("failed", "lost_daemon"))


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class StepsOfCallersTest(AsAlice, unittest.TestCase):
    """In system mode a step is its caller's, as the command is."""

    OPTIONS = ["--cwd", "/", "--prepare", "echo prepared by $(id -u)", "--check", "echo checked by $(id -u)",
               "--", "sh", "-c", "echo ran by $(id -u)"]

    def check(self, run):
        self.assertEqual(run["state"], "done", run)
        self.assertEqual(self.alice.run("logs", run["id"]).text, "".join(f"{what} by {ALICE}\n" for what in ("prepared", "ran", "checked")))

    def test_in_the_foreground(self):
        self.check(self.alice.json("capture", "command", *self.OPTIONS))

    def test_who_leaves_while_it_is_prepared_ends_it(self):
        seconds = unique_seconds()
        process = self.alice.start("--json", "capture", "command", "--cwd", "/", "--prepare", f"sleep {seconds}", "--", "true")
        wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), "the step to run")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, 8)
        kprof_testing.wait_until_gone(f"sleep\0{seconds}")


    def test_a_daemon_that_is_restarted_has_it_prepared_anew(self):
        seconds, gate = unique_seconds(), os.path.join(self.folder, f"gate-{self.id()}")
        step = f"echo step; [ -e {gate} ] || exec sleep {seconds}"
        process = self.alice.start("--json", "capture", "command", "--cwd", "/", "--prepare", step, "--", "echo", "ran")
        wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), "the step to run")
        with open(gate, "wb"):
            pass
        self.daemon.kill()
        self.daemon.start()
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, 0, err)
        run = json.loads(out)
        self.assertEqual(run["state"], "done")
        self.assertEqual(self.alice.run("logs", run["id"]).text, "step\nran\n")


class StepsOnANodeTest(OnANode, StepsOfCallersTest):
    """The same with the helper, which starts what is detached."""

    def test_detached(self):
        run = self.alice.json("capture", "command", "--detach", *self.OPTIONS)["id"]
        self.check(self.alice.wait(run))


if __name__ == "__main__":
    unittest.main(verbosity=2)
