#!/usr/bin/python3
"""What analyses take: each kind about one run, asked by gRPC on an open connection, from the question to the last row.

For each source: an import; the daemon is started again, and all kinds are asked once (cold, nothing of the run is in memory);
then in turns (warm, medians). Milliseconds of wall and of the daemon's processor time, all kinds together at the end, and the
most memory that the daemon ever had more than before.

    KPROF_BIN=build/release/bin tests/bench/analyses.py SOURCE... [--kinds K,K] [--turns 5] [--ranks N] [--pandas]

A source is a file; a folder or an archive is one run of many ranks. `--ranks N`: the ranks again and again until there are so
many, with numbers of their own. `--pandas`: beside Debian's python3-pandas, which loads the file and answers four of the kinds
(temporal-breakdown, kernel-breakdown, overlap, launch-stats) in a process of its own.
"""

import argparse
import contextlib
import glob
import gzip
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import bench_support
import grpc
from kprof_testing import LIMIT_S, running_daemon

RANK = re.compile(rb'("rank"\s*:\s*)([0-9]+)')
WORLD = re.compile(rb'("world_size"\s*:\s*)([0-9]+)')

PANDAS = """
import gzip, json, sys, time
began = time.perf_counter()
import pandas
opened = gzip.open if sys.argv[1].endswith(".gz") else open
with opened(sys.argv[1]) as file:
    frame = pandas.DataFrame([event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"])
loaded = time.perf_counter()
args = pandas.DataFrame(list(frame["args"].map(lambda value: value if isinstance(value, dict) else {})))
frame["stream"], frame["correlation"] = args.get("stream"), args.get("correlation")
work = frame[frame["cat"].isin(["kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset"])]
def union(part):
    part = part.sort_values("ts")
    ends = (part["ts"] + part["dur"]).cummax().shift(fill_value=part["ts"].min())
    return (part["ts"] + part["dur"] - part["ts"].clip(lower=ends)).clip(lower=0).sum() if len(part) else 0
is_communication = work["name"].str.contains("nccl|rccl", case=False)
both = union(work)
answers = [both, work.groupby("name")["dur"].agg(["count", "sum", "mean", "min", "max"]).sort_values("sum"),
           union(work[is_communication]) + union(work[~is_communication]) - both]
calls = frame[frame["cat"].isin(["cuda_runtime", "Runtime", "cuda_driver"])]
answers.append(calls.merge(work, on="correlation", suffixes=("_call", "")).eval("ts - ts_call").mean())
print(loaded - began, time.perf_counter() - loaded)
"""


def fetch(source, folder, ranks):
    """The paths to import for a source."""
    if source.endswith((".tar.gz", ".tgz")):
        with tarfile.open(source) as archive:
            archive.extractall(folder)
        source = folder
    if not os.path.isdir(source):
        return [source]
    paths = sorted(path for path in glob.glob(os.path.join(source, "**", "*"), recursive=True) if os.path.isfile(path))
    if not ranks:
        return paths
    made = []
    for number in range(ranks):
        with (gzip.open if paths[number % len(paths)].endswith(".gz") else open)(paths[number % len(paths)], "rb") as file:
            text = file.read()
        text = RANK.sub(lambda match: b"%b%d" % (match.group(1), number), text)
        text = WORLD.sub(lambda match: b"%b%d" % (match.group(1), ranks), text)
        made.append(os.path.join(folder, f"made_rank{number}.json"))
        with open(made[-1], "wb") as file:
            file.write(text)
    return made


class Asked:
    """A daemon's kinds of analyses, asked by gRPC."""

    def __init__(self, wire, daemon):
        self.wire, self.daemon = wire, daemon
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        options = [("grpc.max_receive_message_length", -1)]
        channel = self.stack.enter_context(grpc.insecure_channel("unix:" + self.daemon.socket, options))
        self.stub = self.wire.analyses_pb2_grpc.AnalysisServiceStub(channel)
        self.ask("temporal-breakdown", "none")  # connects
        return self

    def __exit__(self, *error):
        self.stack.close()

    def kinds(self):
        kinds = self.stub.ListAnalyses(self.wire.analyses_pb2.ListAnalysesRequest(), timeout=LIMIT_S).kinds
        return [kind.name for kind in kinds if kind.name != "compare"]

    def ask(self, kind, run):
        """(ms, ms of processor time, bytes)."""
        request = self.wire.analyses_pb2.AnalyzeRequest(kind=kind, runs=[run], timeout_ms=120_000)
        before, began = bench_support.cpu_seconds(self.daemon.pid), time.perf_counter()
        size = 0
        with contextlib.suppress(grpc.RpcError):
            for message in self.stub.Analyze(request, timeout=130):
                size += message.ByteSize()
        wall = time.perf_counter() - began
        return wall * 1e3, (bench_support.cpu_seconds(self.daemon.pid) - before) * 1e3, size


def most_memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(entry.split()[1]) for entry in file if entry.startswith("VmHWM")) / 1024


def measure(wire, source, arguments):
    with tempfile.TemporaryDirectory() as folder, running_daemon() as daemon:
        paths = fetch(source, folder, arguments.ranks)
        size = sum(os.path.getsize(path) for path in paths) / 1e6
        began = time.perf_counter()
        run = daemon.ctl.json("import", "--one-run", *paths, limit_s=600)["id"]
        print(f"\n{os.path.basename(source)}: {len(paths)} files, {size:.1f} MB, imported in {time.perf_counter() - began:.2f} s")
        daemon.stop()
        daemon.start()
        with Asked(wire, daemon) as asked:
            kinds = arguments.kinds.split(",") if arguments.kinds else asked.kinds()
            before = most_memory(daemon.pid)
            cold = {kind: asked.ask(kind, run) for kind in kinds}
            warm = {kind: [] for kind in kinds}
            for _ in range(arguments.turns):
                for kind in kinds:
                    warm[kind].append(asked.ask(kind, run))
            print(f"  {'':22} {'cold':>8} {'warm':>8} {'cpu':>8} ms {'answer':>9} KB")
            sums = [0, 0, 0]
            for kind in kinds:
                row = [cold[kind][0], *(statistics.median(one[i] for one in warm[kind]) for i in (0, 1))]
                sums = [total + value for total, value in zip(sums, row)]
                print(f"  {kind:22} {row[0]:8.1f} {row[1]:8.1f} {row[2]:8.1f}    {cold[kind][2] / 1e3:9.1f}")
            print(f"  {'all together':22} {sums[0]:8.1f} {sums[1]:8.1f} {sums[2]:8.1f}    {most_memory(daemon.pid) - before:9.1f} MB more")
    if arguments.pandas and len(paths) == 1 and os.path.exists(source):
        ran = subprocess.run(["/usr/bin/python3", "-c", PANDAS, source], stdout=subprocess.PIPE, text=True, check=False)
        load, answer = map(float, ran.stdout.split()) if ran.returncode == 0 else (float("nan"), float("nan"))
        print(f"  pandas, four of the kinds: {load * 1e3:.0f} ms to load, {answer * 1e3:.0f} ms to answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--kinds", help="only these, with commas between them")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--pandas", action="store_true")
    arguments = parser.parse_args()
    wire = bench_support.stubs()
    bench_support.print_machine()
    for source in arguments.sources:
        measure(wire, source, arguments)


if __name__ == "__main__":
    sys.exit(main())
