"""A disk that is full, or broken, at every operation of a run's life: once, or from then on until it is mended. The daemon
lives and answers, what could not be kept says so with `storage_full` or `storage_broken`, and nothing needs a restart.

By default every third operation meets one of the four, in turn; with tests/run --long each meets all.
"""

import time
import traceback
import unittest

import scripted_life
import kprof_testing
from scripted_life import CaseEnd

# name -> (what the preload does, for how long, what may be said of it)
FAULTS = {
    "full once": ("enospc", False, "storage_full"),
    "full from then on": ("enospc", True, "storage_full"),
    "broken once": ("eio", False, "storage_broken"),
    "broken from then on": ("eio", True, "storage_broken"),
}


def count_operations():
    with scripted_life.new_life("d-") as life:
        life.play()
        life.stop()
        return life.faults.ops


def run_case(fault, at):
    kind, lasting, code = FAULTS[fault]
    with scripted_life.new_life("d-") as life:
        try:
            life.may_fail = True
            life.faults.arm(at, kind, lasting)
            outcome = play(life, code)
            life.restart()
            life.check()
            return CaseEnd(outcome, life.faults.what)
        except (Exception, scripted_life.Down):  # noqa: BLE001 (the case is named below)
            return CaseEnd("FAILED", life.faults.what, f"{traceback.format_exc()}\n{life.daemon.log()[-4000:]}")


def play(life, code):
    try:
        life.start()
    except scripted_life.Down:
        status = life.daemon.process.wait(timeout=kprof_testing.LIMIT_S)
        assert status == kprof_testing.EXIT[code], f"it refused to start with exit {status}"
        return "refused to start"
    life.start = lambda: None  # play goes on from here
    life.play()
    assert life.ask("status")["pid"] == life.daemon.pid
    for verb, refused in life.errors:
        # A run whose end could not be stored is not over for those who add to it or delete it.
        allowed = (code, "usage") if verb in ("artifacts", "delete") else (code,)
        assert refused in allowed, f"{verb} was refused with {refused}"
    ends = {name: end["error"]["code"] if end["error"] else "done" for name, end in life.promises.ends.items()}
    assert set(ends.values()) <= {"done", code}, ends
    fired = life.faults.fired
    life.faults.heal()
    again = life.daemon.ctl.capture("sh", "-c", "echo again", options=("--label", "name=again"))
    assert again["state"] == "done", again
    assert life.daemon.stop() == 0
    if not fired:
        return "never came to it"
    refused = [verb for verb, _ in life.errors]
    failed = [name for name, end in ends.items() if end != "done"]
    words = (["refused: " + ", ".join(refused)] if refused else []) + (["failed: " + ", ".join(failed)] if failed else [])
    return "; ".join(words) or "no difference"


class DiskFull(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scripted_life.need_faults()
        cls.operations = count_operations()

    def test_every_operation_survives_a_full_or_broken_disk(self):
        began = time.monotonic()
        cases = scripted_life.choose_cases(FAULTS, self.operations)
        ends = scripted_life.run_cases(run_case, cases)
        print(f"{self.operations} operations of a life, {len(cases)} cases in {time.monotonic() - began:.0f} s")
        scripted_life.print_outcomes(FAULTS, ends)
        failures = scripted_life.explain_failures(ends)
        self.assertFalse(failures, failures)


if __name__ == "__main__":
    unittest.main()
