#!/usr/bin/python3
"""From the end of one run to the exec of the next, over runs of /bin/true that wait in the queue; and beside it, in turns
of the same length, the bare fork+exec+wait of the same program and the bare fdatasync of one written page: a run is
committed three times between the two moments, one after the other, and the disk may be most of it. TMPDIR chooses the
disk; with TMPDIR=/dev/shm there is none.

    KPROF_BIN=build/release/bin tests/bench/back_to_back.py [--runs 1000] [--turns 10]
"""

import argparse
import os
import time

import grpc

import bench_support
from kprof_testing import LIMIT_S, running_daemon


def bare(times):
    """Seconds of each posix_spawn + waitpid of /bin/true."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        pid = os.posix_spawn("/bin/true", ["/bin/true"], os.environ)
        os.waitpid(pid, 0)
        seconds.append(time.perf_counter() - began)
    return seconds


def syncs(folder, times):
    """Seconds of each fdatasync after a page was written."""
    fd = os.open(os.path.join(folder, "page"), os.O_RDWR | os.O_CREAT)
    seconds = []
    for number in range(times):
        os.pwrite(fd, bytes(4096), number % 64 * 4096)
        began = time.perf_counter()
        os.fdatasync(fd)
        seconds.append(time.perf_counter() - began)
    os.close(fd)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=10)
    arguments = parser.parse_args()
    per_turn = arguments.runs // arguments.turns
    wire = bench_support.stubs()
    bench_support.print_machine()

    gaps, cycles, added, spawns, walls, disk = [], [], [], [], [], []
    with running_daemon() as daemon, grpc.insecure_channel("unix:" + daemon.socket) as channel:
        runs = wire.runs_pb2_grpc.RunsServiceStub(channel)

        def submit(*argv):
            spec = wire.runs_pb2.RunSpec(tool="command", argv=argv, cwd=b"/")
            spec.environment.extend(wire.run_pb2.EnvironmentVariable(name=os.fsencode(name), value=os.fsencode(value))
                                    for name, value in os.environ.items())
            return runs.SubmitRun(wire.runs_pb2.SubmitRunRequest(spec=spec), timeout=LIMIT_S).run.id

        for turn in range(arguments.turns):
            gate = os.path.join(daemon.folder, f"gate{turn}")
            submit(b"/bin/sh", b"-c", os.fsencode(f"until [ -e {gate} ]; do sleep 0.02; done"))
            ids = [submit(b"/bin/true") for _ in range(per_turn + 1)]
            with open(gate, "wb"):
                pass
            runs.WaitRun(wire.runs_pb2.WaitRunRequest(id=ids[-1]), timeout=60 + per_turn)
            ended = [runs.GetRun(wire.runs_pb2.GetRunRequest(id=run), timeout=LIMIT_S).run for run in ids]
            assert all(run.state == wire.run_pb2.RUN_STATE_DONE for run in ended)
            for before, after in zip(ended, ended[1:]):
                gaps.append((after.started_unix_ns - before.ended_unix_ns) / 1e9)
                cycles.append((after.ended_unix_ns - before.ended_unix_ns) / 1e9)
                walls.append((after.ended_unix_ns - after.started_unix_ns) / 1e9)
            now = bare(per_turn)
            spawns += now
            disk += syncs(daemon.folder, per_turn // 2)
            typical = bench_support.percentile(now, 50)
            added += [cycle - typical for cycle in cycles[-per_turn:]]
    print(bench_support.line("end of a run to exec of the next", gaps))
    print(bench_support.line("exec to end of a run of /bin/true", walls))
    print(bench_support.line("end to end: a run of /bin/true", cycles))
    print(bench_support.line("bare fork+exec+wait of /bin/true", spawns))
    print(bench_support.line("bare fdatasync of a page", disk))
    print(bench_support.line("added: end to end less the bare median of its turn", added))


if __name__ == "__main__":
    main()
