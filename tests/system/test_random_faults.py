"""Random faults of the driver and of whoever holds clocks: whatever goes wrong, a device ends as it was. 30 rounds, each
with a kprofd of its own, 1,000 with tests/run --long. A failure names its seed: KPROF_FAULT_SEED=N repeats that round first.
"""

import collections
import os
import random
import subprocess
import time
import unittest

import kprof_testing
from kprof_testing import Daemon, kill_if_there, of_all, temporary_folder, wait_until
from nvml_stand_in import Model
from test_devices import SETTINGS

ROUNDS = of_all(30, 1000, "rounds of faults")

SETTERS = ("nvmlDeviceSetGpuLockedClocks", "nvmlDeviceResetGpuLockedClocks", "nvmlDeviceSetMemoryLockedClocks",
           "nvmlDeviceResetMemoryLockedClocks", "nvmlDeviceSetPersistenceMode", "nvmlDeviceSetPowerManagementLimit")
GETTERS = ("nvmlDeviceGetPersistenceMode", "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetApplicationsClock",
           "nvmlDeviceGetSupportedGraphicsClocks", "nvmlDeviceGetClockInfo", "nvmlDeviceGetHandleByUUID", "nvmlInit_v2")
NOT_PERMITTED, NO_DATA, TIMEOUT, LOST, RESET_REQUIRED, UNKNOWN = 4, 6, 10, 15, 16, 999
POLICIES = ("lock", "lock=1200", "base", "lock,mem=3201", "lock=1200,mem=3201,power=600", "lock,power=500")
HOLDERS = ("session", "capture", "detached", "by hand")
VICTIMS = ("nobody", "keeper", "kprofd", "kprofd and keeper", "supervisor", "client", "stop", "all at a setter", "keeper at a setter")


class Plan:
    """What a round does, all of it from its seed."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.policy = chance.choice(POLICIES)
        self.holder = chance.choice(HOLDERS)
        self.victim = chance.choice(VICTIMS)
        self.faults = [self._fault(chance) for _ in range(chance.choice((0, 1, 1, 2)))]
        # Some are there from the beginning, some come while the clocks are held.
        self.early = [chance.random() < 0.4 for _ in self.faults]
        self.is_lost = chance.random() < 0.1
        self.at = (chance.randrange(1, 9), chance.choice(("before", "after")))
        self.before = [words for words, likely in ((("app_clocks", 3201, 1200), 0.3), (("persistence", "on"), 0.4),
                                                   (("power_limit_mw", 650000), 0.3)) if chance.random() < likely]
        self.pause_s = chance.choice((0, 0, 0.01, 0.05, 0.2))
        self.releases = chance.random() < 0.5
        self.ends_first = chance.random() < 0.3

    @staticmethod
    def _fault(chance):
        function = chance.choice(chance.choice((SETTERS, GETTERS)))
        kind = chance.choices(("error", "delay", "hang"), (6, 2, 2))[0]
        if kind == "error":
            often = chance.choice(((), (1,), (3,)))
            return ("error", function, chance.choice((NOT_PERMITTED, NO_DATA, TIMEOUT, LOST, RESET_REQUIRED, UNKNOWN)), *often)
        if kind == "delay":
            return ("delay", "all", 1000, chance.choice((5000, 30000)))
        # The longest hang beyond what a call may take.
        return ("hang", function, chance.choices((200, 1500, 7000), (6, 3, 1))[0], 1)

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


class Round:
    """One life of a kprofd with the plan's faults."""

    def __init__(self, folder, plan):
        self.plan = plan
        self.model = Model(folder, "h200,t4")
        for words in plan.before:
            self.model.set(0, *words)
        self.daemon = Daemon(folder, environment=self.model.environment)
        self.before = self.settings()
        self.client = None
        self.was_locked = False

    def settings(self):
        shown = self.model.show(0)
        return {name: shown[name] for name in SETTINGS}

    def release(self):
        done = subprocess.run([kprof_testing.KPROFD, *self.daemon.options(), "--release-clocks"], capture_output=True, text=True,
                              timeout=kprof_testing.LIMIT_S, env=dict(os.environ, **self.model.environment), check=False)
        return done.stdout + done.stderr

    def processes(self, name):
        return [pid for pid, (line, _) in kprof_testing.living_processes().items()
                if line.split(b"\0")[0].endswith(name) and os.fsencode(self.daemon.state) in line]

    def strike(self, early):
        for fault, is_early in zip(self.plan.faults, self.plan.early):
            if is_early == early:
                self.model.set(0, *fault)

    def hold(self):
        """By session, capture or hand; how that came out is none of this test's concern."""
        plan, ctl = self.plan, self.daemon.ctl
        clocks = ("--device", "0", "--clocks", plan.policy)
        if plan.holder == "session":
            ctl.run("session", "open", *clocks, expect=None)
        elif plan.holder == "by hand":
            ctl.run("clocks", "lock", "--device", "0", "--ttl", "10m", expect=None)
        elif plan.holder == "detached":
            ctl.run("capture", "command", "--detach", *clocks, "--", "sleep", "0.3" if plan.ends_first else "600", expect=None)
        else:
            self.client = ctl.start("capture", "command", *clocks, "--", "sleep", "600")
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline and self.settings() == self.before:
            time.sleep(0.01)
        self.was_locked = self.model.show(0)["lock"] is not None

    def kill(self):
        victim, daemon = self.plan.victim, self.daemon
        if victim in ("keeper", "kprofd and keeper"):
            for pid in self.processes(b"kprof-clocks"):
                kill_if_there(pid)
        if victim in ("kprofd", "kprofd and keeper") and daemon.process.poll() is None:
            daemon.kill()
        if victim == "supervisor":
            for pid in kprof_testing.processes_with("kprof-launch"):
                if pid in kprof_testing.children_of(daemon.pid):
                    kill_if_there(pid)
        if victim == "client" and self.client:
            self.client.kill()
        if victim == "stop" and daemon.process.poll() is None:
            daemon.stop()

    def let_go(self):
        """All that holds anything is asked to end, as far as there is a kprofd, which a setter may be the end of."""
        for verb, ended in ((("session", "list"), ("closed", "lost", "closing")), (("runs",), ("done", "failed", "cancelled"))):
            listed = self.daemon.ctl.run("--json", *verb, expect=None)
            for one in listed.json[verb[0].rstrip("s") + "s"] if listed.code == 0 else ():
                if one["state"] not in ended:
                    end = ("session", "close") if verb[0] == "session" else ("cancel",)
                    self.daemon.ctl.run(*end, one["id"], expect=None)

    def run(self):
        plan, daemon = self.plan, self.daemon
        self.strike(early=True)
        daemon.start()
        if plan.victim.endswith("at a setter"):
            also = [str(daemon.pid)] if plan.victim.startswith("all") else []
            self.model.set("node", "kill_at", *plan.at, "self", *also)
        self.hold()
        self.strike(early=False)
        if plan.is_lost:
            self.model.set(0, "lost", 1)
        time.sleep(plan.pause_s)
        self.kill()
        if daemon.process.poll() is None:
            self.let_go()
        time.sleep(plan.pause_s)
        # What is wrong ends, and whoever is left has to see to the rest.
        self.model.set("node", "kill_at", "off")
        self.model.set("all", "faults_clear")
        self.model.set(0, "lost", 0)
        if daemon.process.poll() is not None:
            if plan.releases:
                self.release()
            daemon.start()
        self.let_go()
        wait_until(lambda: self.settings() == self.before, f"the device to be {self.before}")
        wait_until(lambda: not self.notes(), "nothing to be noted")

    def notes(self):
        return [name for name in self.daemon.files() if name.endswith(".held")]

    def end(self):
        if self.client:
            self.client.kill()
            self.client.communicate(timeout=kprof_testing.LIMIT_S)
        self.daemon.stop()


class RandomFaults(unittest.TestCase):
    def test_whatever_goes_wrong_a_device_ends_as_it_was(self):
        kprof_testing.need_programs()
        first = int(os.environ.get("KPROF_FAULT_SEED", "0")) or random.randrange(10**9)
        outcomes = collections.Counter()
        for seed in range(first, first + ROUNDS):
            with self.subTest(seed=seed), temporary_folder("f-") as folder:
                plan = Plan(seed)
                round_ = Round(folder, plan)
                try:
                    round_.run()
                except AssertionError as error:
                    print(f"KPROF_FAULT_SEED={seed} fails: {error}", flush=True)  # the rest comes at the end
                    self.fail(f"KPROF_FAULT_SEED={seed}: {plan}: {error}; it is {round_.settings()}, {round_.notes()} noted\n"
                              f"{round_.daemon.log()}")
                finally:
                    round_.end()
                outcomes[(plan.victim, "was locked" if round_.was_locked else "was not")] += 1
        for (victim, locked), count in sorted(outcomes.items()):
            print(f"{victim}, {locked}: {count}")
        locked = sum(count for (_, how), count in outcomes.items() if how == "was locked")
        print(f"rounds {first} to {first + ROUNDS - 1}: a device was locked in {locked}, and ended as it was in "
              f"{sum(outcomes.values())} of {ROUNDS}")
        self.assertGreater(locked, 0)


if __name__ == "__main__":
    unittest.main()
