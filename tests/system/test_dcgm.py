"""DCGM's profiling, of a stand-in: paused by who holds a pause, and as it was before after any end of that and of kprofd."""

import hashlib
import os
import subprocess
import unittest

import kprof_testing
from dcgm_stand_in import HOLDER, TOOL_FOLDER, HostEngine, Holder
from kprof_testing import Daemon, kill_if_there, temporary_folder, wait_until


class DcgmTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(temporary_folder())
        self.engine = HostEngine(self.folder)
        self.engine.set(paused=0)
        self.daemon = Daemon(self.folder, environment=self.engine.environment)
        self.addCleanup(self.daemon.stop)

    def holder(self, **options):
        holder = Holder(self.daemon.state, self.engine.environment, **options)
        self.addCleanup(holder.kill)
        return holder

    def noted(self):
        return os.path.exists(os.path.join(self.daemon.state, "profilers", "dcgm.held"))

    def wait_until_as_before(self, paused=False):
        wait_until(lambda: self.engine.paused == paused and not self.noted(), "DCGM to be as it was")

    def release_clocks(self):
        return subprocess.run([kprof_testing.KPROFD, *self.daemon.options(), "--release-clocks"], capture_output=True,
                              text=True, timeout=2 * kprof_testing.LIMIT_S, env=dict(os.environ, **self.engine.environment))

    def keepers(self):
        """The pids of all holders that a kprofd of this state folder has started."""
        return [pid for pid, (line, _) in kprof_testing.living_processes().items()
                if line.split(b"\0")[0] == b"kprof-pause" and os.fsencode(self.daemon.state) in line]

    def leave_paused(self, by_others=False):
        """As a holder leaves it that is killed together with its kprofd."""
        self.engine.set(paused=int(by_others))
        holder = self.holder()
        self.assertEqual(holder.pause()[0], Holder.PAUSED)
        holder.kill()
        self.assertTrue(self.engine.paused and self.noted())

    def test_a_holder_resumes_when_told_and_when_it_is_alone(self):
        holder = self.holder()
        self.assertEqual(holder.pause()[0], Holder.PAUSED)
        self.assertTrue(self.engine.paused and self.noted())
        self.assertEqual(holder.release()[0], Holder.RELEASED)
        self.assertFalse(self.engine.paused or self.noted())
        self.assertEqual(holder.pause()[0], Holder.PAUSED)
        holder.leave()
        self.assertEqual(holder.wait(), 0)
        self.assertFalse(self.engine.paused or self.noted())

    def test_by_its_tool_the_same(self):
        holder = self.holder(library="", tool_path=TOOL_FOLDER)
        self.assertEqual(holder.pause()[0], Holder.PAUSED)
        self.assertTrue(self.engine.paused)
        self.assertEqual(holder.release()[0], Holder.RELEASED)
        self.assertFalse(self.engine.paused or self.noted())

    def test_a_pause_ends_by_its_limit_whatever_its_kprofd_does(self):
        holder = self.holder()
        self.assertEqual(holder.pause(limit_s=1)[0], Holder.PAUSED)
        self.wait_until_as_before()
        self.assertIsNone(holder.process.poll())

    def test_the_next_kprofd_resumes(self):
        self.leave_paused()
        self.daemon.start()
        self.wait_until_as_before()

    def test_release_clocks_resumes(self):
        self.leave_paused()
        done = self.release_clocks()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"kprofd: DCGM's profiling is resumed (state {self.daemon.state})\n")
        self.wait_until_as_before()
        self.assertEqual(self.release_clocks().stdout, f"kprofd: no clocks are held (state {self.daemon.state})\n")

    def test_what_others_paused_stays_paused(self):
        for end in (self.daemon.start, self.release_clocks):
            self.leave_paused(by_others=True)
            end()
            self.wait_until_as_before(paused=True)
            self.daemon.stop()

    def test_a_note_of_an_earlier_boot_is_closed_not_replayed(self):
        self.leave_paused()
        self.write_note_of_another_boot()
        self.assertEqual(self.release_clocks().returncode, 0)
        self.assertFalse(self.noted())
        self.assertTrue(self.engine.paused, "what is paused now is somebody else's")

    def write_note_of_another_boot(self):
        text = "kprof pause held 1\nboot an-earlier-boot\nholder run 1\nsince_unix_ns 1\nby_others 0\nset 1\n"
        with open(os.path.join(self.daemon.state, "profilers", "dcgm.held"), "w", encoding="ascii") as file:
            file.write(f"{text}sum {hashlib.sha256(text.encode()).hexdigest()[:16]}\n")

    def test_release_clocks_says_what_it_cannot_resume(self):
        self.leave_paused()
        self.engine.set(error_resume=-37)
        done = self.release_clocks()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("resume DCGM's profiling", done.stderr)
        self.assertTrue(self.noted())
        self.engine.set(error_resume=0)
        self.assertEqual(self.release_clocks().returncode, 0)
        self.wait_until_as_before()

    def test_a_stop_waits_until_it_is_resumed(self):
        self.leave_paused()
        self.engine.set(hang="resume")
        self.daemon.start()
        wait_until(self.keepers, "one to be at it")
        self.engine.set(hang="")
        self.assertEqual(self.daemon.stop(), 0)
        self.wait_until_as_before()

    def test_a_kprofd_starts_and_serves_while_dcgm_hangs(self):
        self.leave_paused()
        self.engine.set(hang="connect")
        self.daemon.start()
        self.assertEqual(self.daemon.ctl.capture("true")["state"], "done")
        self.engine.set(hang="")
        self.wait_until_as_before()

    # Whoever is killed, at each side of each call: the holder, its kprofd (this process), both. Then who comes next.
    def test_kill_a_holder_at_every_step(self):
        for by_others in (False, True):
            for whom in ("holder", "kprofd", "both"):
                for step, moment in ((1, "before"), (1, "after"), (2, "before"), (2, "after")):
                    for next_one in ("kprofd", "release-clocks"):
                        with self.subTest(by_others=by_others, whom=whom, step=step, moment=moment, next=next_one):
                            self.kill_at(by_others, whom, step, moment, next_one)

    def kill_at(self, by_others, whom, step, moment, next_one):
        self.engine.set(paused=int(by_others), kill_at=0)
        holder = self.holder()
        if whom != "kprofd":
            self.engine.set(kill_at=step, kill_moment=moment, kill_pids="self")
        answered, _ = holder.pause()
        if whom == "kprofd":
            holder.leave()  # and the holder goes on by itself
            self.assertEqual(holder.wait(), 0)
        else:
            if answered is not None:
                answered, _ = holder.release()
            if whom == "both" or answered is None:
                holder.kill()
            holder.leave()
            holder.wait()
        self.engine.set(kill_at=0)
        if next_one == "kprofd":
            self.daemon.start()
            self.wait_until_as_before(paused=by_others)
            self.daemon.stop()
        else:
            self.assertEqual(self.release_clocks().returncode, 0)
            self.wait_until_as_before(paused=by_others)

    # The same for a kprofd that resumes what is left, and its own holder.
    def test_kill_a_kprofd_that_resumes_at_every_step(self):
        for with_kprofd in (False, True):
            for moment in ("before", "after"):
                for next_one in ("kprofd", "release-clocks"):
                    with self.subTest(with_kprofd=with_kprofd, moment=moment, next=next_one):
                        self.kill_while_resuming(with_kprofd, moment, next_one)

    def kill_while_resuming(self, with_kprofd, moment, next_one):
        self.leave_paused()
        self.engine.set(hang="resume")
        self.daemon.start()
        wait_until(self.keepers, "one to be at it")
        victims = f"self,{self.daemon.pid}" if with_kprofd else "self"
        self.engine.set(kill_at=1, kill_moment=moment, kill_pids=victims)
        self.engine.set(hang="")
        wait_until(lambda: self.engine.number("kill_at") == 0, "the kill to come")
        if with_kprofd:
            self.daemon.process.wait(timeout=kprof_testing.LIMIT_S)
            self.assertTrue(self.noted())
        elif next_one == "kprofd":
            self.wait_until_as_before()  # another holder resumes
        self.daemon.kill()
        for pid in self.keepers():
            kill_if_there(pid)
        wait_until(lambda: not self.keepers(), "the holders to be gone")
        if next_one == "kprofd":
            self.daemon.start()
            self.wait_until_as_before()
            self.daemon.stop()
        else:
            self.assertEqual(self.release_clocks().returncode, 0)
            self.wait_until_as_before()

    def test_it_is_started_by_nobody_else(self):
        done = subprocess.run([HOLDER], capture_output=True, text=True, timeout=kprof_testing.LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "kprof-pause: kprofd starts it, nobody else\n"))


class DcgmToolTest(unittest.TestCase):
    """The stand-in for dcgmi has the flags, the words and the ends of the real one."""

    def setUp(self):
        kprof_testing.need_programs()
        self.engine = HostEngine(self.enterContext(temporary_folder()))

    def dcgmi(self, *words):
        done = subprocess.run([os.path.join(TOOL_FOLDER, "dcgmi"), *words], capture_output=True, text=True, check=False,
                              timeout=kprof_testing.LIMIT_S, env=dict(os.environ, **self.engine.environment))
        return done.returncode, done.stdout

    def test_pause_and_resume(self):
        self.assertEqual(self.dcgmi("profile", "--pause"), (0, "Successfully paused profiling.\n"))
        self.assertTrue(self.engine.paused)
        self.assertEqual(self.dcgmi("profile", "--pause"), (0, "Successfully paused profiling.\n"))
        self.assertEqual(self.dcgmi("profile", "--resume"), (0, "Successfully resumed profiling.\n"))
        self.assertFalse(self.engine.paused)

    def test_list(self):
        code, out = self.dcgmi("profile", "--list")
        self.assertEqual(code, 0)
        self.assertIn("| Group.Subgroup | Field ID |", out)

    def test_failures(self):
        self.engine.set(profiles=0)
        self.assertEqual(self.dcgmi("profile", "--pause"),
                         (250, "Error: unable to pause profiling metrics: This request is not supported.\n"))
        self.engine.set(engine=0)
        self.assertEqual(self.dcgmi("profile", "--pause"),
                         (235, "Error: unable to establish a connection to the specified host: localhost\n"
                               "Error: Unable to connect to host engine. Host engine connection invalid/disconnected.\n"))
        self.assertEqual(self.dcgmi("profile")[0], 255)


if __name__ == "__main__":
    unittest.main()
