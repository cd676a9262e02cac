"""The crash matrix: kill, power cut and torn write at every operation of a run's life that changes the state folder.

By default every third operation meets one of the faults, in turn; with KPROF_LONG=1 (tests/run --long) each meets all.
Prints the table of cases.
"""

import collections
import concurrent.futures
import statistics
import time
import traceback
import unittest

import scripted_life
from kprof_testing import temporary_folder

THREADS = 2

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
        with temporary_folder("c-") as folder:
            life = scripted_life.Life(folder)
            try:
                life.play()
                life.stop()
                best = max(best, life.faults.trace(), key=len)
                life.restart()
                life.check()
            finally:
                life.close()
    return best


def run_case(fault, at):
    """(outcome, what it hit, seconds of the restart, failure or None)."""
    kind, survives = FAULTS[fault]
    with temporary_folder("c-") as folder:
        life = scripted_life.Life(folder)
        try:
            life.faults.arm(at, kind)
            try:
                life.play()
                life.stop()
                return "never came to it", "", None, None
            except scripted_life.Down:
                life.bury()
            hit = life.faults.what
            if survives:
                life.faults.lose_power(survives, seed=at)
            start_s = life.restart()
            states = life.check()
            outcome = f"in flight: {states.get('in flight', 'not yet')}; queued: {states.get('queued', 'not yet')}"
            return outcome, hit, start_s, None
        except Exception:  # noqa: BLE001 (the case is named below)
            return "FAILED", life.faults.what, None, f"{traceback.format_exc()}\n{life.daemon.log()[-3000:]}"
        finally:
            life.close()


class CrashMatrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scripted_life.need_faults()
        cls.operations = count_operations()

    def test_every_operation_survives_its_faults(self):
        began = time.monotonic()
        cases = scripted_life.choose_cases(FAULTS, len(self.operations))
        outcomes = {fault: collections.Counter() for fault in FAULTS}
        hits = {fault: collections.Counter() for fault in FAULTS}
        starts, failures = [], []
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            for case, (outcome, hit, start_s, failure) in zip(cases, pool.map(lambda case: run_case(*case), cases)):
                fault = case[0]
                outcomes[fault][outcome] += 1
                if hit:
                    hits[fault][hit.split(" /")[0]] += 1
                if start_s is not None:
                    starts.append(start_s)
                if failure:
                    failures.append((case, hit, failure))
        self.print_table(cases, outcomes, hits, starts, time.monotonic() - began)
        self.assertFalse(failures, scripted_life.explain(failures))
        reached = sum(sum(counter.values()) for counter in hits.values())
        self.assertGreater(reached, len(cases) * 0.8, "most cases must come to their fault")

    def print_table(self, cases, outcomes, hits, starts, seconds):
        kinds = collections.Counter(f"{program}: {what}" for _, program, what, _ in self.operations)
        print(f"{len(self.operations)} operations of a life: " +
              ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
        print(f"{len(cases)} cases in {seconds:.0f} s; restart until it listens: median "
              f"{statistics.median(starts) * 1e3:.0f} ms, most {max(starts) * 1e3:.0f} ms")
        for fault in FAULTS:
            print(f"{fault}: {sum(outcomes[fault].values())} cases")
            for outcome, count in outcomes[fault].most_common():
                print(f"  {count:5}  {outcome}")
            print("    hit: " + ", ".join(f"{count} {hit}" for hit, count in hits[fault].most_common()))

    def test_a_supervisor_killed_at_any_of_its_writes_loses_its_run_alone(self):
        own = [number for number, program, _, _ in self.operations if program != "kprofd"]
        self.assertTrue(own)
        for at in own:
            with self.subTest(at=at), temporary_folder("c-") as folder:
                life = scripted_life.Life(folder)
                try:
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
                finally:
                    life.close()


if __name__ == "__main__":
    unittest.main()
