#!/usr/bin/python3
"""What watching and locking devices costs, on eight H200s of the stand-in for NVIDIA's library, each of whose calls takes as
long as told: samples a second, time of a core and bytes kept for each device, and what `--clocks lock` adds to a capture.

    KPROF_BIN=build/release/bin tests/bench/device_costs.py [--seconds 30] [--turns 40] [--call-us 5000 30000]...
"""

import argparse
import os
import time

import bench_support
import kprof_testing
from kprof_testing import Daemon, temporary_folder
from nvml_stand_in import Model

DEVICES = 8
CALLS_US = [(50, 100), (5000, 30000)]  # of a driver at leisure, and of one that others use


def processes(daemon):
    """kprofd and all workers that it has."""
    return [daemon.pid, *[pid for pid in kprof_testing.children_of(daemon.pid)
                          if kprof_testing.read_file(f"/proc/{pid}/comm").startswith(b"kprof-device")]]


def measure_watching(daemon, seconds):
    pids = processes(daemon)
    idle = {pid: bench_support.cpu_seconds(pid) for pid in pids}
    time.sleep(min(seconds, 10))
    idle = {pid: (bench_support.cpu_seconds(pid) - before) / min(seconds, 10) for pid, before in idle.items()}
    run = daemon.ctl.detach("sleep", str(seconds), options=("--device", "all"))
    daemon.ctl.wait_for_state(run, "running")
    before = {pid: bench_support.cpu_seconds(pid) for pid in pids}
    began = time.perf_counter()
    time.sleep(seconds - 1)
    took = time.perf_counter() - began
    spent = {pid: bench_support.cpu_seconds(pid) - was for pid, was in before.items()}
    ended = daemon.ctl.wait(run)
    samples = [ended["metrics"][f"device_{i}_samples"] for i in range(DEVICES)]
    (kept,) = [os.path.getsize(os.path.join(daemon.run_folder(run), name))
               for name in os.listdir(daemon.run_folder(run)) if name.startswith("samples")]
    added_s = sum(spent.values()) - sum(idle.values()) * took
    # What waits for the driver's events looks for them in the stand-in, many times a second.
    print(f"  nobody watches: kprofd {idle[daemon.pid] * 100:.3f} % of a core, its workers, in the stand-in, "
          f"{sum(share for pid, share in idle.items() if pid != daemon.pid) * 100:.3f}", flush=True)
    print(f"  watched: {min(samples) / seconds:.1f} to {max(samples) / seconds:.1f} samples/s of each; that adds "
          f"{added_s / took * 100 / DEVICES:.3f} % of a core a device ({added_s / (sum(samples) * took / seconds) * 1e9:.0f} ns a "
          f"sample), of which kprofd {spent[daemon.pid] / took * 100 / DEVICES:.3f} % "
          f"({spent[daemon.pid] / (sum(samples) * took / seconds) * 1e9:.0f} ns); kept "
          f"{kept / seconds * 3600 / DEVICES / 1e6:.2f} MB an hour and device", flush=True)


def measure_latency(daemon, turns):
    """From a run's being queued to its command's start, in turns."""
    waits = {"none": [], "lock": []}
    for turn in range(turns):
        for policy, kept in waits.items():
            run = daemon.ctl.capture("true", options=("--device", str(turn % DEVICES), "--clocks", policy))
            assert run["state"] == "done" and not [r for r in run["trust"] if r["code"] == "clocks_not_locked"], run
            kept.append((int(run["started_ns"]) - int(run["queued_ns"])) / 1e9)
    for policy, kept in waits.items():
        print("  " + bench_support.line(f"queued to started, --clocks {policy}", kept), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--call-us", type=int, nargs=2, action="append")
    arguments = parser.parse_args()
    bench_support.print_machine()
    for least, most in arguments.call_us or CALLS_US:
        print(f"each call takes {least} to {most} us", flush=True)
        with temporary_folder() as folder:
            model = Model(folder, ",".join(["h200"] * DEVICES))
            daemon = Daemon(folder, environment=model.environment)
            daemon.start()
            try:
                kprof_testing.wait_until(lambda: len(daemon.ctl.json("devices")["devices"]) == DEVICES + 1, "the devices")
                model.set("all", "delay", "all", least, most)
                measure_watching(daemon, arguments.seconds)
                measure_latency(daemon, arguments.turns)
            finally:
                model.set("all", "faults_clear")
                daemon.stop()


if __name__ == "__main__":
    main()
