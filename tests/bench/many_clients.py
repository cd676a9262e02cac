#!/usr/bin/python3
"""Many clients at once, each on a connection of its own, asking for the status and then for 20 runs, over and over:
calls per second, p50, p99, the daemon's memory; and beside it, turn by turn, a bare gRPC server that answers the same
calls with nothing, and with as many bytes as kprofd does. All on one machine: clients and server share its cores.

    KPROF_BIN=build/release/bin tests/bench/many_clients.py [--clients 1000] [--seconds 5] [--turns 3]
"""

import argparse
import json
import os
import subprocess

import bench_support
import kprof_testing
from catalog_10k import fill
from kprof_testing import Daemon, temporary_folder, wait_until

LOAD = os.path.join(kprof_testing.BIN, "bench_load")


def load(socket, arguments):
    out = subprocess.run([LOAD, "clients", socket, str(arguments.clients), str(arguments.seconds)], check=True,
                         stdout=subprocess.PIPE, timeout=arguments.seconds + 120)
    return json.loads(out.stdout)


def load_bare(folder, runs_bytes, arguments):
    socket = os.path.join(folder, f"bare-{runs_bytes}.sock")
    with subprocess.Popen([LOAD, "bare", socket, str(runs_bytes)], stdin=subprocess.PIPE) as server:
        try:
            wait_until(lambda: os.path.exists(socket), "the bare server to listen")
            return load(socket, arguments)
        finally:
            server.stdin.close()
            server.wait(timeout=kprof_testing.LIMIT_S)
            os.path.exists(socket) and os.unlink(socket)


def rss_mib(pid, field="VmRSS"):
    return kprof_testing.status_number(pid, field) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    bench_support.print_machine()
    with temporary_folder("b-") as folder:
        daemon = Daemon(folder, config="[limits]\nconnections = 100000\nconnections_per_user = 100000\n"
                                       "calls_per_second_per_user = 1000000\n")
        daemon.start()
        daemon.stop()
        fill(daemon.state, 1000)
        daemon.start()
        try:
            ratios = {"nothing": [], "as much": []}
            print(f"kprofd before: {rss_mib(daemon.pid):.1f} MiB")
            for turn in range(arguments.turns):
                ours = load(daemon.socket, arguments)
                if ours["failed"]:
                    raise SystemExit(f"{ours['failed']} calls failed")
                print(f"kprofd:               {describe(ours)}, {rss_mib(daemon.pid):.1f} MiB")
                for answer, runs_bytes in (("nothing", 0), ("as much", ours["runs_bytes"])):
                    bare = load_bare(folder, runs_bytes, arguments)
                    ratios[answer].append(ours["calls_per_second"] / bare["calls_per_second"])
                    print(f"bare, answers {answer}: {describe(bare)}; kprofd is {ratios[answer][-1]:.2f} of it")
            for answer, of_turns in ratios.items():
                print(f"of a bare server that answers {answer}: {min(of_turns):.2f} to {max(of_turns):.2f}")
            print(f"kprofd at most: {rss_mib(daemon.pid, 'VmHWM'):.1f} MiB")
        finally:
            daemon.stop()


def describe(figures):
    return (f"{figures['calls_per_second']:8.0f} calls/s, p50 {figures['p50_ms']:6.1f} ms, p99 {figures['p99_ms']:6.1f} ms, "
            f"most {figures['most_ms']:6.1f} ms")


if __name__ == "__main__":
    main()
