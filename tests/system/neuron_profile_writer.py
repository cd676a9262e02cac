"""Writes device profiles of a NeuronCore that nobody ran: the same rows as JSON (21 keys, neuron-profile's) and as
Parquet (neuron-explorer's tables, with a writer of our own).

A profile is made from a seed. Its summary is worked out from the rows by the formulas of the profiler, before times are
cut from picoseconds to ns: so sums of cut rows differ from it by less than 1 ns for each row, as in real files.

    python3 neuron_profile_writer.py json OUT.json [--seed N] [--rows N] [--picoseconds]
    python3 neuron_profile_writer.py parquet FOLDER [--seed N] [--rows N] [--codec NAME] [--plain] [--v2]
"""

import argparse
import gzip
import json
import os
import random
import struct

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")
WORK = {"Tensor": ("MATMUL", "MATMUL", "MATMUL", "LDWEIGHTS"), "Vector": ("TENSOR_TENSOR", "TENSOR_SCALAR", "COPY"),
        "Scalar": ("ACTIVATE", "ACTIVATE", "COPY"), "GpSimd": ("IOTA", "MEMSET", "EVENT_SEMAPHORE_RANGE_CLEAR"),
        "Sync": ("DMA_TRIGGER", "NOP")}
PS = 1000
TE_PEAK = 128 * 128 * 2 * 2.8e9
HBM = 410e9
DMA = 435e9


def union(intervals):
    """The length of the union of (begin, end)."""
    total, end = 0, None
    for begin, stop in sorted(intervals):
        if end is None or begin > end:
            total += stop - begin
            end = stop
        elif stop > end:
            total += stop - end
            end = stop
    return total


class Profile:
    """Rows with times in ps."""

    def __init__(self, seed=1, rows=600, spill=True, debug=False, cold=False, transposes=True):
        rng = random.Random(seed)
        self.instructions, self.dma, self.tensors = [], [], []
        self.time_unit = PS
        number = 1 << 60
        clock = {engine: 7 * PS + rng.randrange(1000) for engine in ENGINES}
        files = ["/work/model.py", "/work/kernels/attention.py", "kernels/attention.py"]
        for i in range(rows):
            engine = rng.choice(ENGINES)
            is_wait = rng.random() < 0.25
            opcode = "EVENT_SEMAPHORE" if is_wait else rng.choice(WORK[engine])
            number += rng.randrange(1, 1 << 20)
            start = clock[engine]
            duration = rng.randrange(2_000_000, 9_000_000) if is_wait else rng.randrange(8_000, 400_000)
            # Rows of one engine overlap at times.
            clock[engine] = start + duration - (duration // 3 if engine in ("Tensor", "Scalar") and not is_wait and rng.random() < 0.2 else 0) + rng.randrange(2_000)
            row = {"id": number, "start": start, "duration": duration,
                   "wait": rng.randrange(0, 3_000_000) if rng.random() < 0.3 else 0, "engine": engine, "opcode": opcode,
                   "operands": "q[%d] r%d src=[%d,128] dst=[128,%d]" % (i % 50, i % 7, i % 11, 64 * (i % 9)),
                   "pc": 4096 + 64 * i, "layer": "layer%d" % (i % 4), "hlo": "dot.%d" % (i % 6), "kind": ""}
            if debug and not is_wait and rng.random() < 0.8:
                row["source"] = "%s:%d" % (rng.choice(files), rng.randrange(10, 16))
            if opcode == "MATMUL":
                row["kind"] = "TRANSPOSE" if transposes and rng.random() < 0.15 else "REGULAR"
                row["elements"] = 128 * 128 * rng.choice((128, 256, 512))
                row["sbuf_read"] = 128 * 256
                row["psum_write"] = 128 * 512
            elif opcode in ("ACTIVATE", "TENSOR_TENSOR"):
                row["sbuf_read"], row["sbuf_write"] = 64 * rng.randrange(1, 99), 64 * rng.randrange(1, 99)
            elif opcode == "DMA_TRIGGER":
                row["hbm_read"] = 512 * rng.randrange(1, 64)
                if rng.random() < 0.3:
                    row["hbm_write"] = 512 * rng.randrange(1, 8)
                if spill and rng.random() < 0.3:
                    row["spill_reload"] = 4096
                    row["spill_save"] = 2048
            self.instructions.append(row)
        self.instructions.sort(key=lambda row: row["start"])
        for i, (name, kind, size) in enumerate((("input0", "input", 1 << 18), ("weight0", "weight", 1 << 19), ("output0", "output", 1 << 17))):
            self.tensors.append({"variable": name, "kind": kind, "size": size, "node": i, "shape": "[%d 128]" % (size // 256)})
        end = max(row["start"] + row["duration"] for row in self.instructions)
        queues = (("qSyncIO0-Q1-E%d", "data"), ("qPoolDyn0-Q2-E%d", "software_dynamic"), ("qInst0-Q3-E%d", "instruction"))
        for i in range(max(rows // 8, 1)):
            name, kind = queues[i % 3]
            number += rng.randrange(1, 1 << 20)
            transfer = number
            start = rng.randrange(7 * PS, max(end - 2_000_000, 8 * PS))
            is_spill = spill and kind == "data" and rng.random() < 0.25
            variable = "spill%d" % (i % 3) if is_spill else rng.choice(self.tensors)["variable"] if kind == "data" else "unknown" if kind == "software_dynamic" else "inst%d" % (i % 2)
            source = [["VIRTUAL"]] if is_spill else [["DRAM"]] if kind != "instruction" else [["INST"]]
            packets = rng.randrange(1, 6)
            at, total, last = start, 0, start
            for k in range(packets):
                number += rng.randrange(1, 1 << 20)
                size = rng.choice((4, 512, 2048, 8192))
                duration = rng.randrange(30_000, 300_000)
                self.dma.append({"id": number, "start": at, "duration": duration, "queue": name % (i % 2), "type": kind,
                                 "index": i % 3, "engine": i % 2, "bytes": size, "variable": variable, "op": "copy",
                                 "source": source, "dest": ["SB"], "aggregated": False, "of": transfer, "packet": k,
                                 "partitions": rng.choice((1, 16, 128))})
                at += duration // 2
                last = max(last, self.dma[-1]["start"] + duration)
                total += size
            self.dma.append({"id": transfer, "start": start, "duration": last - start, "queue": name % (i % 2), "type": kind,
                             "index": i % 3, "engine": i % 2, "bytes": total, "variable": variable, "op": "copy",
                             "source": source, "dest": ["SB"], "aggregated": True, "trigger": start - 1000,
                             "partitions": self.dma[-1]["partitions"]})
        rng.shuffle(self.dma)  # they are not sorted in real files
        end = max([end] + [row["start"] + row["duration"] for row in self.dma])
        self.total_ps = end * 40 if cold else end + 171_000
        self.last_ps = self.total_ps + 171_000
        self.warnings = [{"category": "Missing Data", "message": "Missing additional dynamic DMA metadata"}]
        self.summarise()

    def summarise(self):
        work = [row for row in self.instructions if row["opcode"] != "EVENT_SEMAPHORE"]
        packets = [row for row in self.dma if not row["aggregated"]]
        transfers = [row for row in self.dma if row["aggregated"]]
        spans = lambda rows: [(row["start"], row["start"] + row["duration"]) for row in rows]
        seconds = lambda ps: ps / 1e12
        total_s = seconds(self.total_ps)
        s = {"total_time": total_s, "total_active_time": seconds(union(spans(work) + spans(packets)))}
        s["total_active_time_percent"] = s["total_active_time"] / total_s
        for engine in ENGINES:
            of = [row for row in work if row["engine"] == engine]
            name = engine.lower() + "_engine_"
            s[name + "active_time"] = seconds(union(spans(of)))
            s[name + "active_time_percent"] = s[name + "active_time"] / total_s
            s[name + "instruction_time"] = seconds(sum(row["duration"] for row in of))
            s[name + "instruction_count"] = sum(row["engine"] == engine for row in self.instructions)
        s["dma_active_time"] = seconds(union(spans(packets)))
        s["dma_active_time_percent"] = s["dma_active_time"] / total_s
        s["dma_packet_time"] = seconds(sum(row["duration"] for row in packets))
        s["dma_transfer_time"] = seconds(sum(row["duration"] for row in transfers))
        s["dma_transfer_total_bytes"] = sum(row["bytes"] for row in transfers)
        s["dma_transfer_count"] = len(transfers)
        dynamic = [row for row in packets if row["type"] == "software_dynamic"]
        s["software_dynamic_dma_active_time"] = seconds(union(spans(dynamic)))
        s["software_dynamic_dma_packet_count"] = len(dynamic)
        s["hardware_flops"] = 2 * sum(row.get("elements", 0) for row in self.instructions)
        s["transpose_flops"] = 2 * sum(row.get("elements", 0) for row in self.instructions if row["kind"] == "TRANSPOSE")
        s["model_flops"] = (s["hardware_flops"] - s["transpose_flops"]) // 2
        for name in ("hbm_read", "hbm_write", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "spill_save", "spill_reload"):
            s[name + "_bytes"] = sum(row.get(name, 0) for row in self.instructions)
        hbm = s["hbm_read_bytes"] + s["hbm_write_bytes"]
        s["inputs_and_weights_size_bytes"] = sum(t["size"] for t in self.tensors if t["kind"] != "output")
        s["inputs_outputs_weights_size_bytes"] = sum(t["size"] for t in self.tensors)
        s["mfu_estimated_percent"] = s["model_flops"] / (total_s * TE_PEAK)
        s["mfu_inst_estimated_percent"] = (s["hardware_flops"] - s["transpose_flops"]) / (total_s * TE_PEAK)
        s["hfu_estimated_percent"] = s["hardware_flops"] / (total_s * TE_PEAK)
        s["mbu_estimated_percent"] = hbm / total_s / HBM
        s["mbu_min_read_util_percent"] = s["inputs_and_weights_size_bytes"] / total_s / HBM
        s["mm_arithmetic_intensity"] = (s["hardware_flops"] - s["transpose_flops"]) / max(hbm, 1)
        s["peak_flops_bandwidth_ratio"] = TE_PEAK / HBM
        s["neuroncore_cycle_count"] = round(total_s * 1.4e9)
        s["event_count"] = 54 + len(self.instructions) // 4
        s["trace_count"] = len(self.instructions) + s["event_count"] + len(packets) + 1
        self.summary = s
        self.texts = {"instance_type": "inf2.xlarge", "compiler_version": "2.22.12471", "runtime_version": "2.29.40"}

    def metadata(self, unit):
        return {"first_hw_timestamp": 0, "last_hw_timestamp": self.last_ps // unit, "ntff_version": 5, "data_version": 8,
                "dma_ddr_bandwidth": DMA, "hbm_ddr_bandwidth": HBM, "pe_clock_freq": 2.8, "pe_clock_others": 1.4,
                "pe_num_rows": 128, "pe_num_cols": 128, "num_physical_cores": 1, "vnc_enabled": False,
                "first_ts": "1970-01-01T00:00:00Z", "is_simulation": False}

    # The rows as the JSON of the profiler has them; `unit` is ps in the profiler's unit of time.
    def json_object(self, unit=PS, shuffle=None):
        cut = lambda ps: ps // unit
        instructions = []
        for row in self.instructions:
            made = {"id": row["id"], "timestamp": cut(row["start"]), "duration": cut(row["duration"]),
                    "evt_wait_time": cut(row["wait"]), "subgroup": row["engine"],
                    "label": "TensorMatrix" if row["opcode"] == "MATMUL" else row["engine"], "opcode": row["opcode"],
                    "operands": row["operands"], "instruction_type": row["kind"], "pc": row["pc"], "activation_fn": "",
                    "layer": row["layer"], "hlo_name": row["hlo"], "hlo_attrs": "{\"a\":1}", "bir_id": "sg0000:%d" % (row["pc"] % 997),
                    "raw_bir_id": row["pc"] % 997, "bir_instruction_name": "I-%d" % (row["pc"] % 97), "penguin_id": "",
                    "raw_penguin_id": 0, "fully_qualified_subgraph": "sg00", "crc_in": 0, "crc_out": 0.0}
            if "elements" in row:
                made["elements"] = row["elements"]
            if "source" in row:
                made["nki_source_location"] = row["source"]
            for name in ("hbm_read", "hbm_write", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "spill_save", "spill_reload"):
                if name in row:
                    made[name + "_bytes"] = row[name]
            instructions.append(made)
        dma = []
        for row in self.dma:
            made = {"id": row["id"], "timestamp": cut(row["start"]), "duration": cut(row["duration"]),
                    "aggregated": "yes" if row["aggregated"] else "no", "duplicate": "no", "is_cc_dma": "no", "op": row["op"],
                    "queue_type": row["type"], "dma_queue": str(row["index"]), "dma_engine": str(row["engine"]),
                    "subgroup": row["queue"], "variable": row["variable"], "source": row["source"], "dest": row["dest"],
                    "read_size": row["bytes"], "write_size": row["bytes"], "transfer_size": row["bytes"],
                    "transfer_rate": row["bytes"] / max(row["duration"] / 1e12, 1e-12), "semaphore_id": "S[8]", "crc": 0}
            if row["aggregated"]:
                made.update({"trigger": cut(row["trigger"]), "read_shape": "[128 128]", "write_shape": "[128 128]",
                             "source_num_sb_partitions": 0, "dest_num_sb_partitions": row["partitions"]})
            else:
                made.update({"packet_aggregation_id": row["of"], "packet_idx": row["packet"]})
            dma.append(made)
        active = []
        for engine in ENGINES:
            for row in self.instructions:
                if row["engine"] == engine and row["opcode"] != "EVENT_SEMAPHORE":
                    active.append({"engine": engine.lower(), "start_ts": cut(row["start"]),
                                   "end_ts": cut(row["start"] + row["duration"]), "duration_ns": row["duration"] // PS, "pcore_idx": 0})
        end = cut(self.total_ps)
        whole = {
            "instruction": instructions, "dma": dma, "active_time": active[:50], "summary": [{**self.summary, **self.texts}],
            "summary_groups": [{"total_time": "Time"}], "summary_group_order": [{"Time": 0}],
            "terminology": [{"total_time": "Hardware wall time"}], "metadata": [self.metadata(unit)],
            "model_info": [{"nc_idx": 0, "sg_name": "sg00", "trace_count": self.summary["trace_count"]}],
            "layer_summary": [{"name": "layer0", "fully_qualified_subgraph": "sg00", "start": 0, "end": end, "duration": end,
                               "tensor_engine_flop_count": self.summary["hardware_flops"], "tensor_engine_mfu": 0.25}],
            "dma_throughput": [{"timestamp": cut(i * 1_000_000), "transfer_rate": 1e9 * i, "hbm_transfer_rate": 5e8 * i,
                                "total_transfer_bytes": i, "hbm_total_transfer_bytes": i, "uses_hbm": "yes"} for i in range(8)],
            "pending_dma": [{"timestamp": cut(t), "value": v} for t, v in ((9_000_000, 2), (1_000_000, 1), (5_000_000, 3))],
            "dma_queues_info": [{"q_name": "qSyncIO0", "q_idx": 1, "q_eng_idx": 0, "q_type": "data"}],
            "semaphore_update": [{"timestamp": cut(i * 700_000), "id": str(i % 3) if i % 2 else "S[8] (qSyncSpillReload0)", "value": i} for i in range(12)],
            "instruction_usage": [{"timestamp": cut(i * 800_000), "type": "sb" if i % 2 else "psum", "usage_avg": i / 20} for i in range(10)],
            "ham": [{"timestamp": cut(2_000_000), "duration": cut(774_000), "type": 0, "k": 7, "n": 8},
                    {"timestamp": cut(4_000_000), "duration": cut(50_000), "type": 99, "k": 8, "n": 8}],
            "nc_mem_usage": [{"nd": 0, "nc": 0, "usage_type": "Profiler Buffers", "amount_bytes": 2416000000}],
            "neff_header": [{"name": "kernel", "version": "2"}],
            "neff_node": [{"variable_name": t["variable"], "type": t["kind"], "format": "NCHW", "shape": t["shape"],
                           "size": str(t["size"]), "node": str(t["node"])} for t in self.tensors],
            "profile_info": [{"profiler_version": "2.27.33.0", "profile_type": "device", "neff_name": "/tmp/x/kernel.neff"}],
            "warnings": self.warnings,
        }
        if shuffle is None:
            return whole
        rng = random.Random(shuffle)
        mixed = lambda of: dict(rng.sample(list(of.items()), len(of)))
        return mixed({key: [mixed(row) for row in rows] for key, rows in whole.items()})

    # The tables as Parquet has them: name -> list of (column, kind, values).
    def tables(self):
        ns = lambda ps: ps // PS
        of = self.instructions
        column = lambda key, rows: [row.get(key) for row in rows]
        instruction = [
            ("id", "int64", column("id", of)), ("start_ts", "int64", [ns(r["start"]) for r in of]),
            ("end_ts", "int64", [ns(r["start"]) + ns(r["duration"]) for r in of]),
            ("duration_ns", "int64", [ns(r["duration"]) for r in of]),
            ("evt_wait_time_ns", "int64", [ns(r["wait"]) for r in of]), ("engine", "text", column("engine", of)),
            ("opcode", "text", column("opcode", of)), ("operands", "text", column("operands", of)),
            ("pc", "int64", column("pc", of)), ("layer", "text", column("layer", of)), ("hlo_name", "text", column("hlo", of)),
            ("tensor_instruction_type", "text", [r["kind"] or None for r in of]),
            ("tensor_elements", "int64", column("elements", of)),
            ("nki_source_location", "text", column("source", of)), ("pcore_idx", "int64", [None] * len(of)),
            ("stack_frame_ids", "list", [[r["pc"] % 7, r["pc"] % 5] if "source" in r else None for r in of])]
        for name in ("hbm_read", "hbm_write", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "spill_save", "spill_reload"):
            instruction.append((name + "_bytes", "int64", column(name, of)))
        tables = {"Instruction": instruction}
        for table, is_aggregated in (("DmaPacket", False), ("DmaPacketAggregated", True)):
            rows = [row for row in self.dma if row["aggregated"] == is_aggregated]
            made = [("id", "int64", column("id", rows)), ("start_ts", "int64", [ns(r["start"]) for r in rows]),
                    ("end_ts", "int64", [ns(r["start"]) + ns(r["duration"]) for r in rows]),
                    ("duration_ns", "int64", [ns(r["duration"]) for r in rows]), ("queue_name", "text", column("queue", rows)),
                    ("queue_type", "text", column("type", rows)), ("queue_idx", "int64", column("index", rows)),
                    ("transfer_bytes", "int64", column("bytes", rows)), ("read_bytes", "int64", column("bytes", rows)),
                    ("write_bytes", "int64", column("bytes", rows)), ("variable", "text", column("variable", rows)),
                    ("throughput", "float", [r["bytes"] / max(r["duration"] / 1e12, 1e-12) for r in rows])]
            if is_aggregated:
                made += [("op", "text", column("op", rows)), ("source", "text", [json.dumps(r["source"], separators=(",", ":")) for r in rows]),
                         ("dest", "text", [json.dumps(r["dest"], separators=(",", ":")) for r in rows]),
                         ("trigger", "int64", [ns(r["trigger"]) for r in rows]),
                         ("write_num_sbuf_partitions", "int32", column("partitions", rows)),
                         ("read_num_sbuf_partitions", "int32", [0 for r in rows]),
                         ("engine_idx", "int64", column("engine", rows)),
                         ("is_transpose_mode", "bool", [False for r in rows])]
            else:
                made += [("packet_aggregation_id", "int64", column("of", rows)), ("packet_idx", "int32", column("packet", rows)),
                         ("engine_idx", "int64", column("engine", rows)),
                         ("source", "text", [json.dumps(r["source"], separators=(",", ":")) for r in rows]),
                         ("dest", "text", [json.dumps(r["dest"], separators=(",", ":")) for r in rows]),
                         ("op", "text", column("op", rows))]
            tables[table] = made
        tables["Summary"] = [(name, "double" if isinstance(value, float) else "int64", [value]) for name, value in self.summary.items()]
        tables["Summary"] += [(name, "text", [value]) for name, value in self.texts.items()]
        renamed = {"pe_num_rows": "tensor_engine_num_rows", "pe_num_cols": "tensor_engine_num_cols",
                   "pe_clock_freq": "tensor_engine_clock_freq", "pe_clock_others": "neuroncore_clock_freq"}
        tables["Metadata"] = [("profile_schema_version", "text", ["12.0.1"])]
        for name, value in self.metadata(PS).items():
            kind = "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "double" if isinstance(value, float) else "int64"
            tables["Metadata"].append((renamed.get(name, name), kind, [value]))
        tables["TensorInfo"] = [("variable_name", "text", [t["variable"] for t in self.tensors]),
                                ("type", "text", [t["kind"] for t in self.tensors]), ("format", "text", ["NCHW"] * 3),
                                ("shape", "text", [t["shape"] for t in self.tensors]), ("size", "int64", [t["size"] for t in self.tensors]),
                                ("node", "int64", [t["node"] for t in self.tensors])]
        tables["Warning"] = [("category", "text", [w["category"] for w in self.warnings]), ("message", "text", [w["message"] for w in self.warnings])]
        tables["Throttle"] = [("timestamp", "int64", [2000, 4000]), ("duration", "int64", [774, 50]), ("type", "text", ["0", "99"]),
                              ("k", "int32", [7, 8]), ("n", "int32", [8, 8])]
        return tables


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return varint((value << 1) ^ (value >> 63) if value < 0 else value << 1)


class Thrift:
    """A struct of the compact protocol."""

    def __init__(self):
        self.out, self.last = bytearray(), 0

    def head(self, field, kind):
        delta = field - self.last
        self.out += bytes([delta << 4 | kind]) if 0 < delta < 16 else bytes([kind]) + zigzag(field)
        self.last = field

    def i32(self, field, value):
        self.head(field, 5)
        self.out += zigzag(value)
        return self

    def i64(self, field, value):
        self.head(field, 6)
        self.out += zigzag(value)
        return self

    def boolean(self, field, value):
        self.head(field, 1 if value else 2)
        return self

    def binary(self, field, value):
        value = value.encode() if isinstance(value, str) else value
        self.head(field, 8)
        self.out += varint(len(value)) + value
        return self

    def struct(self, field, value):
        self.head(field, 12)
        self.out += value.done()
        return self

    def items(self, field, kind, values):
        self.head(field, 9)
        self.out += bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([0xF0 | kind]) + varint(len(values))
        for value in values:
            self.out += value.done() if isinstance(value, Thrift) else zigzag(value)
        return self

    def done(self):
        return bytes(self.out) + b"\0"


def snappy(data):
    """Snappy with copies of what was just written, as long as it repeats."""
    out, at = bytearray(varint(len(data))), 0
    literal = bytearray()

    def flush():
        for begin in range(0, len(literal), 60):
            piece = literal[begin:begin + 60]
            out.append((len(piece) - 1) << 2)
            out.extend(piece)
        literal.clear()

    while at < len(data):
        if at >= 8 and data[at:at + 8] == data[at - 8:at] and len(data) - at >= 8:
            flush()
            length = 8
            while length < 64 and at + length < len(data) and data[at + length] == data[at + length - 8]:
                length += 1
            out += bytes([(length - 1) << 2 | 2]) + struct.pack("<H", 8)
            at += length
        else:
            literal.append(data[at])
            at += 1
    flush()
    return bytes(out)


def lz4(data):
    """LZ4 blocks with matches at distance 8."""
    out, at, begin = bytearray(), 0, 0

    def sequence(literals, match):
        token = min(len(literals), 15) << 4 | (min(match - 4, 15) if match else 0)
        out.append(token)
        rest = len(literals) - 15
        while rest >= 0:
            out.append(min(rest, 255))
            rest -= 255
        out.extend(literals)
        if match:
            out.extend(struct.pack("<H", 8))
            rest = match - 4 - 15
            while rest >= 0:
                out.append(min(rest, 255))
                rest -= 255

    while at + 16 < len(data):
        if at >= 8 and data[at:at + 8] == data[at - 8:at]:
            length = 8
            while at + length + 16 < len(data) and data[at + length] == data[at + length - 8]:
                length += 1
            sequence(data[begin:at], length)
            at += length
            begin = at
        else:
            at += 1
    sequence(data[begin:], 0)
    return bytes(out)


def compress(codec, data):
    if codec == "snappy":
        return 1, snappy(data)
    if codec == "gzip":
        return 2, gzip.compress(data, mtime=0)
    if codec == "lz4_raw":
        return 7, lz4(data)
    if codec == "zstd":
        import ctypes
        import ctypes.util
        lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
        room = lib.ZSTD_compressBound(ctypes.c_size_t(len(data)))
        made = ctypes.create_string_buffer(room)
        size = lib.ZSTD_compress(made, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
        return 6, made.raw[:size]
    return 0, data


def bits_for(most):
    return most.bit_length()


def hybrid(values, bits):
    """RLE and bit packing: runs of 8 and more as runs, others packed."""
    out, at = bytearray(), 0
    width = (bits + 7) // 8
    while at < len(values):
        run = 1
        while at + run < len(values) and values[at + run] == values[at]:
            run += 1
        if run >= 8 or at + 8 > len(values):
            out += varint(run << 1) + values[at].to_bytes(width, "little")
            at += run
            continue
        groups = 1
        while at + 8 * (groups + 1) <= len(values) and groups < 60 and len(set(values[at + 8 * groups:at + 8 * groups + 8])) > 1:
            groups += 1
        packed = 0
        for k in range(8 * groups):
            packed |= values[at + k] << (k * bits)
        out += varint(groups << 1 | 1) + packed.to_bytes(groups * bits, "little")
        at += 8 * groups
    return bytes(out)


def delta_packed(values):
    """DELTA_BINARY_PACKED: blocks of 128 in 4 miniblocks."""
    out = bytearray(varint(128) + varint(4) + varint(len(values)) + zigzag(values[0] if values else 0))
    deltas = [(b - a + (1 << 63)) % (1 << 64) - (1 << 63) for a, b in zip(values, values[1:])]
    for begin in range(0, len(deltas), 128):
        block = deltas[begin:begin + 128]
        least = min(block)
        out += zigzag(least)
        minis = [[(d - least) % (1 << 64) for d in block[k:k + 32]] for k in range(0, 128, 32)]
        widths = [bits_for(max(mini)) if mini else 0 for mini in minis]
        out += bytes(widths)
        for mini, width in zip(minis, widths):
            packed = 0
            for k, value in enumerate(mini):
                packed |= value << (k * width)
            if mini:
                out += packed.to_bytes(32 * width // 8, "little")
    return bytes(out)


TYPES = {"bool": 0, "int32": 1, "int64": 2, "float": 4, "double": 5, "text": 6, "list": 2, "texts": 6}
LISTS = {"list": "int64", "texts": "text"}  # by what they are of


def plain(kind, values):
    if kind == "bool":
        packed = sum(1 << i for i, value in enumerate(values) if value)
        return packed.to_bytes((len(values) + 7) // 8, "little")
    if kind == "text":
        return b"".join(struct.pack("<I", len(v.encode())) + v.encode() for v in values)
    form = {"int32": "<%di", "int64": "<%dq", "float": "<%df", "double": "<%dd", "list": "<%dq"}[kind]
    return struct.pack(form % len(values), *values)


def encode(kind, values, encoding):
    """The bytes of values that are no nulls, and the number of the encoding."""
    if encoding == "delta" and kind in ("int32", "int64", "list"):
        return 5, delta_packed(values)
    if encoding == "delta_length" and kind == "text":
        raw = [v.encode() for v in values]
        return 6, delta_packed([len(v) for v in raw]) + b"".join(raw)
    if encoding == "delta" and kind == "text":
        raw = [v.encode() for v in values]
        prefixes, last = [], b""
        for v in raw:
            prefixes.append(len(os.path.commonprefix([last, v])))
            last = v
        rest = [v[p:] for v, p in zip(raw, prefixes)]
        return 7, delta_packed(prefixes) + delta_packed([len(v) for v in rest]) + b"".join(rest)
    if encoding == "split" and kind in ("float", "double", "int32", "int64"):
        data = plain(kind, values)
        width = len(data) // max(len(values), 1)
        return 9, b"".join(data[k::width] for k in range(width)) if values else b""
    if encoding == "runs" and kind == "bool":
        runs = hybrid([int(v) for v in values], 1)
        return 3, struct.pack("<I", len(runs)) + runs
    return 0, plain(kind, values)


def write_parquet(path, columns, codec="snappy", encoding="dictionary", version=1, page_rows=1000, group_rows=5000):
    """Columns: (name, kind, values), None for null; `list` is a list of int64, `texts` one of texts."""
    rows = len(columns[0][2])
    out, groups = bytearray(b"PAR1"), []
    for first in range(0, max(rows, 1), group_rows):
        chunks = []
        count = min(group_rows, rows - first)
        for name, kind, values in columns:
            part = values[first:first + count]
            begin, dictionary_at, unpacked_total = len(out), None, 0
            entries, of_chunk, path_name = 0, None, [name]
            if kind in LISTS:
                path_name = [name, "list", "element"]
            distinct = None
            if encoding == "dictionary" and kind in ("text", "int64", "int32", "double", "float"):
                distinct = list(dict.fromkeys(v for v in part if v is not None))
                if len(distinct) > 4000:
                    distinct = None
            codec_number = compress(codec, b"")[0]
            if distinct is not None:
                data = plain(kind, distinct)
                packed = compress(codec, data)[1]
                head = Thrift().i32(1, 2).i32(2, len(data)).i32(3, len(packed)).struct(7, Thrift().i32(1, len(distinct)).i32(2, 0))
                dictionary_at = len(out)
                out += head.done() + packed
                of_chunk = {value: i for i, value in enumerate(distinct)}
            data_at = len(out)
            for page in range(0, max(count, 1), page_rows):
                here = part[page:page + page_rows]
                repetition, definition, present = [], [], []
                if kind in LISTS:
                    for value in here:
                        if value is None or not value:
                            repetition.append(0)
                            definition.append(0 if value is None else 1)
                            continue
                        for k, element in enumerate(value):
                            repetition.append(0 if k == 0 else 1)
                            definition.append(2 if element is None else 3)
                            if element is not None:
                                present.append(element)
                else:
                    definition = [0 if value is None else 1 for value in here]
                    present = [value for value in here if value is not None]
                if of_chunk is not None:
                    width = bits_for(max(len(distinct) - 1, 0))
                    number, data = 8, bytes([width]) + hybrid([of_chunk[v] for v in present], width)
                else:
                    number, data = encode(LISTS.get(kind, kind), present, encoding)
                entries += len(definition)
                levels_r = hybrid(repetition, 1) if kind in LISTS else b""
                levels_d = hybrid(definition, 2 if kind in LISTS else 1)
                if version == 1:
                    body = (struct.pack("<I", len(levels_r)) + levels_r if kind in LISTS else b"") + struct.pack("<I", len(levels_d)) + levels_d + data
                    packed = compress(codec, body)[1]
                    head = Thrift().i32(1, 0).i32(2, len(body)).i32(3, len(packed))
                    head.struct(5, Thrift().i32(1, len(definition)).i32(2, number).i32(3, 3).i32(4, 3))
                else:
                    inner = compress(codec, data)[1]
                    packed = levels_r + levels_d + inner
                    head = Thrift().i32(1, 3).i32(2, len(levels_r) + len(levels_d) + len(data)).i32(3, len(packed))
                    v2 = Thrift().i32(1, len(definition)).i32(2, len(definition) - len(present)).i32(3, len(here)).i32(4, number)
                    v2.i32(5, len(levels_d)).i32(6, len(levels_r)).boolean(7, True)
                    head.struct(8, v2)
                unpacked_total += len(data)
                out += head.done() + packed
            meta = Thrift().i32(1, TYPES[kind]).items(2, 5, [0, 3]).items(3, 8, [])
            meta.out[-1:] = bytes([len(path_name) << 4 | 8]) + b"".join(varint(len(p)) + p.encode() for p in path_name)
            meta.i32(4, codec_number).i64(5, entries).i64(6, unpacked_total).i64(7, len(out) - begin).i64(9, data_at)
            if dictionary_at is not None:
                meta.i64(11, dictionary_at)
            chunks.append(Thrift().i64(2, begin).struct(3, meta))
        groups.append(Thrift().items(1, 12, chunks).i64(2, 0).i64(3, count))
        if rows == 0:
            break
    schema = [Thrift().binary(4, "schema").i32(5, len(columns))]
    for name, kind, values in columns:
        if kind in LISTS:
            schema.append(Thrift().i32(3, 1).binary(4, name).i32(5, 1).i32(6, 3))
            schema.append(Thrift().i32(3, 2).binary(4, "list").i32(5, 1))
            element = Thrift().i32(1, TYPES[kind]).i32(3, 1).binary(4, "element")
            schema.append(element.i32(6, 0) if kind == "texts" else element)
            continue
        element = Thrift().i32(1, TYPES[kind]).i32(3, 1).binary(4, name)
        schema.append(element.i32(6, 0) if kind == "text" else element)
    footer = Thrift().i32(1, 1).items(2, 12, schema).i64(3, rows).items(4, 12, groups).binary(6, "kprof tests").done()
    out += footer + struct.pack("<I", len(footer)) + b"PAR1"
    with open(path, "wb") as file:
        file.write(out)


def write_json(profile, path, picoseconds=False, shuffle=None, log=True):
    with open(path, "w") as file:
        if log:
            file.write('time="2026-11-27T10:00:00Z" level=info msg="Processing {2} files"\n')
        json.dump(profile.json_object(1 if picoseconds else PS, shuffle), file)


def write_folder(profile, folder, **how):
    os.makedirs(folder, exist_ok=True)
    for table, columns in profile.tables().items():
        if columns and columns[0][2]:
            write_parquet(os.path.join(folder, table + ".parquet"), columns, **how)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("json", "parquet"))
    parser.add_argument("to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--picoseconds", action="store_true")
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--codec", default="snappy")
    parser.add_argument("--encoding", default="dictionary")
    parser.add_argument("--v2", action="store_true")
    args = parser.parse_args()
    profile = Profile(args.seed, args.rows, debug=args.debug, cold=args.cold)
    if args.kind == "json":
        write_json(profile, args.to, args.picoseconds, args.shuffle)
    else:
        write_folder(profile, args.to, codec=args.codec, encoding=args.encoding, version=2 if args.v2 else 1)


if __name__ == "__main__":
    main()
