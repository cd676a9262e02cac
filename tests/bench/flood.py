#!/usr/bin/python3
"""A command that prints 10 GB: how fast it gets rid of it (and how fast through a plain pipe, in turns), what memory and
disk it costs, and how quickly others are answered meanwhile.

    KPROF_BIN=build/release/bin tests/bench/flood.py [--gigabytes 10] [--turns 3] [--system]

With --system, which needs root, the daemon is of system mode and the command a caller's in the foreground: what it prints
goes through kprofd, which keeps the log itself.
"""

import argparse
import contextlib
import os
import subprocess
import time

import bench_support
import kprof_testing
from kprof_node import ALICE, Caller, SystemDaemon
from kprof_testing import running_daemon, temporary_folder, wait_until


def through_a_pipe(size):
    began = time.perf_counter()
    subprocess.run(["sh", "-c", f"head -c {size} /dev/zero | cat >/dev/null"], check=True)
    return size / (time.perf_counter() - began)


def state_bytes(daemon):
    total = 0
    for name in daemon.files():
        try:
            total += os.lstat(os.path.join(daemon.state, name)).st_blocks * 512
        except OSError:
            pass
    return total


@contextlib.contextmanager
def running_node():
    """As running_daemon, in system mode; its client is a caller."""
    with temporary_folder() as folder:
        daemon = SystemDaemon(folder)
        daemon.start()
        daemon.ctl = Caller(daemon, ALICE)
        try:
            yield daemon
        finally:
            daemon.stop()


def begin(daemon, size, in_foreground):
    """The id of the run; and of the process that is above its supervisor."""
    command = ("head", "-c", str(size), "/dev/zero")
    if not in_foreground:
        return daemon.ctl.detach(*command), daemon.pid
    process = daemon.ctl.start("--json", "capture", "command", "--", *command)
    run = wait_until(lambda: [row["id"] for row in daemon.ctl.json("runs", "--limit", "1")["runs"]
                              if row["state"] != "queued"], "the run")[0]
    keepers = wait_until(lambda: kprof_testing.children_of(process.pid), "its keeper")
    return run, keepers[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--system", action="store_true")
    arguments = parser.parse_args()
    size = int(arguments.gigabytes * 1e9)
    bench_support.print_machine()
    with running_node() if arguments.system else running_daemon() as daemon:
        quiet = [bench_support.timed(daemon.ctl.run, "status")[0] for _ in range(50)]
        before_kib = kprof_testing.status_number(daemon.pid, "VmRSS")
        rates, pipes, beside, daemon_kib, supervisor_kib, disk = [], [], [], 0, 0, 0
        for _ in range(arguments.turns):
            run, above = begin(daemon, size, arguments.system)
            while daemon.ctl.show(run)["state"] not in ("done", "failed", "cancelled"):
                beside.append(bench_support.timed(daemon.ctl.run, "status")[0])
                daemon_kib = max(daemon_kib, kprof_testing.status_number(daemon.pid, "VmRSS"))
                for child in kprof_testing.children_of(above):
                    supervisor_kib = max(supervisor_kib, kprof_testing.status_number(child, "VmRSS"))
                disk = max(disk, state_bytes(daemon))
                time.sleep(0.05)
            ended = daemon.ctl.show(run)
            assert ended["state"] == "done" and ended["stdout_bytes"] == size, ended
            rates.append(size / (ended["metrics"]["wall_ns"] / 1e9))
            daemon.ctl.run("delete", run)
            pipes.append(through_a_pipe(size))
    print("under kprofd: " + ", ".join(f"{rate / 1e9:.2f}" for rate in rates) + " GB/s; through a plain pipe to cat: " +
          ", ".join(f"{rate / 1e9:.2f}" for rate in pipes) + f" GB/s; ratio of the medians "
          f"{bench_support.percentile(rates, 50) / bench_support.percentile(pipes, 50):.2f}")
    print(f"memory: daemon {before_kib / 1024:.1f} MiB before, at most {daemon_kib / 1024:.1f} MiB; supervisor at most "
          f"{supervisor_kib / 1024:.1f} MiB; state folder at most {disk / 1e6:.1f} MB")
    print(bench_support.line("kprofctl status, nothing else going on", quiet))
    print(bench_support.line("kprofctl status, beside the flood", beside))


if __name__ == "__main__":
    main()
