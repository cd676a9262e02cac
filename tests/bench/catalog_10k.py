#!/usr/bin/python3
"""A catalog with 10,000 runs: how long the daemon takes to start on it, after a clean stop and after kill -9, and how long
`runs --limit 20`, `show` and `query` take, through kprofctl and through one gRPC channel.

    KPROF_BIN=build/release/bin tests/bench/catalog_10k.py [--runs 10000] [--starts 10] [--calls 1000]
"""

import argparse
import os
import random
import sqlite3
import time

import grpc

import bench_support
import kprof_testing
from kprof_testing import LIMIT_S, Daemon, temporary_folder, wait_until

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def run_id(ms, number):
    digits = ""
    for value, count in ((ms, 9), (number * 7919 % 32**7, 7)):
        digits += "".join(ALPHABET[value >> (5 * i) & 31] for i in reversed(range(count)))
    return digits


def fill(state, runs, users=()):
    """Puts that many ended runs beside what is there, with all that usually hangs on one, and their folders: these users' in
    turn, or our own. Their ids."""
    users = users or (os.getuid(),)
    database = sqlite3.connect(os.path.join(state, "catalog.db"))
    choose = random.Random(1)
    began_ms = int(time.time() * 1000) - runs * 60_000
    ids = []
    names = (b"PATH", b"LANG", b"CUDA_HOME", b"OMP_NUM_THREADS", b"PYTHONPATH")
    environment = b"".join(name + b"=" + b"x" * 60 + b"\0" for name in names)
    metrics = ("wall_ns", "user_cpu_ns", "system_cpu_ns", "max_rss_bytes", "voluntary_switches", "involuntary_switches")
    insert = ("INSERT INTO runs (id, uid, tool, state, timeout_ms, queue_timeout_ms, queued_ns, started_ns, ended_ns, exit_code, "
              "error_code, error_message, error_remedy, stdout_bytes, cwd, argv, environment) "
              "VALUES (?, ?, 'command', ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, 6, ?, ?, ?)")
    for number in range(runs):
        run = run_id(began_ms + number * 60_000, number)
        ids.append(run)
        queued_ns = (began_ms + number * 60_000) * 1_000_000
        failed = number % 10 == 0
        error = (None,) * 3
        if failed:
            error = ("command_failed", f"run {run}: the command ended with exit code 1", f"see kprofctl logs {run}")
        argv = b"python\0train.py\0--steps\0" + str(number).encode() + b"\0--config\0" + b"c" * choose.randrange(20, 200) + b"\0"
        database.execute(insert, (run, users[number % len(users)], 5 if failed else 4, queued_ns, queued_ns + 10**6, queued_ns + 10**9,
                                  int(failed), *error, b"/home/somebody/project", argv, environment))
        database.execute("INSERT INTO run_devices VALUES (?, 0, 'cpu')", (run,))
        database.executemany("INSERT INTO run_labels VALUES (?, ?, ?)",
                             [(run, "model", f"m{number % 20}"), (run, "try", str(number)), (run, "user", "somebody")])
        database.execute("INSERT INTO artifacts VALUES (?, 'stdout.log', 6, ?)", (run, "0" * 64))
        database.executemany("INSERT INTO metrics VALUES (?, ?, '', NULL, ?, ?, 'ns')",
                             [(run, position, name, choose.random() * 1e9) for position, name in enumerate(metrics)])
        folder = os.path.join(state, "runs", run)
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, "stdout.log"), "wb") as file:
            file.write(b"hello\n")
    database.commit()
    database.close()
    return ids


def measure_starts(daemon, times, stop):
    listening, answering = [], []
    for _ in range(times):
        began = time.perf_counter()
        listening.append(daemon.start())
        daemon.ctl.run("status")
        answering.append(time.perf_counter() - began)
        wait_until(lambda: daemon.ctl.json("status")["storage"]["health"] == "ok", "the catalog to be checked")
        stop()
    return listening, answering


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--calls", type=int, default=1000)
    arguments = parser.parse_args()
    wire = bench_support.stubs()
    bench_support.print_machine()
    with temporary_folder() as folder:
        daemon = Daemon(folder)
        daemon.start()
        daemon.stop()
        ids = fill(daemon.state, arguments.runs)
        print(f"{arguments.runs} runs, catalog.db {os.path.getsize(daemon.catalog()) / 1e6:.1f} MB")
        try:
            for name, stop in (("a clean stop", daemon.stop), ("kill -9", daemon.kill)):
                if stop == daemon.kill:
                    daemon.start()
                    daemon.kill()
                listening, answering = measure_starts(daemon, arguments.starts, stop)
                print(bench_support.line(f"start after {name}, until it listens", listening))
                print(bench_support.line(f"start after {name}, until kprofctl status has answered", answering))
            daemon.start()
            wait_until(lambda: daemon.ctl.json("status")["storage"]["health"] == "ok", "the catalog to be checked")
            before_kib = kprof_testing.status_number(daemon.pid, "VmRSS")
            measure_calls(daemon, wire, ids, arguments.calls)
            after_kib = kprof_testing.status_number(daemon.pid, "VmRSS")
            print(f"memory: {before_kib / 1024:.1f} MiB before the calls, {after_kib / 1024:.1f} MiB after them")
        finally:
            daemon.stop()


QUERIES = {
    "newest 5": "SELECT id, state, duration_ns FROM run ORDER BY id DESC LIMIT 5",
    "count by state": "SELECT state, count(*) FROM run GROUP BY state",
    "a metric over all runs": "SELECT avg(value), max(value) FROM metric WHERE name = 'wall_ns'",
    "runs with a label": "SELECT r.id FROM label l JOIN run r ON r.id = l.run WHERE l.key = 'model' AND l.value = 'm7' "
                         "ORDER BY r.id DESC LIMIT 20",
}


def measure_calls(daemon, wire, ids, calls):
    choose = random.Random(2)
    some = max(20, calls // 10)
    ctl = daemon.ctl
    kprofctl = {
        "--version (without a daemon)": lambda: ("--version",),
        "status": lambda: ("status",),
        "runs --limit 20": lambda: ("runs", "--limit", "20"),
        "show RUN": lambda: ("show", choose.choice(ids)),
        "show @last": lambda: ("show", "@last"),
    }
    kprofctl.update({f"query, {name}": lambda sql=sql: ("query", sql) for name, sql in QUERIES.items()})
    for name, arguments in kprofctl.items():
        print(bench_support.line(f"kprofctl {name}", [bench_support.timed(ctl.run, *arguments())[0] for _ in range(some)]))
    with grpc.insecure_channel("unix:" + daemon.socket) as channel:
        runs = wire.runs_pb2_grpc.RunsServiceStub(channel)
        node = wire.node_pb2_grpc.NodeServiceStub(channel)
        queries = wire.queries_pb2_grpc.QueriesServiceStub(channel)
        one_channel = {
            "GetStatus": lambda: node.GetStatus(wire.node_pb2.GetStatusRequest(), timeout=LIMIT_S),
            "ListRuns of 20": lambda: runs.ListRuns(wire.runs_pb2.ListRunsRequest(page_size=20), timeout=LIMIT_S),
            "GetRun": lambda: runs.GetRun(wire.runs_pb2.GetRunRequest(id=choose.choice(ids)), timeout=LIMIT_S),
        }

        def query(sql):
            return list(queries.Query(wire.queries_pb2.QueryRequest(sql=sql), timeout=LIMIT_S))
        one_channel.update({f"Query, {name}": lambda sql=sql: query(sql) for name, sql in QUERIES.items()})
        for name, call in one_channel.items():
            call()
            print(bench_support.line(f"one channel, {name}", [bench_support.timed(call)[0] for _ in range(calls)]))


if __name__ == "__main__":
    main()
