#!/usr/bin/python3
"""An optimisation loop in ten rounds: versions of a function, each timed against the best one so far.

    docs/examples/optimise_loop.py                     # with kprofd running: kprofd --user

A turn is a process of kprof.event, the referee: it calls a version of prime_versions.py on inputs of prime_task.py, checks what it
answers, and holds the clock. One of the versions is wrong, and one forges its times: neither becomes the best, nor ends the loop. It
ends when rounds bring nothing any more. In a loop of your own, versions come from you, or from a program that writes them.
"""

import os
import sys

import kprof

HERE = os.path.dirname(os.path.abspath(__file__))
# In the order in which they are tried. The loop ends before the last one.
VERSIONS = ("every_divisor", "odd_divisors", "slows_the_clock", "prime_divisors", "forgets_the_two", "sieve", "byte_sieve",
            "filtered_list", "sieve_by_every_number", "number_set", "sieve")


def command(version):
    return [sys.executable, "-m", "kprof.event", f"{HERE}/prime_versions.py:{version}", "--task", f"{HERE}/prime_task.py", "--tries", "1"]


def main():
    with kprof.session(device="cpu", labels={"loop": "primes"}) as session:
        best = None
        for number, version in enumerate(VERSIONS, 1):
            run = session.capture("event", command(version), against=command(best) if best else None, samples=10, version=version,
                                  raise_errors=False)
            if not run.error and (best is None or run.verdict == "FASTER"):
                best = version
            said = run.error.code if run.error else run.verdict or "first"
            reasons = ", ".join(run.comparison.reasons) if run.comparison else ""
            print(f"round {number}: {version}: {said}{f' ({reasons})' if reasons else ''}", flush=True)
            advice = session.should_stop(rounds=3, improvement=10)
            if advice:
                break
        print(f"stopped: {advice.reason}")
        print(f"best: {advice.best.labels['version']}, {advice.best_ns / 1e6:.3f} ms")
        print(session.show())


if __name__ == "__main__":
    main()
