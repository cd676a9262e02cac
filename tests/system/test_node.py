"""The whole of system mode: runs that nobody waits for are started by the root helper as those who asked, whatever becomes
of kprofd, of the helper and of the clients meanwhile. Needs root."""

import os
import re
import signal
import unittest
import urllib.request

import kprof_testing
from kprof_node import ALICE, BOB, KPROFD_UID, Caller, Node
from kprof_testing import unique_seconds, wait_until


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NodeTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.node = Node(self.folder, 'http = "127.0.0.1:0"\n')
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.alice = Caller(self.node, ALICE, [61010])
        self.bob = Caller(self.node, BOB)

    @staticmethod
    def sleepers(seconds):
        wanted = f"sleep\0{seconds}\0".encode()
        return [pid for pid, (line, _) in kprof_testing.living_processes().items() if line == wanted]

    def log_of(self, caller, run_id):
        return caller.run("logs", run_id).text

    def test_a_detached_run_is_its_callers(self):
        run = self.alice.detach("sh", "-c", "id -u; id -g; id -G; grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status; pwd")
        ended = self.alice.wait(run)
        self.assertEqual(ended["state"], "done")
        said = self.log_of(self.alice, run).splitlines()
        self.assertEqual(said[:3], ["61002", "61002", "61002 61010"])
        self.assertEqual({line.split()[1] for line in said[3:7]}, {"0" * 16})
        self.assertIn("launched_in_daemon_cgroup", [reason["code"] for reason in ended["trust"]])
        self.bob.run("show", run, expect="not_found")

    def test_one_that_waits_is_started_when_its_caller_is_long_gone(self):
        seconds = unique_seconds()
        first = self.bob.detach("sleep", seconds)
        waits = self.alice.detach("id", "-u")
        wait_until(lambda: self.sleepers(seconds), "the first one to run")
        self.node.kill()
        self.node.kill_helper()
        wait_until(lambda: not self.sleepers(seconds), "its processes to be gone")
        self.node.start_helper()
        self.node.start()
        self.assertEqual(self.bob.wait(first, expect="lost_daemon")["error"]["code"], "lost_daemon")
        self.assertEqual(self.alice.wait(waits)["state"], "done")
        self.assertEqual(self.log_of(self.alice, waits), "61002\n")

    def hold_still(self, pid):
        """What supervises this process is as if it hung: it ends nobody, until it is let go."""
        supervisor = kprof_testing.status_number(pid, "PPid")
        keeper = kprof_testing.status_number(supervisor, "PPid")
        for process in (supervisor, keeper):
            os.kill(process, signal.SIGSTOP)
            self.addCleanup(kprof_testing.kill_if_there, process)
        return supervisor, keeper

    def test_a_device_is_not_given_on_before_the_helper_has_ended_what_a_killed_kprofd_left(self):
        seconds = unique_seconds()
        lost = self.alice.detach("sleep", seconds)
        sleeper = wait_until(lambda: self.sleepers(seconds), "it to run")[0]
        following = self.bob.detach("sh", "-c", f"test ! -d /proc/{sleeper}")
        self.hold_still(sleeper)
        self.node.kill()
        self.node.helper.send_signal(signal.SIGSTOP)
        self.node.start()
        held = self.alice.json("show", lost)
        self.assertEqual((held["state"], held["error"]["code"]), ("running", "lost_daemon"))
        self.assertEqual(self.bob.json("show", following)["state"], "queued")
        self.assertTrue(self.sleepers(seconds))
        self.node.helper.send_signal(signal.SIGCONT)
        self.assertEqual(self.bob.wait(following)["state"], "done")
        self.assertEqual(self.alice.wait(lost, expect="lost_daemon")["state"], "failed")
        self.assertFalse(self.sleepers(seconds))

    def test_nor_before_the_client_has_ended_what_a_killed_kprofd_left(self):
        seconds = unique_seconds()
        client = self.alice.start("--json", "capture", "command", "--", "sleep", seconds)
        sleeper = wait_until(lambda: self.sleepers(seconds), "it to run")[0]
        lost = self.alice.json("show", "@last")["id"]
        following = self.bob.detach("sh", "-c", f"test ! -d /proc/{sleeper}")
        supervisor, keeper = self.hold_still(sleeper)
        self.node.kill()
        self.node.start()
        self.assertEqual(self.alice.json("show", lost)["state"], "running")
        self.assertEqual(self.bob.json("show", following)["state"], "queued")
        self.assertTrue(self.sleepers(seconds))
        os.kill(supervisor, signal.SIGKILL)
        os.kill(keeper, signal.SIGCONT)
        self.assertEqual(self.bob.wait(following)["state"], "done")
        self.assertEqual(self.alice.wait(lost, expect="lost_daemon")["state"], "failed")
        client.communicate(timeout=kprof_testing.LIMIT_S)

    def test_a_run_outlives_the_helper(self):
        seconds = unique_seconds()
        run = self.alice.detach("sh", "-c", f"sleep {seconds}; exit 4")
        wait_until(lambda: self.sleepers(seconds), "it to run")
        self.node.kill_helper()
        self.assertEqual(self.alice.json("show", run)["state"], "running")
        for pid in self.sleepers(seconds):
            os.kill(pid, signal.SIGTERM)
        self.assertEqual(self.alice.wait(run, expect="command_failed")["exit_code"], 4)
        self.node.start_helper()
        self.assertEqual(self.alice.wait(self.alice.detach("true"))["state"], "done")

    def test_runs_wait_for_a_helper_that_is_away(self):
        seconds = unique_seconds()
        first = self.bob.detach("sleep", seconds)
        wait_until(lambda: self.sleepers(seconds), "the first one to run")
        waits = [self.alice.detach("id", "-u") for _ in range(2)]
        self.node.kill_helper()
        for pid in self.sleepers(seconds):
            os.kill(pid, signal.SIGTERM)
        self.bob.wait(first, expect="command_failed")
        wait_until(lambda: "run waits for who is to start it" in self.node.log(), "its turn, and more than a moment")
        self.assertEqual([self.alice.json("show", run)["state"] for run in waits], ["preparing", "queued"])
        self.node.start_helper()
        self.assertEqual([self.alice.wait(run)["state"] for run in waits], ["done", "done"])

    def test_a_run_that_waits_for_a_helper_can_be_cancelled(self):
        seconds = unique_seconds()
        first = self.bob.detach("sleep", seconds)
        wait_until(lambda: self.sleepers(seconds), "the first one to run")
        waits = self.alice.detach("id", "-u")
        self.node.kill_helper()
        for pid in self.sleepers(seconds):
            os.kill(pid, signal.SIGTERM)
        self.bob.wait(first, expect="command_failed")
        wait_until(lambda: self.alice.json("show", waits)["state"] == "preparing", "its turn")
        self.alice.run("cancel", waits)
        self.assertEqual(self.alice.wait(waits, expect="cancelled")["state"], "cancelled")

    def test_no_run_fails_or_runs_twice_because_the_helper_is_killed_again_and_again(self):
        runs = [self.alice.detach("id", "-u") for _ in range(20)]
        for _ in range(10):
            self.node.kill_helper()
            self.node.start_helper()
        ended = [self.alice.wait(run, expect=None) for run in runs]
        for run in ended:
            if run["state"] != "done":  # it was killed in the middle of it
                self.assertIn("kprofd-helper was restarted while it started it", run["error"]["message"])

    def test_without_a_helper_a_detached_run_is_refused(self):
        self.node.kill_helper()
        refused = self.alice.run("--json", "capture", "command", "--detach", "--", "true", limit_s=60, expect=None)
        self.assertEqual(refused.code, kprof_testing.EXIT["spawn_failed"])
        self.assertEqual(self.alice.capture("id", "-u")["state"], "done")

    def helper_diagnosis(self):
        found = [each for each in self.alice.json("doctor")["diagnoses"] if each["check"] == "helper"]
        self.assertEqual(len(found), 1)
        return found[0]

    def metrics(self):
        port = re.findall(r"serves HTTP address=127\.0\.0\.1:(\d+)", self.node.log())[-1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=kprof_testing.LIMIT_S) as page:
            return page.read().decode()

    def test_a_helper_that_is_missing_is_noticed_before_somebody_needs_it(self):
        seconds = unique_seconds()
        run = self.alice.detach("sleep", seconds)
        wait_until(lambda: self.helper_diagnosis()["level"] == "ok", "the helper's first answer")
        self.assertIn("\nkprof_helper_up 1\n", self.metrics())
        self.assertRegex(self.metrics(), r"(?m)^kprof_helper_grants \d+$")
        self.alice.run("cancel", run)
        self.node.kill_helper()
        self.assertEqual(self.helper_diagnosis()["level"], "problem", "whoever asks hears how it is now")
        self.assertIn("\nkprof_helper_up 0\n", self.metrics())
        self.node.stop()
        self.node.start()
        missing = wait_until(lambda: (found := self.helper_diagnosis())["level"] == "problem" and found, "a diagnosis")
        self.assertIn("--detach", missing["message"])
        self.assertIn("systemctl start kprofd-helper.socket", missing["remedy"])
        self.assertIn("\nkprof_helper_up 0\n", self.metrics())

    def test_cancelling_ends_it_and_only_for_who_may(self):
        seconds = unique_seconds()
        run = self.alice.detach("sleep", seconds)
        wait_until(lambda: self.sleepers(seconds), "it to run")
        self.bob.run("cancel", run, expect="not_found")
        self.assertTrue(self.sleepers(seconds))
        self.alice.run("cancel", run)
        self.assertEqual(self.alice.wait(run, expect="cancelled")["state"], "cancelled")
        self.assertFalse(self.sleepers(seconds))

    def test_root_is_nobodys_caller_for_the_helper(self):
        root = Caller(self.node, 0)
        refused = root.run("--json", "capture", "command", "--detach", "--", "id", expect=None)
        self.assertEqual(refused.code, kprof_testing.EXIT["not_permitted"], refused.err)

    def test_nothing_runs_as_kprofd(self):
        own = Caller(self.node, KPROFD_UID)
        refused = own.run("--json", "capture", "command", "--", "id", expect=None)
        self.assertEqual(refused.code, kprof_testing.EXIT["not_permitted"], refused.err)

    def test_who_connects_while_kprofd_is_away_is_served_when_it_is_back(self):
        self.node.stop()
        client = self.alice.start("--json", "status")
        self.node.start()
        out, err = client.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(client.returncode, 0, err)
        self.assertIn(b'"uid":61002', out)

    def test_a_hostile_command_gets_nothing(self):
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("of root")
        os.chmod(secret, 0o600)
        run = self.alice.detach(os.path.join(self.node.bin, "hostile_command"), "--read", secret, "--read", self.node.catalog(),
                                "--read", self.node.state, "--read", os.path.join(self.folder, "grants"), "--write",
                                self.node.catalog(), "--signal", str(self.node.pid), "--signal", str(self.node.helper.pid))
        self.alice.run("wait", run, expect=None)
        table = self.log_of(self.alice, run)
        print(table)
        self.assertGreater(len(table.splitlines()), 5)
        self.assertEqual([line for line in table.splitlines() if line.endswith("DONE")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
