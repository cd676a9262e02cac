#!/usr/bin/python3
"""How often `capture event --against` is right on this machine: pairs of equal commands, and pairs of which one does 5 % less or more work.

    KPROF_BIN=build/release/bin tests/bench/verdicts.py [--equal 50] [--different 20] [--percent 5] [--work 2000000] [--budget 60s]

The command adds up squares in Python; it is CPU-bound, and a process takes about a tenth of a second. FASTER or SLOWER of equal commands is false; of different ones all but
the right one of the two. What else the machine does is part of it.
"""

import argparse
import collections
import statistics
import sys
import time

import bench_support
from kprof_testing import running_daemon

WORK = "s = 0\nfor i in range({}): s += i * i"


def command(work):
    return f"{sys.executable} -I -c '{WORK.format(work)}'"


def pairs(daemon, name, count, works, right, budget):
    verdicts, ratios, seconds, turns = collections.Counter(), [], [], []
    for i in range(count):
        began = time.perf_counter()
        run = daemon.ctl.json("capture", "event", "--budget", budget, "--seed", str(1000 + i), "--against", command(works[0]), "--", "sh", "-c", command(works[1]), limit_s=900)
        seconds.append(time.perf_counter() - began)
        verdicts[run["verdict"]] += 1
        ratios.append(run["comparison"]["ratio"])
        turns.append(run["metrics"]["turns"])
    wrong = sum(n for verdict, n in verdicts.items() if verdict in ("FASTER", "SLOWER") and verdict != right)
    found = verdicts[right] if right else None
    print(f"{name}: {count} pairs, {dict(sorted(verdicts.items()))}, wrong {wrong}" + (f", found {found}" if right else "") +
          f"; ratio {statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f}); {statistics.mean(seconds):.1f} s and {statistics.mean(turns):.0f} processes each", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--equal", type=int, default=50)
    parser.add_argument("--different", type=int, default=20)
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--work", type=int, default=2_000_000)
    parser.add_argument("--budget", default="60s")
    args = parser.parse_args()
    bench_support.print_machine()
    more = round(args.work * (1 + args.percent / 100))
    with running_daemon() as daemon:
        pairs(daemon, "equal", args.equal, (args.work, args.work), None, args.budget)
        pairs(daemon, f"{args.percent:g} % less work", args.different // 2, (more, args.work), "FASTER", args.budget)
        pairs(daemon, f"{args.percent:g} % more work", args.different - args.different // 2, (args.work, more), "SLOWER", args.budget)


if __name__ == "__main__":
    main()
