"""The crash matrix: kill, power cut and torn write at every operation of a run's life that changes the state folder.

By default every third operation meets one of the faults, in turn; with tests/run --long each meets all.
Prints the table of cases.
"""

import collections
import statistics
import time
import traceback
import unittest

import scripted_life
from scripted_life import CaseEnd

# name -> (what the preload does, what of the unsynced survives)
FAULTS = {
    "kill": ("kill", None),
    "cut": ("cut", "nothing"),
    "cut, some survives": ("cut", "some"),
    "torn": ("torn", "everything"),
    "torn, the rest lost": ("torn", "nothing"),
}


def count_operations():
    """Of a life without faults: how many, and of which kind. The most of three, as threads take turns differently."""
    best = []
    for _ in range(3):
        with scripted_life.new_life("c-") as life:
            life.play()
            life.stop()
            best = max(best, life.faults.trace(), key=len)
            life.restart()
            life.check()
    return best


def run_case(fault, at):
    kind, survives = FAULTS[fault]
    with scripted_life.new_life("c-") as life:
        try:
            life.faults.arm(at, kind)
            try:
                life.play()
                life.stop()
                return CaseEnd("never came to it")
            except scripted_life.Down:
                life.bury()
            hit = life.faults.what
            if survives:
                life.faults.lose_power(survives, seed=at)
            start_s = life.restart()
            states = life.check()
            outcome = f"in flight: {states.get('in flight', 'not yet')}; queued: {states.get('queued', 'not yet')}"
            return CaseEnd(outcome, hit, start_s=start_s)
        except Exception:  # noqa: BLE001 (the case is named below)
            return CaseEnd("FAILED", life.faults.what, f"{traceback.format_exc()}\n{life.daemon.log()[-3000:]}")


class CrashMatrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scripted_life.need_faults()
        cls.operations = count_operations()

    def test_every_operation_survives_its_faults(self):
        began = time.monotonic()
        cases = scripted_life.choose_cases(FAULTS, len(self.operations))
        ends = scripted_life.run_cases(run_case, cases)
        starts = [end.start_s for _, end in ends if end.start_s is not None]
        kinds = collections.Counter(f"{program}: {what}" for _, program, what, _ in self.operations)
        print(f"{len(self.operations)} operations of a life: " +
              ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
        print(f"{len(cases)} cases in {time.monotonic() - began:.0f} s; restart until it listens: median "
              f"{statistics.median(starts) * 1e3:.0f} ms, most {max(starts) * 1e3:.0f} ms")
        scripted_life.print_outcomes(FAULTS, ends)
        failures = scripted_life.explain_failures(ends)
        self.assertFalse(failures, failures)
        reached = sum(bool(end.hit) for _, end in ends)
        self.assertGreater(reached, len(cases) * 0.8, "most cases must come to their fault")

    def test_a_supervisor_killed_at_any_of_its_writes_loses_its_run_alone(self):
        own = [number for number, program, _, _ in self.operations if program != "kprofd"]
        self.assertTrue(own)
        for at in own:
            with self.subTest(at=at), scripted_life.new_life("c-") as life:
                life.faults.arm(at, "kill doer")
                try:
                    life.play()
                    life.stop()
                except scripted_life.Down:
                    life.bury()  # this time the operation was the daemon's
                ends = [end["error"]["code"] for end in life.promises.ends.values() if end["error"]]
                self.assertIn(ends, ([], ["lost_daemon"]))
                life.restart()
                life.check()


if __name__ == "__main__":
    unittest.main()
