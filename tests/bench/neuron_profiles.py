#!/usr/bin/python3
"""How fast a device profile of a NeuronCore is imported, and asked: tables in Parquet with so many instructions, and so many DMA packets, made here. The
time of the import, then of each question in a daemon that has just started (nothing is in its cache), and asked again; the most memory of both.

    KPROF_BIN=build/release/bin tests/bench/neuron_profiles.py [--rows 2000000] [--packets 200000] [--json]

--json: the same instructions as one line of JSON, too.
"""

import argparse
import array
import os
import random
import time

import bench_support
import neuron_profile_writer as writer
from import_trace import MostMemory
from kprof_testing import running_daemon, temporary_folder

KINDS = ("engines", "instructions", "dma", "neuron-bounds", "findings")
ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")
OPCODES = ("MATMUL", "COPY", "ACTIVATE", "EVENT_SEMAPHORE", "LDWEIGHTS", "TENSOR_TENSOR", "IOTA", "DMA_TRIGGER")


def page(kind, numbers, dictionary=None):
    """A chunk of one page: values as they are, or 8-bit indexes of a dictionary's texts."""
    out, count = bytearray(), len(numbers)
    if dictionary is not None:
        data = writer.plain(kind, dictionary)
        out += writer.Thrift().i32(1, 2).i32(2, len(data)).i32(3, len(data)).struct(7, writer.Thrift().i32(1, len(dictionary)).i32(2, 0)).done() + data
        padded = bytes(numbers) + bytes(-count % 8)
        body = bytes([8]) + writer.varint(len(padded) // 8 << 1 | 1) + padded
    else:
        body = array.array("q", numbers).tobytes()
    at = len(out)
    head = writer.Thrift().i32(1, 0).i32(2, len(body)).i32(3, len(body))
    head.struct(5, writer.Thrift().i32(1, count).i32(2, 8 if dictionary is not None else 0).i32(3, 3).i32(4, 3))
    out += head.done() + body
    return bytes(out), at


def write_table(path, columns, rows, group_rows=200_000):
    """Columns: name -> (make, dictionary); make(first, count) gives numbers, or indexes where there is a dictionary."""
    groups = []
    with open(path, "wb") as file:
        file.write(b"PAR1")
        for first in range(0, rows, group_rows):
            count, chunks = min(group_rows, rows - first), []
            for name, (make, dictionary) in columns.items():
                begin = file.tell()
                chunk, data_at = page("text" if dictionary else "int64", make(first, count), dictionary)
                file.write(chunk)
                meta = writer.Thrift().i32(1, 6 if dictionary else 2).items(2, 5, [0, 3])
                meta.head(3, 9)
                meta.out += bytes([1 << 4 | 8]) + writer.varint(len(name)) + name.encode()
                meta.i32(4, 0).i64(5, count).i64(6, len(chunk)).i64(7, len(chunk)).i64(9, begin + data_at)
                if dictionary:
                    meta.i64(11, begin)
                chunks.append(writer.Thrift().i64(2, begin).struct(3, meta))
            groups.append(writer.Thrift().items(1, 12, chunks).i64(2, 0).i64(3, count))
        schema = [writer.Thrift().binary(4, "schema").i32(5, len(columns))]
        for name, (_, dictionary) in columns.items():
            schema.append(writer.Thrift().i32(1, 6 if dictionary else 2).i32(3, 0).binary(4, name))
        footer = writer.Thrift().i32(1, 1).items(2, 12, schema).i64(3, rows).items(4, 12, groups).done()
        file.write(footer + len(footer).to_bytes(4, "little") + b"PAR1")


def make_tables(folder, rows, packets):
    os.makedirs(folder)
    rng = random.Random(1)
    step = [rng.randrange(40) for _ in range(1 << 16)]
    some = lambda spread: lambda first, count: [step[(first + i) & 0xffff] * spread for i in range(count)]
    index = lambda most: lambda first, count: [step[(first + 7 * i) & 0xffff] % most for i in range(count)]
    lines = [f"/work/kernels/k{i % 9}.py:{10 + i}" for i in range(200)]
    write_table(os.path.join(folder, "Instruction.parquet"), {
        "id": (lambda first, count: [(1 << 60) + first + i for i in range(count)], None),
        "start_ts": (lambda first, count: [(first + i) * 50 for i in range(count)], None),
        "duration_ns": (some(5), None), "evt_wait_time_ns": (some(2), None),
        "engine": (index(5), list(ENGINES)), "opcode": (index(8), list(OPCODES)),
        "operands": (index(200), [f"q[{i}] src=[{i},128] dst=[128,{i}] some more words" for i in range(200)]),
        "nki_source_location": (index(200), lines), "layer": (index(40), [f"layer.{i}" for i in range(40)]),
        "hlo_name": (index(60), [f"dot.{i}" for i in range(60)]), "tensor_elements": (some(1000), None),
        "hbm_read_bytes": (some(64), None), "sbuf_read_bytes": (some(64), None), "sbuf_write_bytes": (some(64), None)}, rows)
    write_table(os.path.join(folder, "DmaPacket.parquet"), {
        "id": (lambda first, count: [(1 << 61) + first + i for i in range(count)], None),
        "start_ts": (lambda first, count: [(first + i) * 50 * max(rows // packets, 1) for i in range(count)], None),
        "duration_ns": (some(30), None), "transfer_bytes": (some(512), None),
        "queue_name": (index(16), [f"qSyncIO{i}-Q{i}-E0" for i in range(16)]), "queue_type": (index(3), ["data", "input", "instruction"]),
        "variable": (index(30), [f"tensor{i}" for i in range(30)])}, packets)
    profile = writer.Profile(1, 60)
    for table in ("Summary", "Metadata", "TensorInfo"):
        writer.write_parquet(os.path.join(folder, table + ".parquet"), [c for c in profile.tables()[table] if not c[0].startswith("last_hw") and c[0] != "total_time"])


def make_json(path, rows):
    row = ('{"id":%d,"timestamp":%d,"duration":%d,"evt_wait_time":%d,"subgroup":"%s","label":"%s","opcode":"%s","operands":"q[%d] src=[%d,128] dst=[128,%d] some more words",'
           '"instruction_type":"","pc":%d,"activation_fn":"","layer":"layer.%d","hlo_name":"dot.%d","hlo_attrs":"{\\"a\\":1}","bir_id":"sg0000:%d","raw_bir_id":%d,'
           '"bir_instruction_name":"I-%d","penguin_id":"","raw_penguin_id":0,"fully_qualified_subgraph":"sg00","crc_in":0,"crc_out":0.0,"hbm_read_bytes":512}')
    with open(path, "w", encoding="ascii") as file:
        file.write('{"instruction":[')
        for first in range(0, rows, 10_000):
            file.write(("," if first else "") + ",".join(
                row % ((1 << 60) + i, i * 50, i % 190, i % 80, ENGINES[i % 5], ENGINES[i % 5], OPCODES[i % 8], i % 200, i % 200, i % 200, i, i % 40, i % 60, i % 99, i % 99, i % 97)
                for i in range(first, min(first + 10_000, rows))))
        file.write('],"summary":[{"total_time":%.9f}],"metadata":[{"last_hw_timestamp":%d}]}' % (rows * 50 / 1e9, rows * 50))


def measure(name, path, kinds, import_mb):
    with running_daemon() as daemon:
        with MostMemory(daemon.pid) as memory:
            began = time.perf_counter()
            run = daemon.ctl.json("import", path, limit_s=600)["id"]
            took = time.perf_counter() - began
        print(f"{name}: {import_mb:.0f} MB imported in {took:.2f} s ({import_mb / took:.0f} MB/s), the reader {memory.most_kib / 1024:.0f} MiB at most", flush=True)
        daemon.stop()
        daemon.start()
        for kind in kinds:
            seconds, _ = bench_support.timed(daemon.ctl.json, "analyze", kind, run, limit_s=600)
            again, _ = bench_support.timed(daemon.ctl.json, "analyze", kind, run, limit_s=600)
            with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
                most_kib = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
            print(f"  {kind}: {seconds:.2f} s, again {again:.2f} s; kprofd so far {most_kib / 1024:.0f} MiB at most", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--packets", type=int, default=200_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    bench_support.print_machine()
    with temporary_folder("kprof-bench-") as folder:
        tables = os.path.join(folder, "tables")
        make_tables(tables, args.rows, args.packets)
        size = sum(os.path.getsize(os.path.join(tables, name)) for name in os.listdir(tables))
        measure(f"Parquet, {args.rows} instructions", tables, KINDS, size / 1e6)
        if args.json:
            path = os.path.join(folder, "profile.json")
            make_json(path, args.rows)
            measure(f"JSON, {args.rows} instructions", path, ("engines",), os.path.getsize(path) / 1e6)


if __name__ == "__main__":
    main()
