"""A file system that is really full: a small one in memory, filled to its last byte while a run is in flight, or by the
run itself. The daemon lives, starts again, stores how runs ended, deletes, and makes up for everything once there is space.

The runs on a nearly full disk take every fourth of the rooms that are left; with tests/run --long each.
"""

import contextlib
import ctypes
import os
import shutil
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

import kprof_testing  # noqa: E402
from kprof_testing import Daemon, temporary_folder, unique_seconds, wait_until  # noqa: E402

SIZE = "6m"
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000


def become_able_to_mount():
    """Mounts of our own, in a user namespace where we are not root."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNS | (CLONE_NEWUSER if uid != 0 else 0)
    if libc.unshare(flags) != 0:
        raise unittest.SkipTest(f"no mounts of our own here: {os.strerror(ctypes.get_errno())}")
    if uid != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
    return libc


class DiskTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        if not hasattr(DiskTest, "libc"):
            DiskTest.libc = become_able_to_mount()

    def setUp(self):
        self.make_disk(SIZE)

    def make_disk(self, size):
        """A daemon, not yet started, whose state folder is a file system of that size."""
        self.folder = self.enterContext(temporary_folder("f-"))
        self.daemon = Daemon(self.folder)
        os.mkdir(self.daemon.state, 0o700)
        if self.libc.mount(b"kprof", os.fsencode(self.daemon.state), b"tmpfs", 0, f"size={size},mode=700".encode()) != 0:
            self.skipTest(f"no small file system here: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(self.libc.umount2, os.fsencode(self.daemon.state), 2)
        self.ctl = self.daemon.ctl
        self.filler = os.path.join(self.daemon.state, "filler")

    def fill(self, room=0):
        """So many bytes, in pages, are left."""
        with open(self.filler, "ab", buffering=0) as file:
            for size in (65536, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)
            file.truncate(max(0, file.tell() - room))

    def free(self):
        os.unlink(self.filler)

    def wait_for_reserve(self):
        wait_until(lambda: os.path.exists(os.path.join(self.daemon.state, "reserve")), "the reserve")
        time.sleep(0.1)

    def health(self):
        return self.ctl.json("status")["storage"]["health"]


class SmallDisk(DiskTest):
    def test_a_full_disk_is_survived_and_made_up_for(self):
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        self.wait_for_reserve()
        big = self.ctl.capture("sh", "-c", "head -c 1500000 /dev/zero")["id"]
        small = self.ctl.capture("echo", "kept")["id"]
        in_flight = self.ctl.detach("sleep", unique_seconds())
        self.ctl.wait_for_state(in_flight, "running")
        self.fill()

        # It says so, and lives.
        refused = self.ctl.run("--json", "capture", "command", "--", "true", expect="storage_full")
        self.assertEqual(refused.error["code"], "storage_full")
        self.assertEqual(self.ctl.json("status")["pid"], self.daemon.pid)

        # It starts on it, after a crash and after a clean stop.
        self.daemon.kill()
        self.daemon.start()
        lost = self.ctl.show(in_flight)
        self.assertEqual((lost["state"], lost["error"]["code"]), ("failed", "lost_daemon"))
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual(self.ctl.show(in_flight)["state"], "failed")
        self.assertEqual(self.ctl.show(small)["state"], "done")

        # What is deleted makes room, with nobody's help from outside.
        self.ctl.run("delete", big)
        self.assertFalse(os.path.exists(self.daemon.run_folder(big)))
        self.assertEqual(self.ctl.capture("echo", "again")["state"], "done")
        self.assertEqual(self.ctl.run("logs", small).out, b"kept\n")

        self.fill()
        self.free()
        self.assertEqual(self.ctl.capture("echo", "again")["state"], "done")
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual(self.ctl.show(in_flight)["error"]["code"], "lost_daemon")

    def test_a_restore_that_does_not_fit_changes_nothing(self):
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        self.wait_for_reserve()
        known = self.ctl.capture("echo", "known")["id"]
        backup = os.path.join(self.folder, "b.db")
        self.daemon.stop()
        shutil.copy(self.daemon.catalog(), backup)  # kprofctl backup would want more space than there ever is
        self.daemon.start()
        precious = self.ctl.capture("echo", "precious")["id"]
        self.daemon.kill()
        self.fill()
        self.assertEqual(self.daemon.restore(backup).returncode, kprof_testing.EXIT["storage_full"])
        self.daemon.start()
        self.assertEqual(self.ctl.run("logs", precious).out, b"precious\n")
        self.assertEqual(self.daemon.stop(), 0)
        self.free()
        restored = self.daemon.restore(backup)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.daemon.start()
        self.assertEqual([run["id"] for run in self.ctl.json("runs")["runs"]], [known])

    def test_without_its_reserve_a_start_says_what_to_do(self):
        self.daemon.start()
        self.wait_for_reserve()
        self.assertEqual(self.daemon.stop(), 0)
        os.unlink(os.path.join(self.daemon.state, "reserve"))
        self.fill()
        self.daemon.begin()
        self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT["storage_full"])
        self.assertIn("free space on", self.daemon.log())
        self.free()
        self.daemon.start()
        self.assertEqual(self.ctl.capture("true")["state"], "done")
        self.assertEqual(self.daemon.stop(), 0)


class FilledByRuns(DiskTest):
    """Logs give way first, the end is stored, and what was stored can be deleted."""

    def setUp(self):
        pass

    def test_the_first_run_after_the_first_start_fills_the_disk(self):
        self.make_disk("8m")
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        ended = self.ctl.json("capture", "command", "--device", "none", "--", "sh", "-c", "yes | head -c 9000000",
                              expect="storage_full")
        self.assertEqual((ended["state"], ended["error"]["code"], ended["exit_code"]), ("failed", "storage_full", 0))
        self.assertRegex(self.health(), "full: .*; delete runs .kprofctl delete., or free space")
        log = self.ctl.run("logs", ended["id"]).out
        self.assertGreater(len(log), 4 << 20)
        self.assertRegex(log[-60:].decode(), r"y\n\n\[kprof: \d+ bytes dropped here\]\n$")
        self.assertEqual(self.ctl.capture("echo", "meanwhile", options=("--device", "none"))["state"], "done")

        # The end is that of the run, whatever comes after it.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.ctl.show(ended["id"])["error"], ended["error"])
        self.ctl.run("delete", ended["id"])
        self.assertFalse(os.path.exists(self.daemon.run_folder(ended["id"])))
        self.assertEqual(self.health(), "ok")
        self.assertEqual(self.ctl.capture("echo", "again", options=("--device", "none"))["state"], "done")

    def test_a_run_whose_end_has_no_room_makes_it_when_it_is_deleted(self):
        self.make_disk("8m")
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        go = os.path.join(self.folder, "go")
        run = self.ctl.detach("sh", "-c", f"head -c 300000 /dev/zero; while [ ! -e {go} ]; do sleep 0.05; done")
        self.ctl.wait_for_state(run, "running")
        wait_until(lambda: len(self.ctl.run("logs", run).out) == 300000, "its output")
        os.unlink(os.path.join(self.daemon.state, "reserve"))
        self.fill()
        open(go, "w", encoding="ascii").close()
        self.assertEqual(self.ctl.wait(run, expect="storage_full")["state"], "failed")
        self.assertIn("nothing is in reserve", self.health())
        self.ctl.run("delete", run)
        self.ctl.run("show", run, expect="not_found")
        self.free()
        wait_until(lambda: self.health() == "ok", "the reserve to be there again")
        self.assertEqual(self.ctl.capture("true")["state"], "done")

    def outcome(self, room, printed):
        """A run where so many bytes are free; then what is stored goes, and nothing of the disk is missing."""
        self.fill(room)
        ended = self.ctl.run("--json", "capture", "command", "--device", "none", "--", "sh", "-c", f"yes | head -c {printed}",
                             expect=None)
        self.assertIn(ended.code, (0, kprof_testing.EXIT["storage_full"]), ended.args)
        if ended.code != 0:
            error = ended.json["error"] if ended.out else ended.error
            self.assertEqual(error["code"], "storage_full")
            self.assertRegex(error["remedy"], "free space|free some")
        if room < 1 << 20:  # an eighth of the disk
            self.assertIn("full: ", self.health())
        for run in self.ctl.json("runs")["runs"]:
            self.assertIn(run["state"], ("done", "failed"), "its end is known")
            self.ctl.run("delete", run["id"])
        self.free()
        wait_until(lambda: self.health() == "ok", "health to be ok again")
        self.assertEqual(self.ctl.capture("echo", "again", options=("--device", "none"))["state"], "done")
        self.assertEqual(self.ctl.json("status")["pid"], self.daemon.pid)
        self.ctl.run("delete", "@last")
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "runs")), [])
        return "done" if ended.code == 0 else "failed" if ended.out else "refused"

    def test_runs_on_a_nearly_full_disk(self):
        rooms = [kib << 10 for kib in (*range(0, 128, 4), 160, 192, 256, 384, 512, 1024, 2048)]
        chosen = rooms[::len(rooms) // kprof_testing.of_all(len(rooms) // 4, len(rooms), "rooms on a nearly full disk")]
        for age in ("fresh", "old"):
            for printed in (10, 100_000, 9_000_000):
                found = {}
                self.make_disk("8m")
                self.daemon.start()
                if age == "old":
                    for _ in range(20):
                        self.ctl.capture("echo", "old", options=("--device", "none"))
                    self.ctl.run("delete", *(run["id"] for run in self.ctl.json("runs")["runs"]))
                for room in chosen:
                    with self.subTest(age=age, printed=printed, room=room):
                        if age == "fresh":
                            self.daemon.stop()
                            self.make_disk("8m")
                            self.daemon.start()
                        found[room >> 10] = self.outcome(room, printed)
                self.daemon.stop()
                print(f"{age}, {printed} bytes printed: {found}", flush=True)


if __name__ == "__main__":
    unittest.main()
