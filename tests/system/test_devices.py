"""Devices of a stand-in for NVIDIA's library: found, told of, locked by sessions, and given back after any end."""

import json
import os
import pwd
import signal
import subprocess
import time
import unittest

import kprof_testing
from kprof_testing import Daemon, distrust, kill_if_there, temporary_folder, wait_until
from nvml_stand_in import Model

# What a lock changes, as the stand-in shows it.
SETTINGS = ("lock", "memory_lock", "persistence", "power_limit_mw", "app_clocks")


class DevicesTest(unittest.TestCase):
    PROFILES = "h200,t4"

    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(temporary_folder())
        self.model = Model(self.folder, self.PROFILES)
        self.daemon = Daemon(self.folder, environment=self.model.environment)
        self.addCleanup(self.daemon.stop)
        self.ctl = self.daemon.ctl

    def devices(self):
        return {device["id"]: device for device in self.ctl.json("devices")["devices"]}

    def settings(self, device=0):
        shown = self.model.show(device)
        return {name: shown[name] for name in SETTINGS}

    def is_locked(self, device=0):
        return self.model.show(device)["lock"] is not None

    def keepers(self):
        """The pids of all keepers of the daemon's state folder, also of one that is gone."""
        found = []
        for pid, (line, _) in kprof_testing.living_processes().items():
            words = line.split(b"\0")
            if words[0].endswith(b"kprof-clocks") and os.fsencode(self.daemon.state) in line:
                found.append(pid)
        return found

    def release_clocks(self):
        return subprocess.run([kprof_testing.KPROFD, *self.daemon.options(), "--release-clocks"], capture_output=True,
                              text=True, timeout=kprof_testing.LIMIT_S,
                              env=dict(os.environ, **self.model.environment))


class SlowDriverTest(DevicesTest):
    """A driver that takes its time to wake devices, as one without persistence mode does."""

    def check_a_session_outlasts_a_restart(self, target, call):
        self.daemon.start()
        session = self.ctl.json("session", "open", "--device", "0", "--clocks", "lock", "--ttl", "10m")
        self.daemon.stop()
        self.assertFalse(self.is_locked())
        self.model.set(target, "hang", call, 7000, 1)
        self.daemon.start()
        wait_until(self.is_locked, "the session's clocks to be locked again")
        (found,) = self.ctl.json("session", "list")["sessions"]
        self.assertEqual((found["id"], found["state"], found["trust"]), (session["id"], "open", []))
        run = self.ctl.capture("true", options=("--session", session["id"]))
        self.assertEqual((run["state"], distrust(run)), ("done", []))

    def test_a_driver_that_begins_slowly_costs_no_session(self):
        self.check_a_session_outlasts_a_restart("node", "nvmlInit_v2")

    def test_a_device_that_wakes_slowly_costs_no_session(self):
        self.check_a_session_outlasts_a_restart(0, "nvmlDeviceGetName")


class FoundDevicesTest(DevicesTest):
    def test_each_is_found_and_tells_of_itself(self):
        self.daemon.start()
        devices = self.devices()
        self.assertEqual(list(devices), ["cpu", "0", "1"])
        h200 = devices["0"]
        self.assertEqual((h200["kind"], h200["name"], h200["health"], h200["trouble"]),
                         ("nvidia", "NVIDIA H200", "ok", None))
        facts = h200["nvidia"]
        self.assertEqual((facts["compute_capability"], facts["sm_count"], facts["max_sm_mhz"], facts["power_limit_mw"]),
                         ("9.0", 132, 1980, 700000))
        self.assertEqual(facts["sm_clocks_mhz"][0], 1980)
        self.assertIn(1500, facts["sm_clocks_mhz"])
        peaks = {(peak["quantity"], peak["dtype"]): peak for peak in h200["peaks"]}
        self.assertEqual(peaks["dense_rate", "bf16"]["value"], 989)
        self.assertEqual(peaks["core_count", None]["origin"], "driver")
        self.assertTrue(all(peak["source"] and peak["confidence"] and peak["unit"] for peak in peaks.values()))
        self.assertIsNone(devices["cpu"]["nvidia"])

    def test_what_changes_is_asked_for_anew(self):
        self.daemon.start()
        self.assertEqual(self.devices()["0"]["nvidia"]["gpu_percent"], 0)
        self.model.set(0, "load", 100)
        self.model.set(0, "process", 4711, 1048576, "compute")
        facts = self.devices()["0"]["nvidia"]
        self.assertEqual(facts["gpu_percent"], 100)
        self.assertEqual([process["pid"] for process in facts["processes"]], [4711])
        self.assertIn("% busy", self.ctl.run("devices").text)

    def test_who_is_on_it_is_told_with_their_user(self):
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.daemon.start()
        self.model.set(0, "process", other.pid, 1 << 20, "compute")
        user = pwd.getpwuid(os.getuid()).pw_name

        def told():
            (process,) = self.devices()["0"]["nvidia"]["processes"]
            return process if process["user"] else None
        process = wait_until(told, "the user's name to be known")
        self.assertEqual(process, {"pid": other.pid, "graphics": False, "memory_bytes": 1 << 20, "command": "sleep",
                                   "uid": os.getuid(), "user": user})

    def test_a_node_without_the_library_is_a_normal_node(self):
        self.daemon.environment["KPROF_NVML_LIBRARY"] = os.path.join(self.folder, "nothing.so")
        self.daemon.start()
        self.assertEqual(list(self.devices()), ["cpu"])
        self.assertEqual(self.ctl.capture("true")["state"], "done")

    def test_a_driver_that_is_loaded_late_is_found(self):
        os.rename(self.model.path, self.model.path + ".away")
        self.daemon.start()
        self.assertEqual(list(self.devices()), ["cpu"])
        os.rename(self.model.path + ".away", self.model.path)
        wait_until(lambda: list(self.devices()) == ["cpu", "0", "1"], "the devices to be found")

    def test_it_makes_visible_what_is_leased(self):
        self.daemon.start()
        run = self.ctl.capture("sh", "-c", "echo $CUDA_VISIBLE_DEVICES", options=("--device", "1"))
        self.assertEqual(run["state"], "done")
        self.assertEqual(self.ctl.run("logs", run["id"]).text.strip(), self.devices()["1"]["uuid"])

    def test_one_that_hangs_is_no_trouble_of_the_others(self):
        self.model.set(1, "hang", "all", 600000)
        began = time.monotonic()
        self.daemon.start()
        self.assertLess(time.monotonic() - began, 20)
        devices = self.devices()
        self.assertEqual(devices["0"]["health"], "ok")
        self.assertEqual(self.ctl.capture("true", options=("--device", "0"))["state"], "done")
        wait_until(lambda: self.devices()["1"]["health"] == "unresponsive", "it to be noticed")
        self.assertIn("has not returned", self.devices()["1"]["trouble"])
        self.model.set("all", "faults_clear")
        wait_until(lambda: self.devices()["1"]["health"] == "ok", "it to come back", limit_s=3 * kprof_testing.LIMIT_S)
        self.assertEqual(self.devices()["1"]["name"], "Tesla T4")

    def test_the_doctor_names_one_that_is_not_well(self):
        self.daemon.start()
        said = {(one["check"], one["level"]) for one in self.ctl.json("doctor")["diagnoses"]}
        self.assertIn(("devices", "ok"), said)
        self.model.set(1, "lost", 1)
        wait_until(lambda: self.devices()["1"]["health"] == "lost", "it to be noticed")
        (problem,) = [one for one in self.ctl.run("--json", "doctor", expect=None).json["diagnoses"] if one["check"] == "devices"]
        self.assertEqual(problem["level"], "problem")
        self.assertIn("device 1 is lost", problem["message"])
        self.assertTrue(problem["remedy"])

    def test_a_lost_one_says_so_and_comes_back_as_itself(self):
        self.daemon.start()
        uuid = self.devices()["1"]["uuid"]
        self.model.set(1, "lost", 1)
        wait_until(lambda: self.devices()["1"]["health"] == "lost", "it to be noticed")
        self.assertEqual(self.devices()["0"]["health"], "ok")
        self.model.set(1, "lost", 0)
        wait_until(lambda: self.devices()["1"]["health"] == "ok", "it to come back")
        self.assertEqual(self.devices()["1"]["uuid"], uuid)

    def test_the_configuration_names_those_that_are_leased(self):
        uuid = self.model.show(1)["uuid"]
        self.daemon.configure(f'[[device]]\nkind = "nvidia"\nid = "small"\nuuid = "{uuid}"\n')
        self.daemon.start()
        devices = self.devices()
        self.assertEqual(list(devices), ["cpu", "small"])
        self.assertEqual((devices["small"]["name"], devices["small"]["nvidia"]["architecture"]), ("Tesla T4", "Turing"))

    def test_peaks_of_the_administrator_go_before_those_it_knows(self):
        peaks = os.path.join(self.folder, "peaks.csv")
        with open(peaks, "w", encoding="utf-8") as file:
            file.write("device,quantity,dtype,accumulate,value,unit,confidence,source,note\n"
                       "H200-SXM-141GB,memory_bandwidth,,,4321,GB/s,high,measured by us,\n")
        self.daemon.configure(f'[devices]\npeaks = "{peaks}"\n')
        self.daemon.start()
        bandwidth = [peak for peak in self.devices()["0"]["peaks"] if peak["quantity"] == "memory_bandwidth"]
        self.assertEqual([(peak["value"], peak["origin"]) for peak in bandwidth], [(4321, "override")])


class ClocksTest(DevicesTest):
    def setUp(self):
        super().setUp()
        self.before = self.settings()
        self.daemon.start()

    def open(self, *options):
        return self.ctl.json("session", "open", "--device", "0", "--ttl", "10m", *options)

    def wait_until_as_before(self):
        wait_until(lambda: self.settings() == self.before, "the device to be as it was")
        wait_until(lambda: not any(name.endswith(".held") for name in self.daemon.files()), "nothing to be noted")

    def test_a_session_holds_the_clocks_and_gives_them_back(self):
        session = self.open("--clocks", "lock")
        self.assertEqual(session["trust"], [])
        self.assertEqual(self.settings()["lock"], {"min_mhz": 1500, "max_mhz": 1500})
        clocks = self.devices()["0"]["clocks"]
        self.assertEqual((clocks["locked"], clocks["locked_sm_mhz"]), (True, 1500))
        run = self.ctl.capture("true", options=("--session", session["id"]))
        self.assertEqual((run["state"], run["trust"]), ("done", []))
        self.assertTrue(self.is_locked(), "between its rounds as well")
        self.ctl.run("session", "close", session["id"])
        self.assertEqual(self.settings(), self.before)

    def test_each_policy_is_what_it_says(self):
        for policy, lock, memory, power in (("lock=1200", 1200, None, 700000), ("lock,mem=3201,power=600", 1500, 3201, 600000)):
            session = self.open("--clocks", policy)
            settings = self.settings()
            self.assertEqual(settings["lock"], {"min_mhz": lock, "max_mhz": lock}, session)
            self.assertEqual(settings["memory_lock"], memory and {"min_mhz": memory, "max_mhz": memory}, policy)
            self.assertEqual(settings["power_limit_mw"], power, policy)
            self.ctl.run("session", "close", session["id"])
            self.assertEqual(self.settings(), self.before, policy)

    def test_without_permission_a_session_goes_on_and_says_so(self):
        self.model.set("node", "permission", "none")
        session = self.open("--clocks", "lock")
        self.assertEqual([reason["code"] for reason in session["trust"]], ["clocks_not_locked"])
        self.assertIn("no permission", session["trust"][0]["message"])
        run = self.ctl.capture("true", options=("--session", session["id"]))
        self.assertIn("clocks_not_locked", [reason["code"] for reason in run["trust"]])

    def test_lock_or_nothing(self):
        self.model.set("node", "permission", "none")
        self.ctl.run("session", "open", "--device", "0", "--clocks", "lock!", expect="not_permitted")
        self.assertIsNone(self.devices()["0"]["session"])
        self.assertEqual(self.settings(), self.before)

    def test_a_clock_that_is_not_offered_is_not_locked(self):
        refused = self.ctl.run("--json", "session", "open", "--device", "0", "--clocks", "lock=1501!", expect="usage")
        self.assertIn("1500 or 1515", refused.error["remedy"])

    def test_devices_lock_independently(self):
        first = self.open("--clocks", "lock=1200")
        second = self.ctl.json("session", "open", "--device", "1", "--clocks", "lock")
        self.assertTrue(self.is_locked(1))
        self.ctl.run("session", "close", first["id"])
        self.assertEqual(self.settings(0), self.before)
        self.assertTrue(self.is_locked(1))
        self.ctl.run("session", "close", second["id"])
        self.assertFalse(self.is_locked(1))

    def test_what_others_set_is_told_and_stays(self):
        self.model.set(0, "app_clocks", 3201, 1200)
        self.before = self.settings()
        session = self.open("--clocks", "lock")
        self.assertEqual([reason["code"] for reason in session["trust"]], ["clocks_note"])
        self.ctl.run("session", "close", session["id"])
        self.assertEqual(self.settings(), self.before)

    def test_an_end_by_ttl_gives_them_back(self):
        self.ctl.json("session", "open", "--device", "0", "--clocks", "lock", "--ttl", "1s")
        self.wait_until_as_before()

    def test_a_stop_gives_them_back(self):
        self.open("--clocks", "lock")
        self.assertEqual(self.daemon.stop(), 0)
        self.wait_until_as_before()

    def test_a_killed_kprofd_gives_them_back_and_the_next_one_locks_again(self):
        session = self.open("--clocks", "lock=1200,mem=3201,power=600")
        self.daemon.kill()
        self.wait_until_as_before()
        self.daemon.start()
        wait_until(self.is_locked, "the session's clocks to be locked again")
        self.assertEqual(self.settings()["lock"], {"min_mhz": 1200, "max_mhz": 1200})
        self.ctl.run("session", "close", session["id"])
        self.assertEqual(self.settings(), self.before)

    def test_a_killed_keeper_is_replaced(self):
        session = self.open("--clocks", "lock")
        first = self.keepers()
        self.assertEqual(len(first), 1)
        for pid in first:
            kill_if_there(pid)
        wait_until(lambda: self.keepers() and self.keepers() != first and self.is_locked(), "another to lock again")
        self.ctl.run("session", "close", session["id"])
        self.assertEqual(self.settings(), self.before)

    def kill_all(self):
        """So that nobody gives back: kprofd is held still, and starts no other keeper, until both are killed."""
        os.kill(self.daemon.pid, signal.SIGSTOP)
        for pid in self.keepers():
            kill_if_there(pid)
        wait_until(lambda: not self.keepers(), "the keepers to be gone")
        self.daemon.kill()

    def test_after_all_were_killed_release_clocks_gives_back(self):
        self.open("--clocks", "lock,mem=3201,power=600")
        self.kill_all()
        self.assertTrue(self.is_locked())
        done = self.release_clocks()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^kprofd: the clocks of GPU-\S+ are given back ")
        self.wait_until_as_before()
        again = self.release_clocks()
        self.assertEqual((again.returncode, again.stdout), (0, f"kprofd: no clocks are held (state {self.daemon.state})\n"))

    def test_after_all_were_killed_the_next_kprofd_gives_back(self):
        self.open("--clocks", "lock,power=600")
        self.kill_all()
        self.assertTrue(self.is_locked())
        os.rename(os.path.join(self.daemon.state, "catalog.db"), os.path.join(self.folder, "away.db"))  # it knows no session
        self.daemon.start()
        self.wait_until_as_before()

    def test_release_clocks_says_what_hangs(self):
        self.open("--clocks", "lock")
        self.kill_all()
        self.model.set(0, "error", "nvmlDeviceResetGpuLockedClocks", 999)
        done = self.release_clocks()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unlock the SM clock", done.stderr)
        self.model.set("all", "faults_clear")
        self.assertEqual(self.release_clocks().returncode, 0)
        self.wait_until_as_before()

    # Wherever a keeper is killed, before or after each call that changes something, with its kprofd or without.
    def test_kill_at_every_step(self):
        for whom in ("self", "both"):
            for step in range(1, 9):
                for moment in ("before", "after"):
                    with self.subTest(whom=whom, step=step, moment=moment):
                        self.kill_at(whom, step, moment)

    def kill_at(self, whom, step, moment):
        victims = ["self"] if whom == "self" else ["self", str(self.daemon.pid)]
        self.model.set("node", "kill_at", step, moment, *victims)
        opened = self.ctl.run("session", "open", "--device", "0", "--clocks", "lock,mem=3201,power=600", expect=None)
        if opened.code == 0:
            self.ctl.run("session", "close", "@last", expect=None)
        has_killed = json.loads(self.model.control("show"))["kill_in_calls"] == 0
        self.model.set("node", "kill_at", "off")
        if has_killed and whom == "both":
            self.daemon.process.wait(timeout=kprof_testing.LIMIT_S)
            if step % 2:
                self.assertEqual(self.release_clocks().returncode, 0)
                self.wait_until_as_before()
            self.daemon.start()
        for session in self.ctl.json("session", "list", "--state", "open")["sessions"]:
            self.ctl.run("session", "close", session["id"])
        self.wait_until_as_before()


if __name__ == "__main__":
    unittest.main()
