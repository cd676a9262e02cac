#!/usr/bin/python3
"""A trace of many slices, never on disk as JSON: make_long_trace writes it into a pipe, zstd packs it, `kprofctl import -`
sends it to a private kprofd, which keeps the packed bytes until they are read. How long that takes, the most memory that
kprofd and its reader took, and what is stored; then how long the part takes to answer (bench_trace_questions), beside the
bars that it is to be within.

    KPROF_BIN=build/release/bin tests/bench/long_trace.py [--slices 1000000 | --long] [--keep FILE.trace.db]

--long: 100 million slices; takes some minutes, and about 6 GB of disk. --keep: a copy of the part stays there.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import time

import bench_support
from import_trace import MostMemory, peak_mib
from kprof_testing import BIN, KPROFCTL, running_daemon
from trace_answers import answers, row

LONG = 100_000_000
MOST_MIB = 512
MOST_OF_SQL = 20_000_000  # GROUP BY of more in plain SQL takes longer than the 30 s that a query has
SUM_MS = 500
TILE_MS = 10


def imported(daemon, slices):
    """(seconds, what kprofctl said of the run, packed bytes)."""
    began = time.perf_counter()
    make = subprocess.Popen([os.path.join(BIN, "make_long_trace"), "--slices", str(slices)], stdout=subprocess.PIPE)
    pack = subprocess.Popen(["zstd", "-1", "-q", "-c"], stdin=make.stdout, stdout=subprocess.PIPE)
    make.stdout.close()
    send = subprocess.Popen([KPROFCTL, "--socket", daemon.socket, "import", "--json", "-"], stdin=pack.stdout,
                            stdout=subprocess.PIPE, text=True)
    pack.stdout.close()
    told = send.communicate()[0]
    if [make.wait(), pack.wait(), send.returncode] != [0, 0, 0]:
        sys.exit(f"the import failed: {told}")
    return time.perf_counter() - began, json.loads(told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=1_000_000)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    slices = LONG if arguments.long else arguments.slices
    bench_support.print_machine()
    with running_daemon() as daemon:
        with MostMemory(daemon.pid) as memory:
            seconds, run = imported(daemon, slices)
        daemon_mib = peak_mib(daemon.pid)
        [part] = glob.glob(os.path.join(daemon.state, "runs", "*", "*.trace.db"))
        if arguments.keep:
            shutil.copyfile(part, arguments.keep)
        trace = run["trace"]
        print(f"\n{trace['slices']} slices, {trace['instants']} instants, {trace['counters']} samples of counters, {trace['tracks']} tracks", flush=True)
        told, asked, tiles = answers(part, *(["--no-sql"] if slices > MOST_OF_SQL else []))
        print(told, flush=True)
        print("In short:")
        row("import, with making and packing it", seconds, "s")
        row("stored", trace["bytes"] / 1e6, "MB")
        row("most memory of kprof-ingest", memory.most_kib / 1024, "MiB", MOST_MIB)
        row("most memory of kprofd", daemon_mib, "MiB", MOST_MIB)
        for name, (cold, warm) in asked.items():
            bar = SUM_MS if name.startswith("sum by name") else None
            row(name + ", cold", cold, "ms", bar)
            row(name + ", warm", warm, "ms", bar)
        for (of, turn), p99 in tiles.items():
            row(f"{of}, {turn}: p99", p99, "ms", TILE_MS)


if __name__ == "__main__":
    main()
