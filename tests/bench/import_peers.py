#!/usr/bin/python3
"""From a file of trace events to a sum by name: kprof, and what people use instead, in turns on the same file; medians.
"to queryable" is from the file to where questions can be asked: for kprof a durable run, for the others a table or a list
in memory, of seven columns (kprof keeps all). "sum" is the sum of the durations of slices by name, then.

    KPROF_BIN=build/release/bin tests/bench/import_peers.py FILE.json... [--turns 3]

Peers: Python's json and a loop; pandas on that (Debian's python3-pandas); sqlite3's json_each into a table; DuckDB's Node
package, installed from npm into a folder that is gone afterwards. What is not on this machine is "not here".
"""

import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_support
from kprof_testing import BIN, KPROFCTL, running_daemon

DUCKDB = "@duckdb/node-api"

# Each prints the seconds to queryable, those of the sum, and how many names there are.
PYTHON = """
import collections, json, sys, time
began = time.perf_counter()
events = json.load(open(sys.argv[1]))["traceEvents"]
ready = time.perf_counter()
sums = collections.defaultdict(float)
for event in events:
    if event.get("ph") == "X":
        sums[event["name"]] += event.get("dur", 0)
print(ready - began, time.perf_counter() - ready, len(sums))
"""
PANDAS = """
import json, pandas, sys, time
began = time.perf_counter()
events = json.load(open(sys.argv[1]))["traceEvents"]
frame = pandas.DataFrame(events, columns=["ph", "cat", "name", "pid", "tid", "ts", "dur"])
ready = time.perf_counter()
sums = frame[frame["ph"] == "X"].groupby("name")["dur"].sum()
print(ready - began, time.perf_counter() - ready, len(sums))
"""
SQLITE = """
CREATE TABLE e AS SELECT value ->> 'ph' AS ph, value ->> 'cat' AS cat, value ->> 'name' AS name, value ->> 'pid' AS pid,
  value ->> 'tid' AS tid, value ->> 'ts' AS ts, value ->> 'dur' AS dur FROM json_each(readfile('{}'), '$.traceEvents');
"""
SQLITE_SUM = "SELECT count(*) FROM (SELECT name, sum(dur) FROM e WHERE ph = 'X' GROUP BY name);"
NODE = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  const seconds = () => Number(process.hrtime.bigint()) / 1e9;
  const began = seconds();
  await connection.run(`CREATE TABLE e AS SELECT unnest(traceEvents, recursive := true) FROM read_json('${process.argv[1]}',
    maximum_object_size = 4000000000, columns = {traceEvents:
    'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid VARCHAR, tid VARCHAR, ts DOUBLE, dur DOUBLE)[]'})`);
  const ready = seconds();
  const sums = await connection.runAndReadAll("SELECT name, sum(dur) FROM e WHERE ph = 'X' GROUP BY name");
  console.log(ready - began, seconds() - ready, sums.currentRowCount);
})();
"""


def three_numbers(command, **named):
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **named).stdout.split()
    return float(told[0]), float(told[1]), int(told[2])


class Kprof:
    name = "kprof"

    def __init__(self, daemon):
        self.daemon = daemon

    def ask(self, path):
        began = time.perf_counter()
        subprocess.run([KPROFCTL, "--socket", self.daemon.socket, "import", "--again", path], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ready = time.perf_counter() - began
        part = max(glob.glob(os.path.join(self.daemon.state, "runs", "*", "*.trace.db")), key=os.path.getmtime)
        told = subprocess.run([os.path.join(BIN, "bench_trace_questions"), "--sum", part], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.split()
        return ready, float(told[0]), int(told[1])


class OfPython:
    def __init__(self, name, text):
        self.name, self.text = name, text

    def ask(self, path):
        return three_numbers([sys.executable, "-c", self.text, path])


class Sqlite:
    name = "sqlite3, json_each"

    def ask(self, path):
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "e.db")
            began = time.perf_counter()
            subprocess.run(["sqlite3", table, SQLITE.format(path)], check=True)
            ready = time.perf_counter()
            told = subprocess.run(["sqlite3", table, SQLITE_SUM], check=True, stdout=subprocess.PIPE, text=True).stdout
            return ready - began, time.perf_counter() - ready, int(told)


class DuckDb:
    name = "DuckDB (Node)"

    def __init__(self, folder):
        self.folder = folder

    def ask(self, path):
        return three_numbers(["node", "-e", NODE, path], cwd=self.folder)


def has_module(name):
    return subprocess.run([sys.executable, "-c", f"import {name}"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def has_duckdb(folder):
    if not shutil.which("npm"):
        return False
    return subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, DUCKDB], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    bench_support.print_machine()
    with tempfile.TemporaryDirectory(prefix="kprof-peers-") as folder, running_daemon() as daemon:
        peers = [Kprof(daemon), OfPython("Python, json", PYTHON)]
        absent = []
        for peer, is_here in ((OfPython("pandas, json", PANDAS), has_module("pandas")),
                              (Sqlite(), bool(shutil.which("sqlite3"))), (DuckDb(folder), has_duckdb(folder))):
            (peers if is_here else absent).append(peer)
        for path in map(os.path.abspath, arguments.files):
            with open(path, "rb") as file:
                while file.read(1 << 22):
                    pass
            taken = {peer.name: [] for peer in peers}
            for _ in range(arguments.turns):
                for peer in peers:
                    try:
                        taken[peer.name].append(peer.ask(path))
                    except subprocess.CalledProcessError as error:
                        print(f"{peer.name} fails: {error}")
            print(f"\n{path}: {os.path.getsize(path) / 1e6:.1f} MB")
            for name, seconds in taken.items():
                if seconds:
                    ready, asked = (statistics.median(column) for column in list(zip(*seconds))[:2])
                    print(f"  {name:20} to queryable {ready * 1e3:9.1f} ms   sum {asked * 1e3:9.2f} ms   "
                          f"{seconds[0][2]} names   ({len(seconds)} turns)")
            for peer in absent:
                print(f"  {peer.name:20} not here")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
