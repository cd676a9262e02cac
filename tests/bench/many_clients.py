#!/usr/bin/python3
"""Many clients at once, each on a connection of its own, asking for the status and then for 20 runs, over and over:
calls per second, p50, p99, the daemon's memory; and beside it, turn by turn, a bare gRPC server that answers the same
calls with nothing, and one that answers with the very bytes that kprofd does, of which the clients make the same messages. All on one machine: clients and server share its cores. Once
more while runs are submitted and end, so that no answer is the same for long. With --users the daemon is a node's, in
system mode with its helper, and the clients are that many users', who see their own runs; that needs root.

    KPROF_BIN=build/release/bin tests/bench/many_clients.py [--clients 1000] [--seconds 5] [--turns 3] [--runs 50] [--users 8]
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess

import grpc

import bench_support
import kprof_testing
from bench_support import stubs
from catalog_10k import fill
from kprof_node import KPROFD_UID, Node
from kprof_testing import Daemon, temporary_folder, wait_until

LOAD = os.path.join(kprof_testing.BIN, "bench_load")
FIRST_UID = 61100
LIMITS = "[limits]\nconnections = 100000\nconnections_per_user = 100000\ncalls_per_second_per_user = 1000000\n"


def users_of(arguments):
    return range(FIRST_UID, FIRST_UID + arguments.users)


def load(socket, arguments):
    out = subprocess.run([LOAD, "clients", socket, str(arguments.clients), str(arguments.seconds), *map(str, users_of(arguments))],
                         check=True, stdout=subprocess.PIPE, timeout=arguments.seconds + 120)
    return json.loads(out.stdout)


def load_bare(folder, like, arguments):
    """`like`: nothing, or a socket of kprofd's and a user."""
    socket = os.path.join(folder, "bare.sock")
    with subprocess.Popen([LOAD, "bare", socket, *like], stdin=subprocess.PIPE) as server:
        try:
            wait_until(lambda: os.path.exists(socket), "the bare server to listen")
            os.chmod(socket, 0o666)
            return load(socket, arguments)
        finally:
            server.stdin.close()
            server.wait(timeout=kprof_testing.LIMIT_S)
            os.path.exists(socket) and os.unlink(socket)


class Submitting(multiprocessing.Process):
    """Submits runs of `true` at that rate over one connection, as that user, until it is told to stop."""

    def __init__(self, socket, a_second, uid):
        super().__init__()
        self.socket, self.pause, self.uid = socket, 1 / a_second, uid
        self.stop, self.ended = multiprocessing.Event(), multiprocessing.Value("i", 0)

    def run(self):
        os.setuid(self.uid)
        modules = stubs()
        with grpc.insecure_channel("unix:" + self.socket) as channel:
            runs = modules.runs_pb2_grpc.RunsServiceStub(channel)
            request = modules.runs_pb2.SubmitRunRequest()
            request.spec.tool, request.spec.cwd, request.spec.device = "command", b"/", "none"
            request.spec.argv.append(b"/bin/true")
            submitted = []
            while not self.stop.wait(self.pause):
                submitted.append(runs.SubmitRun(request, timeout=30).run.id)
            self.ended.value = sum(runs.GetRun(modules.runs_pb2.GetRunRequest(id=run), timeout=30).run.ended_unix_ns > 0
                                   for run in submitted)


@contextlib.contextmanager
def submitting(socket, a_second, uid):
    process = Submitting(socket, a_second, uid)
    process.start()
    try:
        yield process
    finally:
        process.stop.set()
        process.join()


@contextlib.contextmanager
def filled_daemon(folder, arguments):
    """With a thousand runs."""
    daemon = Node(folder, LIMITS) if arguments.users else Daemon(folder, LIMITS)
    if arguments.users:
        daemon.start_helper()
    daemon.start()
    daemon.stop()
    fill(daemon.state, 1000, users_of(arguments))
    if arguments.users:
        for parent, folders, files in os.walk(daemon.state):
            for name in folders + files:
                os.chown(os.path.join(parent, name), KPROFD_UID, KPROFD_UID)
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.end() if arguments.users else daemon.stop()


def rss_mib(pid, field="VmRSS"):
    return kprof_testing.status_number(pid, field) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--runs", type=float, default=50, help="a second, of the last turn")
    parser.add_argument("--users", type=int, default=0, help="of a daemon in system mode; 0: one in user mode")
    arguments = parser.parse_args()
    bench_support.print_machine()
    with temporary_folder("b-") as folder, filled_daemon(folder, arguments) as daemon:
        someone = (*users_of(arguments), os.getuid())[0]
        likes = {"nothing": [], "the same": [daemon.socket, str(someone)]}
        ratios = {answer: [] for answer in likes}
        print(f"kprofd before: {rss_mib(daemon.pid):.1f} MiB")
        for _ in range(arguments.turns):
            ours = load(daemon.socket, arguments)
            if ours["failed"]:
                raise SystemExit(f"{ours['failed']} calls failed")
            print(f"kprofd:               {describe(ours)}, {rss_mib(daemon.pid):.1f} MiB")
            for answer, like in likes.items():
                bare = load_bare(folder, like, arguments)
                ratios[answer].append(ours["calls_per_second"] / bare["calls_per_second"])
                print(f"bare, answers {answer}: {describe(bare)}; kprofd is {ratios[answer][-1]:.2f} of it")
        for answer, of_turns in ratios.items():
            print(f"of a bare server that answers {answer}: {min(of_turns):.2f} to {max(of_turns):.2f}")
        with submitting(daemon.socket, arguments.runs, someone) as submitted:
            ours = load(daemon.socket, arguments)
        print(f"kprofd, beside {submitted.ended.value} runs that ended: {describe(ours)}, {ours['failed']} failed")
        print(f"kprofd at most: {rss_mib(daemon.pid, 'VmHWM'):.1f} MiB")


def describe(figures):
    return (f"{figures['calls_per_second']:8.0f} calls/s, p50 {figures['p50_ms']:6.1f} ms, p99 {figures['p99_ms']:6.1f} ms, "
            f"most {figures['most_ms']:6.1f} ms")


if __name__ == "__main__":
    main()
