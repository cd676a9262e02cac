#!/usr/bin/python3
"""How fast reports of Nsight Compute are imported: a .ncu-rep and a raw page of CSV, made here with the shapes of real ones (1,200 metrics of each
launch; in the report also 60 metrics of its instructions, rules and sections). Of each MB/s and rows/s from the file to a finished, durable run, the
median and the least of some turns, and the most memory of the reader.

    KPROF_BIN=build/release/bin tests/bench/kernel_reports.py [--launches 40] [--turns 5] [FILE...]

FILE: other reports, measured instead of those that are made.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import time

import bench_support
import ncu_report_writer as ncu
from import_trace import MostMemory
from kprof_testing import KPROFCTL, running_daemon, temporary_folder

METRICS = [f"smsp__inst_executed_pipe_{i}.sum" for i in range(1200)]
SOURCE_METRICS = [f"smsp__pcsamp_warps_issue_stalled_{i}" for i in range(60)]
INSTRUCTIONS = 800
KERNEL = "void gemm<float, 128, 64>(float const*, float const*, float*, int)"
HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
CELLS = f',"1","bench","host","{KERNEL}","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0"'


def make_report(path, launches):
    made = []
    rules = [ncu.rule(f"Rule{i}", "What this rule says of the kernel. " * 8, speedup=i) for i in range(12)]
    sections = [ncu.section(f"Section{i}", {METRICS[8 * i + j]: f"Label {j}" for j in range(8)}) for i in range(17)]
    for _ in range(launches):
        instances = {name: {0x7f0000000000 + 16 * i: random.randrange(1000) for i in range(INSTRUCTIONS)} for name in SOURCE_METRICS}
        made.append(ncu.launch(KERNEL, {name: random.random() * 1e6 for name in METRICS}, instances=instances, rules=rules, sections=sections))
    with open(path, "wb") as file:
        file.write(ncu.report(made))


def make_csv(path, launches):
    with open(path, "w", encoding="ascii") as file:
        file.write(HEAD + "".join(f',"{name}"' for name in METRICS) + "\n" + '""' + ',""' * 10 + ',"inst"' * len(METRICS) + "\n")
        for i in range(launches):
            file.write(f'"{i}"' + CELLS + "".join(f',"{random.random() * 1e6:,.2f}"' for _ in METRICS) + "\n")


def rows_of(daemon):
    tables = ("metric", "kernel_instance", "kernel_rule", "kernel_section", "kernel_text", "kernel_launch")
    rows = 0
    for table in tables:
        try:
            rows += daemon.ctl.json("query", "--run", "@last", f"SELECT count(*) FROM {table}")["rows"][0][0]
        except AssertionError:  # the part has none of these
            pass
    return rows


def measure(daemon, path, turns):
    seconds = []
    with MostMemory(daemon.pid) as memory:
        for _ in range(turns):
            began = time.perf_counter()
            told = subprocess.run([KPROFCTL, "--socket", daemon.socket, "import", "--again", "--json", path], check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True).stdout
            seconds.append(time.perf_counter() - began)
    trace = json.loads(told)["trace"]
    size = os.path.getsize(path)
    rows = rows_of(daemon)
    print(f"{os.path.basename(path)}: {size / 1e6:.1f} MB, {rows} rows; {size / 1e6 / statistics.median(seconds):.0f} MB/s, "
          f"{rows / statistics.median(seconds) / 1e6:.2f} million rows/s (median of {turns}; least {min(seconds):.2f} s, "
          f"{size / 1e6 / min(seconds):.0f} MB/s); stored {trace['bytes'] / 1e6:.1f} MB; reader {memory.most_kib / 1024:.0f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=40)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("file", nargs="*")
    options = parser.parse_args()
    random.seed(1)
    bench_support.print_machine()
    with temporary_folder("bench-") as folder, running_daemon() as daemon:
        files = options.file
        if not files:
            files = [os.path.join(folder, "made.ncu-rep"), os.path.join(folder, "made_raw.csv")]
            make_report(files[0], options.launches)
            make_csv(files[1], 50 * options.launches)
        for path in files:
            measure(daemon, path, options.turns)


if __name__ == "__main__":
    main()
