#!/usr/bin/python3
"""Where the time under every question goes: that of a kprofctl, of a call of a client that stays connected, and of kprofd's
own work, from the call that does nothing to the question that reads a trace. Each line is that of the one before it and one
thing more, in turns, so the differences are what things cost. Medians and the least.

    KPROF_BIN=build/release/bin tests/bench/query_costs.py TRACE [--turns 300]
"""

import argparse
import json
import subprocess
import time

import grpc

import bench_support
from kprof_testing import KPROFCTL, running_daemon


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--turns", type=int, default=300)
    arguments = parser.parse_args()
    bench_support.print_machine()
    stubs = bench_support.stubs()
    with running_daemon() as daemon:
        told = subprocess.run([KPROFCTL, "--socket", daemon.socket, "import", "--json", arguments.trace], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
        run = json.loads(told)["id"]
        channel = grpc.insecure_channel("unix:" + daemon.socket, options=(("grpc.enable_http_proxy", 0),))
        queries = stubs.queries_pb2_grpc.QueriesServiceStub(channel)

        def ask(sql, *runs):
            """Milliseconds of its work, as kprofd says."""
            try:
                answers = list(queries.Query(stubs.queries_pb2.QueryRequest(sql=sql, runs=runs)))
            except grpc.RpcError:
                return 0
            return max(answer.totals.elapsed_ms for answer in answers)

        def process(*command):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            return 0

        steps = [
            ("a process that does nothing (/bin/true)", lambda: process("/bin/true")),
            ("kprofctl --version: its libraries", lambda: process(KPROFCTL, "--version")),
            ("kprofctl query 'SELECT 1'", lambda: process(KPROFCTL, "--socket", daemon.socket, "query", "SELECT 1")),
            ("kprofctl query --run RUN 'SELECT 1'",
             lambda: process(KPROFCTL, "--socket", daemon.socket, "query", "--run", run, "SELECT 1")),
            ("a call that is refused at once: the transport", lambda: ask("\0")),
            ("SELECT 1: catalog, sandbox, statement", lambda: ask("SELECT 1")),
            ("the same of a run: its part is lent, tables are offered", lambda: ask("SELECT 1", run)),
            ("SELECT 1 FROM slice LIMIT 1: a table is connected, a column decoded",
             lambda: ask("SELECT 1 FROM slice LIMIT 1", run)),
            ("SELECT count(*) FROM slice: also the look at the program", lambda: ask("SELECT count(*) FROM slice", run)),
        ]
        seconds = {name: [] for name, _ in steps}
        worked = {name: [] for name, _ in steps}
        for turn in range(arguments.turns + 3):
            for name, step in steps:
                if "kprofctl" in name and turn % 5 > 0:
                    continue
                began = time.perf_counter()
                work_ms = step()
                taken = time.perf_counter() - began
                if turn >= 3:
                    seconds[name].append(taken)
                    worked[name].append(work_ms)
        for name, _ in steps:
            print(f"  {name:72} median {bench_support.percentile(seconds[name], 50) * 1e3:7.3f} ms, least "
                  f"{min(seconds[name]) * 1e3:7.3f} ms, of which work {bench_support.percentile(worked[name], 50):7.3f} ms, "
                  f"least {min(worked[name]):7.3f} ms")


if __name__ == "__main__":
    main()
