"""What the benchmarks share: the stubs of kprof_stubs.py, percentiles, the machine in a line."""

import os
import platform
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "system"))

import kprof_testing  # noqa: E402,F401
from kprof_stubs import stubs  # noqa: E402,F401


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def line(name, seconds):
    """`name: p50 x ms, p99 y ms, most z ms (n)` of a list of seconds."""
    return (f"{name}: p50 {percentile(seconds, 50) * 1e3:.2f} ms, p99 {percentile(seconds, 99) * 1e3:.2f} ms, "
            f"most {max(seconds) * 1e3:.2f} ms ({len(seconds)})")


def timed(call, *arguments, **named):
    """(seconds, what it returned)."""
    began = time.perf_counter()
    answer = call(*arguments, **named)
    return time.perf_counter() - began, answer


def print_machine():
    model = "?"
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        for entry in file:
            if entry.startswith("model name"):
                model = entry.partition(":")[2].strip()
                break
    with open("/proc/loadavg", encoding="ascii") as file:
        load = file.read().split()[0]
    print(f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load {load} before", flush=True)


def cpu_seconds(pid):
    """Of all threads, to the nanosecond."""
    total_ns = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e9


def switches(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
            total += sum(int(entry.split()[1]) for entry in file if "ctxt_switches" in entry)
    return total
