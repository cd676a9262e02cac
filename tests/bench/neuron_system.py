#!/usr/bin/python3
"""How long a Neuron system trace of a million events takes: read into a part, attributed to calls and categorised, by
bench_neuron_system; beside a plain reading in Python that pairs begins with ends, adds up durations by type, and finds the gaps of
the device with what overlaps them, as scripts for such traces do.

    KPROF_BIN=build/release/bin tests/bench/neuron_system.py [--events 1000000] [--keep FILE] [--no-python]
"""

import argparse
import collections
import json
import os
import subprocess
import tempfile

import bench_support

BASE_NS = 1_780_000_000_000_000_000


def write_trace(path, events):
    """Synchronous executions on a logical core of two physical ones, with transfers between them: 22 events each."""
    with open(path, "w", encoding="ascii") as file:
        file.write('{"events":[')
        written, at, seq, execution, first = 0, BASE_NS, 0, 0, True

        def emit(kind, phase, tracking, time, data="{}", thread=4242):
            nonlocal written, first
            file.write(("" if first else ",") + f'{{"event_type":"{kind}","phase":"{phase}","id":{written},"nc_idx":0,"nc_local_id":0,'
                       f'"tracking_id":{tracking},"thread_id":{thread},"worker_gid":0,"data":{data},"timestamp_ns":{time}}}')
            first = False
            written += 1

        while written < events:
            device = at - BASE_NS + 777_000_000
            size = '{"tensor_id":%d,"size":4096}' % (execution % 97)
            copy = '{"mem_type":1,"mem_handle":%d,"offset":0,"size":4096}' % (execution % 97)
            ids = '{"exec_id":%d,"model_id":10001}' % execution
            emit("nrt_tensor_write", "start", seq, at, size)
            emit("dmem_buf_copyin", "start", seq + 1, at + 100, copy)
            emit("dmem_buf_copyin", "stop", seq + 1, at + 900)
            emit("nrt_tensor_write", "stop", seq, at + 1_000)
            emit("nrt_execute", "start", seq + 2, at + 2_000)
            emit("nrt_model_submit", "start", seq + 3, at + 2_100, '{"model_id":10001}')
            emit("kbl_exec_pre", "start", seq + 4, at + 2_200, ids)
            emit("kbl_exec_pre", "stop", seq + 4, at + 2_400)
            emit("nrt_model_submit", "stop", seq + 3, at + 2_500)
            for core, late in ((0, 0), (1, 50)):
                emit("nc_exec_running", "start", seq + 5 + core, at + 3_000 + late,
                     '{"device_core_idx":%d,"exec_id":%d,"nc_timestamp_ns":%d,"model_id":10001,"model_name":"graph_%d"}' %
                     (core, execution, device + core * 10**12 + 3_000 + late, execution % 5), 0)
            for core, late in ((0, 0), (1, 50)):
                emit("nc_exec_running", "stop", seq + 5 + core, at + 9_000 + late,
                     '{"nc_timestamp_ns":%d}' % (device + core * 10**12 + 9_000 + late), 0)
            emit("timestamp_sync_point", "instant", seq + 7, at + 9_100,
                 '{"exec_id":%d,"nc_timestamp_ns":%d,"cpu_timestamp_ns":%d}' % (execution, device + 9_100, at + 9_100), 0)
            emit("kbl_exec_post", "start", seq + 8, at + 9_200, ids)
            emit("kbl_exec_post", "stop", seq + 8, at + 9_400)
            emit("nrt_execute", "stop", seq + 2, at + 9_500)
            emit("nrt_tensor_read", "start", seq + 9, at + 10_000, size)
            emit("tensor_block_while_exec", "start", seq + 10, at + 10_100, '{"tensor_id":1,"pending_reader_count":0,"pending_writer_count":1}')
            emit("tensor_block_while_exec", "stop", seq + 10, at + 10_300)
            emit("nrt_tensor_read", "stop", seq + 9, at + 11_000)
            seq += 11
            execution += 1
            at += 12_000
        file.write('],"data_version":2}')


def plain_python(path):
    with open(path, encoding="ascii") as file:
        events = json.load(file)["events"]
    starts, spans = {}, collections.defaultdict(list)
    for event in events:
        key = event["event_type"], event["tracking_id"]
        if event["phase"] == "start":
            starts[key] = event
        elif event["phase"] == "stop" and key in starts:
            spans[key[0]].append((starts.pop(key)["timestamp_ns"], event["timestamp_ns"]))
    sums = {kind: sum(stop - start for start, stop in of) for kind, of in spans.items()}
    busy = sorted(spans["nc_exec_running"])
    gaps, until = [], busy[0][1]
    for start, stop in busy[1:]:
        if start > until:
            gaps.append((until, start))
        until = max(until, stop)
    waits = collections.Counter()
    for kind in ("nrt_tensor_read", "nrt_tensor_write", "nrt_execute", "tensor_block_while_exec"):
        of, at = sorted(spans[kind]), 0
        for begin, end in gaps:
            while at < len(of) and of[at][1] <= begin:
                at += 1
            look = at
            while look < len(of) and of[look][0] < end:
                waits[kind] += min(end, of[look][1]) - max(begin, of[look][0])
                look += 1
    return sums, waits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keep", help="the trace's file; made if it is not there")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--no-python", action="store_true")
    options = parser.parse_args()
    bench_support.print_machine()
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or os.path.join(folder, "trace.json")
        if not os.path.exists(path):
            write_trace(path, options.events)
        print(f"{os.path.getsize(path) / 1e6:.0f} MB, {options.events} events; bar: 1 s", flush=True)
        program = os.path.join(bench_support.kprof_testing.BIN, "bench_neuron_system")
        subprocess.run([program, path, str(options.turns)], check=True)
        if not options.no_python:
            seconds, _ = bench_support.timed(plain_python, path)
            print(f"plain Python: {seconds:.2f} s")


if __name__ == "__main__":
    main()
