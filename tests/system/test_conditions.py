"""Under which conditions a run measured: clocks locked for it and given back, its devices watched, cooled and told of."""

import os
import signal
import subprocess
import time
import unittest

import kprof_testing
from dcgm_stand_in import HostEngine
from kprof_testing import distrust, kill_if_there, wait_until
from test_devices import DevicesTest

LOCK_1500 = {"min_mhz": 1500, "max_mhz": 1500}


class ConditionsTest(DevicesTest):
    def setUp(self):
        super().setUp()
        self.before = self.settings()
        self.daemon.start()

    def capture(self, *options, seconds=1.5, **rest):
        return self.ctl.capture("sleep", str(seconds), options=("--device", "0", *options), **rest)

    def detach(self, *options, seconds=600):
        """Until its command runs."""
        run = self.ctl.detach("sleep", str(seconds), options=("--device", "0", *options))
        self.ctl.wait_for_state(run, "running")
        return run

    def codes(self, run):
        return [reason["code"] for reason in distrust(run)]

    def sentence(self, run, code):
        """The one reason of this code."""
        found = [reason["message"] for reason in run["trust"] if reason["code"] == code]
        self.assertEqual(len(found), 1, run["trust"])
        return found[0]

    def wait_until_as_before(self):
        wait_until(lambda: self.settings() == self.before, "the device to be as it was")
        wait_until(lambda: not any(name.endswith(".held") for name in self.daemon.files()), "nothing to be noted")

    def rows(self, run, sql):
        return self.ctl.json("query", "--run", run["id"], sql)["rows"]


class ClocksOfARunTest(ConditionsTest):
    def test_they_are_locked_while_its_command_runs_and_no_longer(self):
        run = self.detach("--clocks", "lock")
        self.assertEqual(self.settings()["lock"], LOCK_1500)
        self.assertEqual(self.devices()["0"]["clocks"]["locked_sm_mhz"], 1500)
        status = self.ctl.run("clocks", "status").text
        self.assertIn(f"1500 MHz  run {run}", status)
        self.ctl.run("cancel", run)
        self.ctl.wait(run, expect="cancelled")
        self.assertEqual(self.settings(), self.before, "its end is told when they are given back")

    def test_none_is_what_a_command_has_by_itself(self):
        run = self.ctl.show(self.detach())
        self.assertEqual((run["clocks"], run["cool_down_ms"], run["exclusive"]), ("none", None, False))
        self.assertEqual(self.settings(), self.before)
        self.ctl.run("cancel", run["id"])

    def test_lock_or_nothing_is_refused_before_the_command_starts(self):
        self.model.set("node", "permission", "none")
        run = self.ctl.run("--json", "capture", "command", "--device", "0", "--clocks", "lock!", "--", "touch",
                           os.path.join(self.folder, "ran"), expect="not_permitted").json
        self.assertEqual((run["state"], run["error"]["code"]), ("failed", "not_permitted"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ran")))
        self.assertEqual(self.settings(), self.before)
        self.assertIsNone(self.devices()["0"]["run"])

    def test_without_permission_it_goes_on_and_says_so(self):
        self.model.set("node", "permission", "none")
        run = self.capture("--clocks", "lock", seconds=0)
        self.assertEqual(run["state"], "done")
        self.assertIn("no permission", self.sentence(run, "clocks_not_locked"))

    def test_a_policy_that_is_none_is_usage(self):
        for policy in ("fast", "lock=", "lock=0", "none!", "lock=1500,mem"):
            refused = self.ctl.run("--json", "capture", "command", "--clocks", policy, "--", "true", expect="usage")
            self.assertIn(policy.split(",")[0].rstrip("!"), refused.error["message"])
        self.assertEqual(self.ctl.json("runs")["runs"], [])

    def test_a_round_has_the_clocks_of_its_session(self):
        session = self.ctl.json("session", "open", "--device", "0", "--clocks", "lock")
        refused = self.ctl.run("--json", "capture", "command", "--session", session["id"], "--clocks", "base", "--", "true",
                               expect="usage")
        self.assertIn("lock", refused.error["message"])
        run = self.ctl.capture("true", options=("--session", session["id"]))
        self.assertEqual(run["clocks"], "lock")
        self.assertEqual(self.settings()["lock"], LOCK_1500, "a round gives nothing back")

    def test_a_client_that_is_killed_leaves_no_lock(self):
        client = self.ctl.start("capture", "command", "--device", "0", "--clocks", "lock", "--", "sleep", "600")
        wait_until(self.is_locked, "the clocks to be locked")
        client.kill()
        client.communicate(timeout=kprof_testing.LIMIT_S)
        self.wait_until_as_before()
        self.assertEqual(self.ctl.wait("@last", expect=None)["error"]["code"], "client_gone")

    def test_a_killed_kprofd_leaves_no_lock_and_no_half_a_part(self):
        run = self.detach("--clocks", "lock,mem=3201,power=600")
        self.daemon.kill()
        self.wait_until_as_before()
        self.daemon.start()
        self.assertEqual(self.ctl.wait(run)["error"]["code"], "lost_daemon")
        self.wait_until_as_before()
        wait_until(lambda: not any("samples" in name for name in self.daemon.files()), "no part to be left")

    def test_a_killed_supervisor_leaves_no_lock(self):
        run = self.detach("--clocks", "lock")
        for pid in kprof_testing.processes_with("kprof-launch"):
            if pid in kprof_testing.children_of(self.daemon.pid):
                kill_if_there(pid)
        self.ctl.wait(run)
        self.wait_until_as_before()

    def test_a_stop_while_it_runs_gives_them_back(self):
        self.detach("--clocks", "lock")
        self.assertEqual(self.daemon.stop(), 0)
        self.wait_until_as_before()

    def test_a_killed_keeper_is_told_of(self):
        run = self.detach("--clocks", "lock", seconds=3)
        for pid in self.keepers():
            kill_if_there(pid)
        wait_until(lambda: self.keepers() and self.is_locked(), "another to lock again")
        self.assertIn("clocks_not_held", self.codes(self.ctl.wait(run, expect="done")))


class WatchedRunTest(ConditionsTest):
    def test_a_quiet_run_has_its_samples_and_nothing_against_it(self):
        run = self.capture("--clocks", "lock", seconds=2)
        self.assertEqual((run["state"], distrust(run)), ("done", []))
        self.assertGreater(run["metrics"]["device_0_samples"], 5)  # ten a second, on a machine that is not busy
        self.assertEqual(run["metrics"]["device_0_sm_clock_locked_mhz"], 1500)
        names = [name for (name,) in self.rows(run, "SELECT name FROM track WHERE process = 'device 0 (NVIDIA H200)' ORDER BY name")]
        self.assertEqual(names, ["clock_reasons", "gpu_busy_percent", "memory_busy_percent", "memory_clock_mhz",
                                 "memory_used_bytes", "power_w", "sample_took_ns", "sm_clock_mhz", "temperature_c"])
        ((count, first, last),) = self.rows(run, 
                                           "SELECT count(*), r.base_unix_ns + min(c.ts_ns), r.base_unix_ns + max(c.ts_ns) "
                                           "FROM trace r, track t JOIN counter c ON c.track_id = t.id "
                                           "WHERE t.name = 'power_w'")
        self.assertEqual(count, run["metrics"]["device_0_samples"])
        # Of the time in which its command ran.
        self.assertGreaterEqual(int(first), int(run["started_ns"]) - 10**9)
        self.assertLessEqual(int(last), int(run["ended_ns"]) + 10**9)  # until kprofd has heard of its end
        self.assertGreater(int(last) - int(first), 0.5e9)

    def test_a_lock_that_the_power_limit_does_not_let_it_hold(self):
        self.model.set(0, "load", 100)
        run = self.capture("--clocks", "lock=1830", seconds=2)
        self.assertRegex(self.sentence(run, "clocks_not_held"),
                         r"^device 0: SM clock below the lock for \d+ % of the run, min 1,\d{3} of 1,830 MHz, reason SW power cap$")
        self.assertRegex(self.sentence(run, "power_capped"), r"up to 7\d\d W|up to 6\d\d W")
        self.assertLess(run["metrics"]["device_0_sm_clock_least_mhz"], 1830)

    def test_a_lock_that_it_holds_under_load(self):
        self.model.set(0, "load", 100)
        run = self.capture("--clocks", "lock=1500", seconds=1.5)
        self.assertEqual(distrust(run), [])
        self.assertEqual(run["metrics"]["device_0_sm_clock_least_mhz"], 1500)

    def test_heat_slows_it_down(self):
        self.model.set(0, "load", 100)
        self.model.set(0, "slowdown", "sw_thermal", "on")
        run = self.capture()
        self.assertIn("thermal", self.sentence(run, "throttled"))

    def test_what_the_driver_reports_is_told(self):
        run = self.detach(seconds=2)
        self.model.control("event", "0", "xid", "79")
        self.assertEqual(self.sentence(self.ctl.wait(run), "device_error"), "device 0: the driver reported Xid 79")
        run = self.capture(seconds=0.5)
        self.assertNotIn("device_error", self.codes(run), "of another run it is none")

    def test_a_driver_that_hangs_stops_neither_the_run_nor_its_end(self):
        run = self.detach(seconds=3)
        self.model.set(0, "hang", "all", 600000)
        began = time.monotonic()
        ended = self.ctl.wait(run)
        self.assertEqual(ended["state"], "done")
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn("nobody knows how it was", self.sentence(ended, "device_unwatched"))
        self.model.set("all", "faults_clear")

    def test_one_of_two_devices_that_hangs_is_the_one_told_of(self):
        self.model.set(1, "hang", "nvmlDeviceGetClockInfo", 600000)
        run = self.ctl.capture("sleep", "2", options=("--device", "0,1"))
        self.assertIn("device 1", self.sentence(run, "device_unwatched"))
        self.assertGreater(run["metrics"]["device_0_samples"], 5)
        self.model.set("all", "faults_clear")

    @kprof_testing.long("lasts for 30 s and more")
    def test_a_driver_that_hangs_for_30_s_is_not_felt_on_another_device(self):
        def waits(seconds):
            """From queued to started, with locked clocks, again and again."""
            found, end = [], time.monotonic() + seconds
            while time.monotonic() < end:
                run = self.capture("--clocks", "lock", seconds=0)
                self.assertEqual((run["state"], distrust(run)), ("done", []))
                found.append((int(run["started_ns"]) - int(run["queued_ns"])) / 1e6)
            return sorted(found)
        before = waits(5)
        self.model.set(1, "hang", "all", 30000)
        stuck = self.ctl.detach("sleep", "600", options=("--device", "1", "--clocks", "lock"))
        meanwhile = waits(30)
        self.model.set("all", "faults_clear")
        self.ctl.run("cancel", stuck)
        for name, found in (("before", before), ("while device 1 hangs", meanwhile)):
            print(f"{name}: {len(found)} captures on device 0, queued to started p50 {found[len(found) // 2]:.1f} ms, "
                  f"p99 {found[len(found) * 99 // 100]:.1f} ms, most {found[-1]:.1f} ms")

    def test_a_device_that_is_lost_meanwhile(self):
        run = self.detach(seconds=3)
        self.model.set(0, "lost", 1)
        self.assertIn("device_unwatched", self.codes(self.ctl.wait(run)))
        self.model.set(0, "lost", 0)

    def test_a_run_on_the_cpu_has_no_samples(self):
        run = self.ctl.capture("true", options=("--device", "cpu"))
        self.assertIsNone(run["trace"])
        self.assertFalse(any("samples" in name for name in run["metrics"]))


class ShortRunsTest(ConditionsTest):
    """Of a run that is over before its devices were sampled, too, it is told how they were."""

    def durations(self):
        """In seconds; with --long a hundred of them."""
        some = (0, 0.05, 0.2, 0.7, 1.9)
        count = kprof_testing.of_all(len(some), 100, "short runs")
        return some if count == len(some) else [0.05 + 1.95 * i / (count - 1) for i in range(count)]

    def captured(self, seconds):
        return self.ctl.capture("sleep", str(seconds), options=("--device", "1"))

    def test_a_healthy_device_is_no_reason(self):
        for seconds in self.durations():
            with self.subTest(seconds=seconds):
                self.assertEqual(distrust(self.captured(seconds)), [])

    def test_a_lost_device_is_a_reason(self):
        self.model.set(1, "lost", 1)
        for seconds in self.durations():
            with self.subTest(seconds=seconds):
                run = self.captured(seconds)
                self.assertEqual((run["state"], self.codes(run)), ("done", ["device_unwatched"]))
                self.assertRegex(self.sentence(run, "device_unwatched"), r"^device 1: nobody knows how it was .*: .*lost")

    def test_a_device_that_hangs_is_a_reason(self):
        self.model.set(1, "hang", "all", 600000)
        for seconds in self.durations():
            with self.subTest(seconds=seconds):
                run = self.captured(seconds)
                self.assertEqual((run["state"], self.codes(run)), ("done", ["device_unwatched"]))
                self.assertRegex(self.sentence(run, "device_unwatched"), "^device 1: nobody knows how it was")
        self.model.set("all", "faults_clear")

    def test_a_device_that_was_lost_before_kprofd_came_is_a_reason(self):
        self.daemon.stop()
        self.model.set(1, "lost", 1)
        self.daemon.start()
        self.assertEqual(self.codes(self.captured(0)), ["device_unwatched"])

    def test_a_throttled_device_is_a_reason(self):
        self.model.set(1, "load", 100)
        self.model.set(1, "slowdown", "sw_thermal", "on")
        for seconds in self.durations():
            with self.subTest(seconds=seconds):
                run = self.captured(seconds)
                self.assertEqual((run["state"], self.codes(run)), ("done", ["throttled"]))
                self.assertIn("device 1: SW thermal slowdown", self.sentence(run, "throttled"))

    def test_a_device_that_answers_again_is_no_reason(self):
        self.model.set(1, "lost", 1)
        self.assertEqual(self.codes(self.captured(0)), ["device_unwatched"])
        self.model.set(1, "lost", 0)
        wait_until(lambda: self.devices()["1"]["health"] == "ok", "the device to be there again")
        self.assertEqual(distrust(self.captured(0)), [])


class OthersTest(ConditionsTest):
    def setUp(self):
        DevicesTest.setUp(self)
        self.engine = HostEngine(self.folder)
        self.engine.set(paused=0)
        self.daemon.environment.update(self.engine.environment)
        self.before = self.settings()
        self.daemon.start()

    def start_other(self, device=0):
        """A process of nobody's run that computes on the device."""
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.model.set(device, "process", other.pid, 1 << 20, "compute")
        return other

    def test_others_on_the_device_are_named(self):
        other = self.start_other()
        told = self.sentence(self.capture(seconds=0.7), "device_shared")
        self.assertRegex(told, rf"^device 0: others used it during the run: pid {other.pid} \(sleep, (user|uid) \S+\)$")
        self.start_other(device=1)
        self.model.set(0, "process_end", other.pid)
        self.assertEqual(distrust(self.capture(seconds=0.7)), [], "who is on another device is nobody's trouble")

    def test_one_who_comes_while_it_runs_is_named(self):
        run = self.detach(seconds=4)
        time.sleep(1)
        other = self.start_other()
        self.assertIn(f"pid {other.pid} (sleep", self.sentence(self.ctl.wait(run), "device_shared"))

    def test_its_own_processes_are_no_others(self):
        """Neither the command nor what it starts, nor what outlives its parent."""
        pids = os.path.join(self.folder, "pids")
        script = f"echo $$ > {pids}; (sleep 3 & echo $! >> {pids}); sleep 3 & echo $! >> {pids}; wait; sleep 1"
        run = self.ctl.detach("sh", "-c", script, options=("--device", "0"))
        for pid in wait_until(lambda: self.numbers_in(pids, 3), "its processes"):
            self.model.set(0, "process", pid, 1 << 20, "compute")
        self.assertEqual(distrust(self.ctl.wait(run)), [])

    def numbers_in(self, path, count):
        words = kprof_testing.read_file(path).split()
        return [int(word) for word in words] if len(words) == count else None

    def test_one_that_the_client_starts_has_its_own_processes_too(self):
        pids = os.path.join(self.folder, "pids")
        client = self.ctl.start("--json", "capture", "command", "--device", "0", "--", "sh", "-c", f"echo $$ > {pids}; sleep 3; exit")
        for pid in wait_until(lambda: self.numbers_in(pids, 1), "its process"):
            self.model.set(0, "process", pid, 1 << 20, "compute")
        client.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(distrust(self.ctl.show("@last")), [])

    def test_exclusive_waits_until_they_are_gone(self):
        other = self.start_other()
        run = self.ctl.detach("true", options=("--device", "0", "--exclusive"))
        self.ctl.wait_for_state(run, "preparing")
        time.sleep(1.5)
        self.assertEqual(self.ctl.show(run)["state"], "preparing")
        self.model.set(0, "process_end", other.pid)
        ended = self.ctl.wait(run, expect="done")
        self.assertEqual((ended["exclusive"], distrust(ended)), (True, []))

    def test_exclusive_gives_up_with_who_is_there(self):
        other = self.start_other()
        refused = self.ctl.run("--json", "capture", "command", "--device", "0", "--exclusive", "--queue-timeout", "1s",
                               "--clocks", "lock", "--", "true", expect="queue_timeout").json
        self.assertIn(f"pid {other.pid} (sleep", refused["error"]["message"])
        self.assertIn("--exclusive", refused["error"]["remedy"])
        self.assertEqual(self.settings(), self.before)
        self.assertIsNone(self.devices()["0"]["run"])

    def test_a_cancel_does_not_wait_for_the_others(self):
        self.start_other()
        run = self.ctl.detach("true", options=("--device", "0", "--exclusive"))
        self.ctl.wait_for_state(run, "preparing")
        self.ctl.run("cancel", run)
        self.ctl.wait(run, expect="cancelled")

    def test_exclusive_on_the_cpu_waits_for_nobody(self):
        self.assertEqual(self.ctl.capture("true", options=("--device", "cpu", "--exclusive"))["state"], "done")

    def test_exclusive_pauses_dcgm_and_resumes_it_after_any_end(self):
        for how in ("end", "cancel", "kill"):
            with self.subTest(how):
                run = self.detach("--exclusive", seconds=1 if how == "end" else 600)
                self.assertTrue(self.engine.paused)
                if how == "cancel":
                    self.ctl.run("cancel", run)
                if how == "kill":
                    self.daemon.kill()
                    wait_until(lambda: not self.engine.paused, "DCGM to be resumed though nobody told it")
                    self.daemon.start()
                ended = self.ctl.wait(run)
                wait_until(lambda: not self.engine.paused, "DCGM to be resumed")
                self.assertNotIn("profilers_not_paused", self.codes(ended))

    def test_a_dcgm_that_is_not_paused_is_told_of_where_it_matters(self):
        self.engine.set(error_pause=-37)
        run = self.ctl.capture("true", options=("--device", "1", "--exclusive"))
        self.assertIn("profilers_not_paused", self.codes(run))


class CoolDownTest(ConditionsTest):
    def test_it_waits_until_the_device_is_cool(self):
        self.model.set(0, "temperature_c", 85)
        run = self.ctl.detach("true", options=("--device", "0", "--cool-down", "10m"))
        self.ctl.wait_for_state(run, "preparing")
        time.sleep(1)
        self.assertEqual(self.ctl.show(run)["state"], "preparing")
        self.model.set(0, "temperature_c", 50)
        ended = self.ctl.wait(run, expect="done")
        self.assertEqual((distrust(ended), ended["cool_down_ms"]), ([], 600000))

    def test_one_that_stays_warm_is_measured_and_told_of(self):
        self.model.set(0, "temperature_c", 85)
        run = self.capture("--cool-down", "1s", seconds=0)
        self.assertEqual(run["state"], "done")
        self.assertRegex(self.sentence(run, "device_warm"), r"^device 0: still at 85 C after 1\S* s of waiting, and it slows down at \d+ C$")

    def test_a_cancel_does_not_wait_for_it(self):
        self.model.set(0, "temperature_c", 85)
        run = self.ctl.detach("true", options=("--device", "0", "--clocks", "lock", "--cool-down", "10m"))
        self.ctl.wait_for_state(run, "preparing")
        wait_until(self.is_locked, "its clocks to be locked")
        self.ctl.run("cancel", run)
        self.ctl.wait(run, expect="cancelled")
        self.assertEqual(self.settings(), self.before)


class ClocksByHandTest(ConditionsTest):
    def lock(self, *options):
        return self.ctl.json("clocks", "lock", "--device", "0", *options)

    def test_they_are_locked_until_they_are_released(self):
        session = self.lock("--sm", "1200", "--mem", "3201")
        self.assertEqual((session["clocks"], session["labels"]), ("lock=1200,mem=3201!", {"kprof.clocks": "locked"}))
        settings = self.settings()
        self.assertEqual((settings["lock"], settings["memory_lock"]),
                         ({"min_mhz": 1200, "max_mhz": 1200}, {"min_mhz": 3201, "max_mhz": 3201}))
        status = {device["device"]: device for device in self.ctl.json("clocks", "status")["devices"]}
        self.assertEqual((status["0"]["locked_sm_mhz"], status["0"]["session"], status["1"]["locked"]), (1200, session["id"], False))
        self.assertEqual(self.ctl.run("clocks", "release").text, f"device 0 is given back, session {session['id']} is closed\n")
        self.assertEqual(self.settings(), self.before)
        self.ctl.run("clocks", "release", expect="not_found")

    def test_they_go_back_by_themselves(self):
        self.lock("--ttl", "1s")
        self.wait_until_as_before()

    def test_what_cannot_be_locked_is_not_leased(self):
        self.model.set("node", "permission", "none")
        refused = self.ctl.run("--json", "clocks", "lock", "--device", "0", expect="not_permitted")
        self.assertIn("root", refused.error["remedy"])
        self.assertIsNone(self.devices()["0"]["session"])

    def test_release_leaves_those_of_runs(self):
        run = self.detach("--clocks", "lock")
        refused = self.ctl.run("--json", "clocks", "release", "--device", "0", expect="not_found")
        self.assertIn(f"device 0 is locked for run {run}", refused.error["message"])
        self.assertTrue(self.is_locked())
        self.ctl.run("cancel", run)
        self.ctl.wait(run)

    def test_captures_go_on_in_it(self):
        session = self.lock()
        run = self.ctl.capture("true", options=("--session", session["id"]))
        self.assertEqual((run["state"], run["clocks"]), ("done", "lock!"))

    def test_an_interrupted_wait_leaves_nothing(self):
        run = self.detach()
        waiting = self.ctl.start("clocks", "lock", "--device", "0")
        wait_until(lambda: self.ctl.json("session", "list", "--state", "queued")["sessions"], "it to wait")
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(waiting.returncode, kprof_testing.EXIT["cancelled"])
        self.ctl.run("cancel", run)
        self.ctl.wait(run)
        self.assertFalse(self.is_locked())


if __name__ == "__main__":
    unittest.main()
