"""The files of Neuron profiles, for the stand-ins: NEFF, NTFF of version 5, the device profile that is in one, the traces that
the runtime's inspect mode leaves, and the system profile that is made of them. Deterministic; times in ns.

An NTFF has the layout that real ones of version 5 have (version, two lengths, a message whose first fields are the NEFF's path
and its id, raw records). What the records mean is nobody's to know, so the profile of an NTFF is made of the NEFF's id.
"""

import hashlib
import json
import os
import struct

import neuron_parquet

TENSOR_PEAK = 91.7504e12
HBM_BYTES_PER_S = 410e9
ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")


def neff_id(path):
    """16 bytes."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()[:16]


def write_neff(path, kernel):
    """A header of 1 KiB and a package, whose content nobody here reads."""
    with open(path, "wb") as file:
        file.write(b"NEFF" + struct.pack("<Q", 2) + kernel.encode().ljust(1012, b"\0") + b"package of " + kernel.encode())


def _field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def write_ntff(path, neff, behaviour):
    """What a capture leaves; cut or empty where it is told so."""
    message = _field(1, os.path.basename(neff).encode()[:100]) + _field(2, neff_id(neff)) + _field(13, b"\0\1") * 8
    section = b"".join(struct.pack("<QQ", at * 100, at) for at in range(64))
    header = bytes([behaviour.get("ntff_version", 5)]) + struct.pack("<QQ", len(message), len(section))
    data = header.ljust(128, b"\0") + message + section + b"\0" * 937
    if behaviour.get("empty_ntff"):
        data = b""
    with open(path, "wb") as file:
        file.write(data[:behaviour.get("cut_ntff", len(data))])


def read_ntff(path):
    """Its version, and the NEFF's id."""
    with open(path, "rb") as file:
        data = file.read()
    at = 128
    name_size = data[at + 1]
    return data[0], data[at + 4 + name_size:at + 20 + name_size]


def _instructions(seed):
    """Loads, a product in tiles, an activation, a store: (engine, opcode, begin, duration, line, elements)."""
    at, rows = 7, []
    for tile in range(8 + seed % 5):
        rows.append(("Sync", "EVENT_SEMAPHORE", at, 40, 21, 0))
        rows.append(("Tensor", "MATMUL", at + 40, 64, 23, 128 * 128 * 64))
        rows.append(("Vector", "TENSOR_TENSOR", at + 60, 30 + tile % 3, 25, 0))
        rows.append(("Scalar", "ACTIVATE", at + 100, 22, 26, 0))
        at += 130
    rows.append(("GpSimd", "IOTA", 20, 90, 19, 0))
    return rows


def _union(intervals):
    busy, last = 0, None
    for begin, end in sorted(intervals):
        if last is None or begin > last:
            busy, last = busy + end - begin, end
        elif end > last:
            busy, last = busy + end - last, end
    return busy


def device_profile(node, neff, ntff):
    """The object that view writes: each value is a list of objects."""
    seed = neff_id(neff)[0]
    base = int.from_bytes(neff_id(neff)[:8], "little") >> 1 | 1 << 62  # ids beyond 2^53, as real ones
    work = _instructions(seed)
    instructions = [{
        "id": base + number, "timestamp": begin, "duration": duration, "evt_wait_time": 12, "subgroup": engine,
        "label": "TensorMatrix" if opcode == "MATMUL" else engine, "opcode": opcode, "operands": "src=bf16@0x100 dst=fp32@0x200",
        "instruction_type": "REGULAR" if opcode == "MATMUL" else "", "pc": number, "layer": "", "hlo_name": "", "crc_in": 0,
        "crc_out": 0, "nki_source_location": f"/kernels/attention.py:{line}",
        **({"elements": elements} if elements else {}),
    } for number, (engine, opcode, begin, duration, line, elements) in enumerate(work)]
    packets = [{
        "id": base + 1000 + number, "timestamp": 10 + 120 * number, "duration": 90, "aggregated": "no", "duplicate": "no",
        "is_cc_dma": "no", "op": "write", "queue_type": "data" if number % 2 else "software_dynamic", "dma_queue": str(number % 2),
        "dma_engine": str(number % 16), "subgroup": f"qSyncIO0-Q{number % 2}-E0", "variable": "q" if number % 2 else "unknown",
        "read_size": 32768, "write_size": 32768, "transfer_size": 32768, "transfer_rate": 364088888889,
    } for number in range(8)]
    total_ns = max(row["timestamp"] + row["duration"] for row in instructions + packets) - 170 + 400
    busy = {engine: [(begin, begin + duration) for name, opcode, begin, duration, _, _ in work
                     if name == engine and opcode != "EVENT_SEMAPHORE"] for engine in ENGINES}
    moved = sum(row["transfer_size"] for row in packets)
    flops = 2 * sum(row.get("elements", 0) for row in instructions)
    dma_ns = _union([(row["timestamp"], row["timestamp"] + row["duration"]) for row in packets])
    total_s = total_ns * 1e-9
    summary = {
        "total_time": total_s, "neuroncore_cycle_count": round(total_ns * 1.4), "model_flops": flops, "hardware_flops": flops,
        "transpose_flops": 0, "hfu_estimated_percent": flops / (total_s * TENSOR_PEAK),
        "mfu_estimated_percent": flops / (total_s * TENSOR_PEAK), "peak_flops_bandwidth_ratio": TENSOR_PEAK / HBM_BYTES_PER_S,
        "mbu_estimated_percent": moved / total_s / HBM_BYTES_PER_S, "hbm_read_bytes": moved, "hbm_write_bytes": 0,
        "dma_active_time": dma_ns * 1e-9, "dma_active_time_percent": dma_ns / total_ns, "dma_transfer_total_bytes": moved,
        "inputs_outputs_weights_size_bytes": moved, "instance_type": node["instance_type"], "nc_idx": 0,
        "profiler_version": "2.33.38.0",
    }
    for engine in ENGINES:
        name = engine.lower()
        summary[f"{name}_engine_active_time"] = _union(busy[engine]) * 1e-9
        summary[f"{name}_engine_active_time_percent"] = _union(busy[engine]) / total_ns
        summary[f"{name}_engine_instruction_count"] = sum(1 for row in work if row[0] == engine)
    return {
        "instruction": instructions, "dma": packets, "summary": [summary],
        "metadata": [{"ntff_version": 5, "data_version": 8, "first_ts": "1970-01-01T00:00:00Z", "first_hw_timestamp": 0,
                      "last_hw_timestamp": total_ns + 170, "dma_ddr_bandwidth": 435e9, "hbm_ddr_bandwidth": HBM_BYTES_PER_S,
                      "pe_clock_freq": 2.8, "pe_clock_others": 1.4, "pe_num_rows": 128, "pe_num_cols": 128,
                      "num_physical_cores": 1, "vnc_enabled": False, "is_simulation": False}],
        "profile_info": [{"profiler_version": "2.33.38.0", "ntff_filename": os.path.basename(ntff),
                          "neff_name": os.path.basename(neff), "cc_only": False}],
        "warnings": [],
    }


def write_tables(folder, profile):
    """As Parquet, one file a table, with the names of the tables' columns."""
    os.makedirs(folder, exist_ok=True)
    rename = {"timestamp": "start_ts", "duration": "duration_ns", "evt_wait_time": "evt_wait_time_ns", "subgroup": "engine",
              "elements": "tensor_elements", "instruction_type": "tensor_instruction_type", "transfer_size": "transfer_bytes"}
    for key, table in (("instruction", "Instruction"), ("dma", "DmaPacket"), ("summary", "Summary"), ("metadata", "Metadata")):
        rows = [{rename.get(name, name): value for name, value in row.items()} for row in profile[key]]
        for row in rows:
            if "start_ts" in row:
                row["end_ts"] = row["start_ts"] + row["duration_ns"]
        if table == "Metadata":
            rows = [dict(row, profile_schema_version="12.0.1", tensor_engine_num_rows=128, tensor_engine_num_cols=128,
                         tensor_engine_clock_freq=2.8) for row in rows]
        if rows:
            neuron_parquet.write_table(os.path.join(folder, table + ".parquet"), rows)


def runtime_events(executions, base_ns, pid):
    """A synchronous program on one core: a copy in, an execution, a copy out, each time."""
    events, at = [], base_ns
    for number in range(executions):
        for name, begin, end in (("nrt_tensor_write", 0, 40_000), ("nrt_execute", 50_000, 1_250_000),
                                 ("kbl_exec_pre", 60_000, 90_000), ("nc_exec_running", 100_000, 1_200_000),
                                 ("nrt_tensor_read", 1_260_000, 1_300_000)):
            events.append({"name": name, "begin_ns": at + begin, "end_ns": at + end, "exec_id": number, "pid": pid})
        at += 1_500_000
    return events


def write_trace(folder, events, pid):
    """The runtime's tree: its forms are the vendor's own, so here a line of JSON stands in each."""
    place = os.path.join(folder, f"i-0123456789abcdef0_pid_{pid}")
    os.makedirs(place)
    for name, data in (("ntrace.pb", json.dumps(events)), ("trace_info.pb", "{}")):
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(data)
    return place


def read_trace(path):
    """The events of write_trace."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def system_profile(events):
    """As view writes it: numbers as strings here and there."""
    return {"trace_event": [{
        "name": event["name"], "timestamp": event["begin_ns"], "duration": event["end_ns"] - event["begin_ns"],
        "process_id": str(event["pid"]), "thread_id": event["pid"], "worker_gid": 0, "nc_idx": 0, "lnc_idx": "0",
        "device_core_idx": 0, "exec_id": event["exec_id"], "group": "nrt-nc-000", "id": number, "instance_id": "i-0123456789abcdef0",
        "type": 11,
    } for number, event in enumerate(events)], "mem_usage": [], "cpu_util": []}


def write_system_tables(folder, profile):
    """As Parquet."""
    os.makedirs(folder, exist_ok=True)
    rows = [{"id": row["id"], "name": row["name"], "start_ts": row["timestamp"], "end_ts": row["timestamp"] + row["duration"],
             "duration_ns": row["duration"], "trace_event_source": "neuron_hw" if row["name"].startswith("nc_") else "neuron_rt",
             "instance_id": row["instance_id"], "process_id": row["process_id"], "thread_id": row["thread_id"],
             "nc_idx": row["nc_idx"], "pcore_idx": row["device_core_idx"], "worker_gid": row["worker_gid"],
             "extra_attributes_json": json.dumps({"exec_id": row["exec_id"]})} for row in profile["trace_event"]]
    if rows:
        neuron_parquet.write_table(os.path.join(folder, "SystemProfileEvents.parquet"), rows)
        first, last = min(row["start_ts"] for row in rows), max(row["end_ts"] for row in rows)
        neuron_parquet.write_table(os.path.join(folder, "SystemProfileMetadata.parquet"),
                                   [{"first_ts_ns": str(first), "last_ts_ns": str(last), "ntff_version": 5}])
