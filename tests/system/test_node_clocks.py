"""Devices and their clocks in system mode: kprofd, which has no right to, has root's helper start who locks them; they are
given back whatever becomes of kprofd, of the helper, of who holds them. Needs root."""

import os
import subprocess
import sys
import time
import unittest

import kprof_testing
from kprof_node import ALICE, BOB, KPROFD_UID, Caller, Node
from kprof_testing import distrust, kill_if_there, wait_until
from nvml_stand_in import Model
from test_devices import SETTINGS

# What the driver answers to whoever runs it.
LOCK_FIRST = """
import ctypes, sys
nvml = ctypes.CDLL(sys.argv[1])
device = ctypes.c_void_p()
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
print(nvml.nvmlDeviceSetGpuLockedClocks(device, 1200, 1200))
"""
NO_PERMISSION = 4

LOCK_1500 = {"min_mhz": 1500, "max_mhz": 1500}


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NodeClocksTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.node = Node(self.folder, "[devices]\nnvml_library = \"" + self.library() + "\"\n")
        self.model = Model(self.folder, "h200,t4")
        # As of a real driver: everybody may ask, root alone may set.
        self.model.set("node", "permission", "root")
        os.chmod(self.model.path, 0o666)
        self.node.use_devices(self.model, self.library())
        self.before = self.settings()
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.alice = Caller(self.node, ALICE)
        self.bob = Caller(self.node, BOB)

    def library(self):
        return os.path.join(self.folder, "bin", "libnvml_stand_in.so")

    def settings(self, device=0):
        shown = self.model.show(device)
        return {name: shown[name] for name in SETTINGS}

    def is_locked(self):
        return self.model.show(0)["lock"] is not None

    def notes(self):
        folder = os.path.join(self.folder, "clocks")
        return [name for name in os.listdir(folder) if name.endswith(".held")] if os.path.isdir(folder) else []

    def keepers(self):
        return [pid for pid, (line, _) in kprof_testing.living_processes().items()
                if line.split(b"\0")[0].endswith(b"kprof-clocks") and os.fsencode(self.folder) in line]

    def wait_until_as_before(self):
        wait_until(lambda: self.settings() == self.before, "the device to be as it was")
        wait_until(lambda: not self.notes(), "nothing to be noted")

    def devices(self):
        return {device["id"]: device for device in self.alice.json("devices")["devices"]}

    def lock(self, *options, seconds=600):
        run = self.alice.detach("sleep", str(seconds), options=("--device", "0", "--clocks", "lock,power=600", *options))
        self.alice.wait_for_state(run, "running")
        self.assertEqual(self.settings()["lock"], LOCK_1500)
        return run

    def release_clocks(self):
        return subprocess.run([*self.node.command(), "--release-clocks"], capture_output=True, text=True, check=False,
                              timeout=kprof_testing.LIMIT_S, env=self.node.environment, **self.node.identity)

    def test_devices_are_found_and_told_of(self):
        devices = self.devices()
        self.assertEqual(list(devices), ["cpu", "0", "1"])
        self.assertEqual((devices["0"]["health"], devices["0"]["nvidia"]["sm_count"]), ("ok", 132))
        self.assertTrue(devices["0"]["clocks"]["lockable"])

    def test_a_run_has_its_clocks_and_gives_them_back(self):
        run = self.alice.capture("sleep", "1", options=("--device", "0", "--clocks", "lock"))
        self.assertEqual((run["state"], distrust(run)), ("done", []))
        self.assertEqual(run["metrics"]["device_0_sm_clock_locked_mhz"], 1500)
        self.assertEqual(self.settings(), self.before)
        self.assertEqual(self.notes(), [])

    @unittest.skipIf("KPROF_SANITIZER" in os.environ, "a library of a sanitizer's needs a program of its own")
    def test_kprofd_itself_could_not(self):
        tried = subprocess.run([sys.executable, "-c", LOCK_FIRST, self.library()], capture_output=True, text=True, check=False,
                               timeout=kprof_testing.LIMIT_S, env=self.node.environment, **self.node.identity)
        self.assertEqual((tried.stdout, tried.stderr), (f"{NO_PERMISSION}\n", ""))
        self.assertEqual(self.settings(), self.before)

    def test_who_holds_them_is_roots(self):
        run = self.lock()
        owners = {kprof_testing.status_number(pid, "Uid") for pid in self.keepers()}
        self.assertEqual(owners, {0}, "who holds them is root's")
        self.assertEqual(kprof_testing.status_number(self.node.pid, "Uid"), KPROFD_UID)
        self.alice.run("cancel", run)
        self.alice.wait(run)
        self.assertEqual(self.settings(), self.before)

    def test_two_users_lock_two_devices(self):
        run = self.lock()
        other = self.bob.detach("sleep", "600", options=("--device", "1", "--clocks", "lock"))
        self.bob.wait_for_state(other, "running")
        self.alice.run("cancel", run)
        self.alice.wait(run)
        self.assertEqual(self.settings(), self.before)
        self.assertIsNotNone(self.model.show(1)["lock"])
        self.bob.run("cancel", other)
        self.bob.wait(other)
        self.assertIsNone(self.model.show(1)["lock"])

    def test_a_killed_kprofd_leaves_no_lock(self):
        run = self.lock()
        self.node.kill()
        self.wait_until_as_before()
        self.node.start()
        self.assertEqual(self.alice.wait(run, expect="lost_daemon")["error"]["code"], "lost_daemon")
        self.wait_until_as_before()

    def test_a_killed_helper_is_no_end_of_them(self):
        run = self.lock()
        self.node.kill_helper()
        time.sleep(0.3)
        self.assertTrue(self.is_locked(), "who holds them is kprofd's, by its socket")
        self.node.start_helper()
        self.alice.run("cancel", run)
        self.alice.wait(run)
        self.wait_until_as_before()

    def test_without_a_helper_a_run_goes_on_unlocked_and_says_so(self):
        self.node.kill_helper()
        run = self.alice.capture("true", options=("--device", "0", "--clocks", "lock"))
        self.assertEqual(run["state"], "done")
        self.assertIn("clocks_not_locked", [reason["code"] for reason in distrust(run)])
        self.assertIn("kprofd-helper is not there", run["trust"][0]["message"])
        self.assertIsNone(self.devices()["0"]["clocks"]["trouble"], "nobody has locked anything")
        second = self.alice.capture("true", options=("--device", "0", "--clocks", "lock"))
        self.assertEqual([reason["code"] for reason in distrust(second)], ["clocks_not_locked"])
        refused = self.alice.run("--json", "capture", "command", "--device", "0", "--clocks", "lock!", "--", "true", expect=None)
        self.assertNotEqual(refused.code, 0)
        self.assertIsNone(self.devices()["0"]["run"])

    def test_a_killed_keeper_is_replaced(self):
        run = self.lock(seconds=4)
        first = self.keepers()
        for pid in first:
            kill_if_there(pid)
        wait_until(lambda: self.keepers() not in ([], first) and self.is_locked(), "another to lock again")
        ended = self.alice.wait(run)
        self.assertIn("clocks_not_held", [reason["code"] for reason in distrust(ended)])
        self.wait_until_as_before()

    def kill_all(self):
        """So that nobody gives back: without its helper kprofd starts no other keeper."""
        self.node.kill_helper()
        for pid in self.keepers():
            kill_if_there(pid)
        wait_until(lambda: not self.keepers(), "the keepers to be gone")
        self.node.kill()
        self.assertTrue(self.is_locked())
        self.assertEqual(len(self.notes()), 1)

    def test_after_all_were_killed_the_next_kprofd_gives_back(self):
        self.lock()
        self.kill_all()
        self.node.start()
        time.sleep(0.5)
        self.assertTrue(self.is_locked(), "it has no right to, and the helper is not there yet")
        self.node.start_helper()
        self.wait_until_as_before()

    def test_after_all_were_killed_release_clocks_gives_back(self):
        self.lock()
        self.kill_all()
        away = self.release_clocks()
        self.assertNotEqual(away.returncode, 0)
        self.assertIn("helper", away.stderr)
        self.assertTrue(self.is_locked())
        self.node.start_helper()
        done = self.release_clocks()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^kprofd: the clocks of GPU-\S+ are given back ")
        self.wait_until_as_before()
        again = self.release_clocks()
        self.assertEqual((again.returncode, again.stdout), (0, f"kprofd: no clocks are held (state {self.node.state})\n"))

    def test_release_clocks_of_root_says_whose_it_is(self):
        self.lock()
        self.kill_all()
        self.node.start_helper()
        roots = subprocess.run([*self.node.command(), "--release-clocks"], capture_output=True, text=True, check=False,
                               timeout=kprof_testing.LIMIT_S, env=self.node.environment)
        self.assertNotEqual(roots.returncode, 0)
        self.assertIn("runuser -u kprof", roots.stderr)
        self.assertEqual(self.release_clocks().returncode, 0)
        self.wait_until_as_before()

    def test_where_there_is_no_helper_nothing_is_held(self):
        self.node.stop()
        self.node.kill_helper()
        os.unlink(self.node.helper_socket)
        done = self.release_clocks()
        self.assertEqual((done.returncode, done.stdout), (0, f"kprofd: no clocks are held (state {self.node.state})\n"))

    def test_what_cannot_be_given_back_is_said(self):
        self.lock()
        self.kill_all()
        self.node.start_helper()
        self.model.set(0, "error", "nvmlDeviceResetGpuLockedClocks", 999)
        failed = self.release_clocks()
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("still held", failed.stderr)
        self.model.set("all", "faults_clear")
        self.assertEqual(self.release_clocks().returncode, 0)
        self.wait_until_as_before()

    def test_a_keeper_that_hangs_ends_by_itself(self):
        run = self.lock()
        (pid,) = self.keepers()
        self.model.set(0, "hang", "nvmlDeviceResetGpuLockedClocks", 600000, 1)
        self.alice.run("cancel", run)
        self.alice.wait(run)
        wait_until(lambda: pid not in self.keepers(), "it to be ended by its own alarm")
        self.wait_until_as_before()

    def test_an_end_of_all_gives_them_back(self):
        self.lock()
        self.assertEqual(self.node.stop(), 0)
        self.wait_until_as_before()


if __name__ == "__main__":
    unittest.main()
