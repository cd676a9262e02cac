#!/usr/bin/python3
"""What a daemon costs that nobody asks anything: memory, processor time and wake-ups, fresh and after some work.

    KPROF_BIN=build/release/bin tests/bench/idle.py [--seconds 60] [--runs 100]
"""

import argparse
import time

import bench_support
import kprof_testing
from kprof_testing import running_daemon


def memory(pid):
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for entry in file:
            words = entry.split()
            if words[0] in ("Rss:", "Pss:", "Private_Dirty:"):
                found[words[0][:-1]] = int(words[1]) / 1024
    return f"RSS {found['Rss']:.1f} MiB, PSS {found['Pss']:.1f} MiB, private dirty {found['Private_Dirty']:.1f} MiB"


def watch(daemon, seconds, when):
    pid = daemon.pid
    cpu, wakes, began = bench_support.cpu_seconds(pid), bench_support.switches(pid), time.perf_counter()
    time.sleep(seconds)
    took = time.perf_counter() - began
    cpu, wakes = bench_support.cpu_seconds(pid) - cpu, bench_support.switches(pid) - wakes
    print(f"{when}: {memory(pid)}, {kprof_testing.status_number(pid, 'Threads')} threads, "
          f"{cpu / took * 100:.4f} % of a core, {wakes / took:.2f} context switches a second", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    bench_support.print_machine()
    with running_daemon() as daemon:
        time.sleep(2)  # what the start leaves to be done
        watch(daemon, arguments.seconds, "fresh")
        for _ in range(arguments.runs):
            daemon.ctl.run("capture", "command", "--", "true")
            daemon.ctl.run("query", "SELECT count(*) FROM run")
        time.sleep(5)  # the checkpoint after the last commit
        watch(daemon, arguments.seconds, f"after {arguments.runs} captures and queries")


if __name__ == "__main__":
    main()
