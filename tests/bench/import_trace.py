#!/usr/bin/python3
"""How long `kprofctl import` takes until a trace is a durable, finished run; beside it, in turns, a bare scan of the same bytes
by simdjson on one thread (eight fields of each event, nothing kept), and what else reads such files: sqlite3's json_each and
pandas, each with seven columns only, in memory (trace_peers.py asks them questions, too). The scan is twice: names of fields
read as text, as programs do, and compared by their bytes, the least that can be done. Medians, and of import and scan also the least of each, which say more where
others use the machine. Also the most memory that kprofd and its reader took, what is
stored, beside the file and its gzip, and how long the stored part takes to answer (bench_trace_questions: the first question
after opening, and the median of the next five); beside the bars that all these are to be within.

    KPROF_BIN=build/release/bin tests/bench/import_trace.py FILE.json... [--turns 5] [--no-peers] [--no-questions]

A large file is made by make_large_trace.py. Each file is read from the page cache; a .gz of it is made beside it, if it is not
there.
"""

import argparse
import glob
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

import bench_support
from kprof_testing import BIN, KPROFCTL, running_daemon
from trace_answers import answers, row

SQLITE = """
CREATE TABLE e AS SELECT value ->> 'ph' AS ph, value ->> 'cat' AS cat, value ->> 'name' AS name, value ->> 'pid' AS pid,
  value ->> 'tid' AS tid, value ->> 'ts' AS ts, value ->> 'dur' AS dur
FROM json_each(readfile('{}'), '$.traceEvents');
SELECT count(*) FROM e;
"""
PANDAS = """
import json, pandas, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
print(len(pandas.DataFrame(events, columns=["ph", "cat", "name", "pid", "tid", "ts", "dur"])))
"""

# Of the questions of bench_trace_questions, and of any tile.
WARM_MS = {"sum by name, category 'kernel'": 10, "busy union per GPU stream": 20, "count by category": 5,
           "slices of a correlation": 2,
           # The same in SQL.
           "SELECT name, sum_ns FROM sum_by('name') WHERE category = 'kernel'": 10,
           "SELECT stream, busy_ns FROM busy('stream') WHERE track_kind = 'gpu_stream'": 20,
           "SELECT category, count FROM sum_by('category')": 5}
TILE_MS = 10
# A virtual machine may have given free memory back by then, and its pages must be made anew.
IDLE_S = 3


class MostMemory:
    """The most that any process of a program had, looked at every 5 ms."""

    def __init__(self, parent_pid):
        self.parent_pid, self.most_kib, self.ended = parent_pid, 0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.ended.wait(0.005):
            for task in os.listdir(f"/proc/{self.parent_pid}/task"):
                try:
                    with open(f"/proc/{self.parent_pid}/task/{task}/children", encoding="ascii") as file:
                        children = file.read().split()
                    for child in children:
                        with open(f"/proc/{child}/status", encoding="ascii") as file:
                            peak = re.search(r"VmHWM:\s+(\d+)", file.read())
                        self.most_kib = max(self.most_kib, int(peak.group(1)) if peak else 0)
                except OSError:
                    pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def scan_seconds(path):
    """(that of the scan, of the same by names' bytes)."""
    told = subprocess.run([os.path.join(BIN, "bench_chrome_scan"), path, "1", "bare"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    bare, by_bytes = (float(ms) / 1e3 for ms in re.findall(r"median ([0-9.]+) ms", told))
    return bare, by_bytes


def import_seconds(daemon, path):
    began = time.perf_counter()
    told = subprocess.run([KPROFCTL, "--socket", daemon.socket, "import", "--again", "--json", path], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    return time.perf_counter() - began, json.loads(told)


def wall(command, **named):
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **named)
    return time.perf_counter() - began


def packed(path):
    target = path + ".gz"
    if not os.path.exists(target):
        with open(path, "rb") as source, gzip.open(target, "wb", 6) as file:
            shutil.copyfileobj(source, file, 1 << 20)
    return target


def peers(path):
    """(name, command) of those that are here."""
    if shutil.which("sqlite3"):
        yield "sqlite3 json_each", ["sqlite3", ":memory:", SQLITE.format(path)]
    if subprocess.run([sys.executable, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        yield "pandas and json", [sys.executable, "-c", PANDAS, path]


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-questions", action="store_true")
    arguments = parser.parse_args()
    bench_support.print_machine()
    for path in arguments.files:
        gz = packed(path)
        for warm in (path, gz):
            with open(warm, "rb") as file:
                while file.read(1 << 22):
                    pass
        taken = {}
        with running_daemon() as daemon:
            for _ in range(arguments.turns):
                bare, by_bytes = scan_seconds(path)
                taken.setdefault("bare scan", []).append(bare)
                taken.setdefault("bare scan, names by bytes", []).append(by_bytes)
                seconds, run = import_seconds(daemon, path)
                taken.setdefault("import", []).append(seconds)
                time.sleep(IDLE_S)
                taken.setdefault(f"import after {IDLE_S} idle seconds", []).append(import_seconds(daemon, path)[0])
                taken.setdefault("import of .gz", []).append(import_seconds(daemon, gz)[0])
                for name, command in [] if arguments.no_peers else peers(path):
                    taken.setdefault(name, []).append(wall(command))
            with MostMemory(daemon.pid) as memory:  # to look takes time: not while it is measured
                import_seconds(daemon, path)
            daemon_mib = peak_mib(daemon.pid)
            [part] = glob.glob(os.path.join(daemon.state, "runs", run["id"], "*.trace.db"))
            told, asked, tiles = ("", {}, {}) if arguments.no_questions else answers(part)
        print(told)
        size, gz_size, stored = os.path.getsize(path), os.path.getsize(gz), run["trace"]["bytes"]
        print(f"{path}: {size / 1e6:.1f} MB, {gz_size / 1e6:.2f} MB as .gz, {run['trace']['slices']} slices")
        middle = {name: statistics.median(seconds) for name, seconds in taken.items()}
        for name, seconds in middle.items():
            row(f"{name} ({len(taken[name])} turns)", seconds * 1e3, "ms")
        row("import, of the scan", middle["import"] / middle["bare scan"], "", 2)
        row("the least import, of the least scan", min(taken["import"]) / min(taken["bare scan"]), "")
        row("import, of the scan by bytes", middle["import"] / middle["bare scan, names by bytes"], "", 2)
        row("import after idle seconds, of one right after another",
            middle[f"import after {IDLE_S} idle seconds"] / middle["import"], "", 1.3)
        row("import of .gz, of plain", middle["import of .gz"] / middle["import"], "", 1.3)
        row("most memory of kprofd", daemon_mib * 1.048576, "MB", 200)
        row("most memory of its reader", memory.most_kib * 1.024e-3, "MB")
        row("stored", stored / 1e6, "MB")
        row("stored, of the .gz", stored / gz_size, "", 0.6)
        for name, (cold, warm) in asked.items():
            row(f"{name}, cold", cold, "ms")
            row(f"{name}, warm", warm, "ms", WARM_MS.get(name))
        for (of, turn), p99 in tiles.items():
            row(f"{of}, {turn}: p99", p99, "ms", TILE_MS)


if __name__ == "__main__":
    main()
