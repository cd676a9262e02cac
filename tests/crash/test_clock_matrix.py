"""kill -9 at every step between the first note of a lock and the last thing given back: of who holds the clocks, of kprofd,
of the supervisor, of the client, and of several at once. Then kprofd is started again, or `--release-clocks` run, in turns:
the device, and DCGM, are as they were. Prints the table.
"""

import collections
import json
import os
import subprocess
import time
import unittest

import scripted_life  # noqa: F401 (puts tests/system on the path)
import kprof_testing
from dcgm_stand_in import HostEngine
from kprof_testing import Daemon, temporary_folder, wait_until
from nvml_stand_in import Model
from test_devices import SETTINGS

# persistence, power limit, SM clock, memory clock: as many to set as to give back.
POLICY = "lock,mem=3201,power=600"
STEPS = 8
VICTIMS = ("keeper", "kprofd", "keeper and kprofd", "client", "supervisor", "all of them")


class Cell:
    """One life: `victim` dies at the `step`-th call that changes something, `before` or `after` it has its effect."""

    def __init__(self, folder, victim, step, moment):
        self.victim, self.step, self.moment = victim, step, moment
        self.model = Model(folder)
        # What others set must be there at the end.
        self.model.set(0, "app_clocks", 3201, 1200)
        self.model.set(0, "power_limit_mw", 650000)
        self.engine = HostEngine(folder)
        self.engine.set(paused=0)
        self.daemon = Daemon(folder, environment=dict(self.model.environment, **self.engine.environment))
        self.before = self.settings()
        self.client = None

    def settings(self):
        shown = self.model.show(0)
        return {name: shown[name] for name in SETTINGS}

    def plan(self, step, supervisor=()):
        named = {"keeper": ("self",), "kprofd": (self.daemon.pid,), "keeper and kprofd": ("self", self.daemon.pid),
                 "client": (self.client.pid,), "supervisor": supervisor,
                 "all of them": ("self", self.daemon.pid, self.client.pid, *supervisor)}
        self.model.set("node", "kill_at", step, self.moment, *named[self.victim])

    def supervisors(self):
        return [pid for pid in kprof_testing.children_of(self.daemon.pid)
                if kprof_testing.read_file(f"/proc/{pid}/comm").startswith(b"kprof-launch")]

    def has_struck(self):
        return json.loads(self.model.control("show"))["kill_in_calls"] == 0

    def run(self):
        """How it was given back."""
        self.daemon.start()
        gate = os.path.join(self.daemon.folder, "gate")
        # Stopped until it is known who it is: the plan names it.
        self.client = subprocess.Popen(
            ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *self.daemon.ctl.command(
                "capture", "command", "--device", "0", "--exclusive", "--clocks", POLICY, "--", "sh", "-c",
                f"until [ -e {gate} ]; do sleep 0.01; done")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: b"T (stopped)" in kprof_testing.read_file(f"/proc/{self.client.pid}/status"), "the client to be stopped")
        at_lock = self.step <= STEPS // 2
        if at_lock:
            self.plan(self.step)
        os.kill(self.client.pid, 18)  # SIGCONT
        wait_until(lambda: self.has_struck() if at_lock else self.supervisors(), "the step, or the command")
        if not at_lock:
            wait_until(lambda: self.settings()["memory_lock"], "all of it to be set")
            self.plan(self.step - STEPS // 2, self.supervisors())
        with open(gate, "w", encoding="utf-8"):
            pass
        wait_until(self.has_struck, "the step")
        return self.recover()

    def recover(self):
        how = "by itself"
        if "kprofd" in self.victim or self.victim == "all of them":
            self.daemon.process.wait(timeout=kprof_testing.LIMIT_S)
            how = ("by the next kprofd", "by --release-clocks")[self.step % 2]
            if self.step % 2:
                done = subprocess.run([kprof_testing.KPROFD, *self.daemon.options(), "--release-clocks"], capture_output=True,
                                      text=True, timeout=kprof_testing.LIMIT_S, env=self.daemon.environment, check=False)
                if done.returncode != 0:
                    raise AssertionError(done.stderr)
            else:
                self.daemon.start()
        wait_until(lambda: self.settings() == self.before, f"the device to be {self.before}")
        wait_until(lambda: not self.engine.paused, "DCGM to be resumed")
        wait_until(lambda: not [name for name in self.daemon.files() if name.endswith(".held")], "nothing to be noted")
        return how

    def end(self):
        if self.client:
            self.client.kill()
            self.client.wait(timeout=kprof_testing.LIMIT_S)
        self.daemon.stop()


class ClockMatrix(unittest.TestCase):
    def test_whoever_is_killed_at_whatever_step_all_is_as_before(self):
        kprof_testing.need_programs()
        outcomes = collections.Counter()
        began = time.monotonic()
        for victim in VICTIMS:
            # Clocks are locked before there is a supervisor.
            first = STEPS // 2 + 1 if victim == "supervisor" else 1
            for step in range(first, STEPS + 1):
                for moment in ("before", "after"):
                    with self.subTest(victim=victim, step=step, moment=moment), temporary_folder("x-") as folder:
                        cell = Cell(folder, victim, step, moment)
                        try:
                            outcomes[(victim, cell.run())] += 1
                        except AssertionError as error:
                            self.fail(f"{error}; it is {cell.settings()}\n{cell.daemon.log()}")
                        finally:
                            cell.end()
        for (victim, how), count in sorted(outcomes.items()):
            print(f"{victim}: {count} given back {how}")
        print(f"{sum(outcomes.values())} lives in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    unittest.main()
