#!/usr/bin/python3
"""A file of trace events, read and asked three questions: by kprof, and by what people use instead, in turns on the same file;
medians. kprof is asked as its users ask it, by kprofctl, and keeps all of the file on disk; the others have seven columns in
memory.

"to queryable": from the file to where questions can be asked. Of each question the first answer and the median of five more:
how many slices of each category; kernels' durations by name; how long each stream was busy with kernels (a union). For kprof
it is what the daemon took ("elapsed_ms"); kprofctl itself, with its start, takes what the last column says.

    KPROF_BIN=build/release/bin tests/bench/trace_peers.py FILE.json... [--turns 5]

Peers: Python's json and loops; pandas on that (Debian's python3-pandas); sqlite3's json_each; DuckDB's Node package, installed
from npm into a folder that is gone afterwards. What is not on this machine is "not here"; what fails says so.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_support
from kprof_testing import KPROFCTL, running_daemon
from peer_readers import DUCKDB, PANDAS, PYTHON, SQLITE

PACKAGE = "@duckdb/node-api"
KERNELS = "category IN ('kernel', 'Kernel')"
QUESTIONS = {
    "categories": "SELECT key, count FROM sum_by('category')",
    "kernels": f"SELECT key, count, sum_ns FROM sum_by('name') WHERE {KERNELS}",
    "busy": f"SELECT track_id, busy_ns FROM busy('track') WHERE {KERNELS}",
}


def about(question, rows):
    """As the peers tell of their answers; they count in microseconds."""
    values = [row[-1] / (1 if question == "categories" else 1e3) for row in rows]
    return [sum(values)] if question == "busy" else [len(values), sum(values), max(values)]


class Kprof:
    name = "kprof"

    def __init__(self, daemon):
        self.daemon = daemon

    def told(self, *command):
        return json.loads(subprocess.run([KPROFCTL, "--socket", self.daemon.socket, *command], check=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)

    def ask(self, path):
        began = time.perf_counter()
        run = self.told("import", "--again", "--json", path)["id"]
        ready = time.perf_counter() - began
        asked, walls = {}, []
        for name, sql in QUESTIONS.items():
            times = []
            for _ in range(6):
                began = time.perf_counter()
                answer = self.told("query", "--json", "--run", run, sql)
                walls.append((time.perf_counter() - began) * 1e3)
                times.append(answer["elapsed_ms"])
            asked[name] = (times[0], statistics.median(times[1:]), about(name, answer["rows"]))
        return {"ready": ready, "asked": asked, "wall": statistics.median(walls)}


class Program:
    def __init__(self, name, command, folder=None):
        self.name, self.command, self.folder = name, command, folder

    def ask(self, path):
        told = subprocess.run([*self.command, path], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              cwd=self.folder)
        return json.loads(told.stdout)


def has_pandas():
    return subprocess.run([sys.executable, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def has_duckdb(folder):
    if not shutil.which("npm"):
        return False
    return subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, PACKAGE], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300).returncode == 0


def report(path, taken):
    print(f"\n{path}: {os.path.getsize(path) / 1e6:.1f} MB; ms, first / then")
    print(f"  {'':20} {'to queryable':>14} " + "".join(f"{name:>22}" for name in QUESTIONS))
    for name, turns in taken.items():
        if not turns:
            continue
        line = f"  {name:20} {statistics.median(turn['ready'] for turn in turns) * 1e3:11.0f} ms "
        for question in QUESTIONS:
            first, then = (statistics.median(turn["asked"][question][i] for turn in turns) for i in (0, 1))
            line += f"{first:12.2f} /{then:8.2f}"
        if "wall" in turns[0]:
            line += f"   kprofctl {statistics.median(turn['wall'] for turn in turns):.1f} ms"
        print(f"{line}   ({len(turns)} turns)")
    for question in QUESTIONS:
        answers = {name: turns[0]["asked"][question][2] for name, turns in taken.items() if turns}
        for numbers in zip(*answers.values(), strict=True):
            if max(numbers) - min(numbers) > max(1, 1e-6 * max(numbers)):  # doubles of microseconds are not exact
                print(f"  {question}: they do not answer the same: {answers}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    bench_support.print_machine()
    python = [sys.executable, "-c"]
    with tempfile.TemporaryDirectory(prefix="kprof-peers-") as folder, running_daemon() as daemon:
        peers = [Kprof(daemon), Program("Python, json", [*python, PYTHON]), Program("sqlite3, json_each", [*python, SQLITE])]
        absent = []
        for peer, is_here in ((Program("pandas, json", [*python, PANDAS]), has_pandas()),
                              (Program("DuckDB (Node)", ["node", "-e", DUCKDB], folder), has_duckdb(folder))):
            (peers if is_here else absent).append(peer)
        for path in map(os.path.abspath, arguments.files):
            with open(path, "rb") as file:
                while file.read(1 << 22):
                    pass
            taken = {peer.name: [] for peer in peers}
            for _ in range(arguments.turns):
                for peer in list(peers):
                    try:
                        taken[peer.name].append(peer.ask(path))
                    except subprocess.CalledProcessError as error:
                        print(f"  {peer.name} fails with {error.returncode}: left out")
                        peers.remove(peer)
            report(path, taken)
            for peer in absent:
                print(f"  {peer.name:20} not here")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
