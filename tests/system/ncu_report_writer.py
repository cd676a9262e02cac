"""Writes reports of Nsight Compute (.ncu-rep, container version 7), for tests of imports and for stand-ins of ncu.

    report([launch("void copy(float*)", {"gpu__time_duration.sum": 2500.0}, rules=[rule("SOLBottleneck", "..")])])

is the bytes of a report. What stands where is told in daemon/ingest/ncu. Needs nothing but Python.
"""

import struct

from perfetto_writer import fixed64, number, real, text

VERSION = 7
DEVICE = "NVIDIA H100 80GB HBM3"
MESSAGE_TYPES = {"INF": 1, "WRN": 2, "ERR": 3, "OPT": 4}
SPEEDUP_TYPES = {"local": 1, "global": 2}
SECTION_PLACES = {"SpeedOfLight": 10, "MemoryWorkloadAnalysis": 30, "SchedulerStats": 40, "WarpStateStats": 50, "LaunchStats": 70, "Occupancy": 80,
                  "SourceCounters": 100}
INSTRUCTION_BYTES = 16


def value(of):
    """A value of a metric: a text, a whole number or a real one."""
    if isinstance(of, str):
        return text(1, of)
    if isinstance(of, int):
        return number(5, of)
    return real(3, of)


def sizes(of):
    return b"".join(number(i + 1, each) for i, each in enumerate(of))


def rule(identifier, message="", kind="OPT", title="", section="SpeedOfLight", speedup=None, speedup_type="global", metric=None, metric_value=None, reason=""):
    """A rule that fired; without a message one that did not. `speedup`: in percent."""
    body = b""
    if message:
        item = text(1, text(1, message) + number(2, MESSAGE_TYPES[kind]))
        if metric:
            focus = text(2, metric) + (real(3, metric_value) if metric_value is not None else b"") + (text(5, reason) if reason else b"")
            item += text(8, focus)
        if speedup is not None:
            item += text(10, number(1, SPEEDUP_TYPES[speedup_type]) + real(2, float(speedup)))
        body = text(3, text(1, item))
    return text(1, identifier) + text(2, title or identifier) + body + text(4, section)


def section(identifier, metrics, title="", place=None):
    """A section with the metrics that head it: a dict of labels by metrics."""
    head = b"".join(text(2, text(1, metric) + text(2, label)) for metric, label in metrics.items())
    place = SECTION_PLACES.get(identifier, 100) if place is None else place
    return text(1, identifier) + text(2, title or identifier) + number(3, place) + text(4, head)


def instruction(address, sass, ptx="", file="", line=0):
    """An instruction as reports until 2024 have it in the result."""
    place = text(5, number(2, line) + text(4, file)) if line else b""
    return number(1, address) + text(2, sass) + (text(3, ptx) if ptx else b"") + place


def nvtx_state(ranges, tid=1):
    """The state of NVTX: the open ranges of a thread, outermost first."""
    return text(2, number(1, tid) + text(2, number(1, 0) + b"".join(text(2, text(1, name)) for name in ranges)))


def launch(kernel, metrics=None, instances=None, sections=(), rules=(), mangled="", function="", grid=(1, 1, 1), block=(128, 1, 1), pid=4711, source=0,
           context=1, stream=7, unix_s=1_750_000_000, instructions=(), ranges=(), device=DEVICE, capability=(9, 0)):
    """A launch. `metrics`: values by names. `instances`: of a metric, by its name, a dict of values by keys (texts or numbers)."""
    metrics = dict(metrics or {})
    if device:
        metrics.setdefault("device__attribute_display_name", device)
        metrics.setdefault("device__attribute_compute_capability_major", capability[0])
        metrics.setdefault("device__attribute_compute_capability_minor", capability[1])
    for name in instances or {}:
        metrics.setdefault(name, None)
    return {"kernel": kernel, "metrics": metrics, "instances": dict(instances or {}), "sections": sections, "rules": rules, "mangled": mangled,
            "function": function or kernel.split("(")[0].split()[-1], "grid": grid, "block": block, "pid": pid, "source": source, "context": context,
            "stream": stream, "unix_s": unix_s, "instructions": instructions, "ranges": ranges}


class NameTable:
    """The table of names; each block has those that are new in it."""

    def __init__(self):
        self.ids = {}
        self.new = []

    def id_of(self, name):
        if name not in self.ids:
            self.ids[name] = len(self.ids)
            self.new.append(name)
        return self.ids[name]

    def take(self):
        new, self.new = self.new, []
        return b"".join(text(1, name) for name in new)


def metric(name_id, of, instances):
    message = number(1, name_id)
    if of is not None:
        message += text(2, value(of))
    for key, each in instances.items():
        message += text(3, text(1, value(key)) + text(2, value(each)))
    return message


def result(of, names):
    """The message of a launch."""
    message = number(1, of["pid"]) + number(2, 543)
    if of["mangled"]:
        message += text(5, of["mangled"])
    message += text(6, of["function"]) + text(7, of["kernel"]) + number(8, 3)
    message += text(10, sizes(of["grid"])) + text(11, sizes(of["block"]))
    message += b"".join(text(12, each) for each in of["instructions"])
    for name, each in of["metrics"].items():
        message += text(13, metric(names.id_of(name), each, of["instances"].get(name, {})))
    message += number(14, of["unix_s"]) + text(15, number(1, of["source"])) + number(16, 0)
    message += b"".join(text(17, each) for each in of["sections"])
    message += text(18, b"\x0a\x00") + b"".join(text(19, each) for each in of["rules"])
    if of["ranges"]:
        message += text(21, nvtx_state(of["ranges"]))
    return message + number(22, of["context"]) + number(23, of["stream"]) + fixed64(35, 1)


def source(number_of, cubin=b"", functions=None, code="", ptx="", sm=(9, 0)):
    """A source. `functions`: addresses by mangled names."""
    message = number(1, number_of)
    if code:
        message += text(2, code)
    if ptx:
        message += text(3, ptx)
    if cubin:
        message += text(4, cubin)
    message += number(5, sm[0]) + number(6, sm[0] << 16 | sm[1])
    return message + text(9, b"".join(text(1, text(1, name) + number(2, address)) for name, address in (functions or {}).items()))


def session(devices=None, versions=None, command="ncu --set full -o report python bench.py", host="private-host", address="192.0.2.7", unix_s=1_750_000_000):
    """The session's details. `devices`: a list of names with a dict of attributes each."""
    devices = [(DEVICE, {"multiprocessor_count": 132, "display_name": DEVICE})] if devices is None else devices
    versions = {"CUDA Version": "13.0", "Nsight Compute Target": "2025.3.1.0"} if versions is None else versions
    system = text(1, "Linux") + text(2, "6.1.0") + text(3, "x86 processor") + text(4, "x86_64") + text(5, host)
    message = number(1, 4711) + number(2, unix_s) + text(3, system) + text(4, system + text(7, text(1, "eth0") + text(2, address)))
    for ordinal, (name, attributes) in enumerate(devices):
        of_device = b"".join(text(3, text(1, "device__attribute_" + key) + text(2, value(each))) for key, each in attributes.items())
        message += text(6, number(1, ordinal) + text(2, name) + of_device)
    message += b"".join(text(8, text(1, name) + text(2, version)) for name, version in versions.items())
    return message + text(11, command)


def sized(message):
    return struct.pack("<I", len(message)) + message


def block(names=b"", sources=(), results=(), ranges=(), details=b"", process=b""):
    payload = b"".join(sized(each) for each in (*sources, *results, *ranges))
    head = number(1, len(sources)) + number(2, len(results))
    if details:
        head += text(3, details)
    if names:
        head += text(4, names)
    return sized(head + number(5, len(payload)) + text(6, process) + number(7, len(ranges))) + payload


def report(launches, sources=(), details=None, ranges=(), process="/home/who/bin/python3.11", pid=4711, host="private-host", version=VERSION):
    """The bytes of a report: blocks as ncu writes them, each source and each result in one of its own. `ranges`: launches
    that are written as results of ranges."""
    details = session() if details is None else details
    of_process = number(1, pid) + text(2, host) + text(3, process)
    names = NameTable()
    out = b"NVR\0" + sized(number(1, version))
    out += block(details=details, process=of_process)
    out += b"".join(block(sources=[each], process=of_process) for each in sources)
    for each in launches:
        message = result(each, names)
        out += block(names.take(), results=[message], process=of_process)
    for each in ranges:
        message = result(each, names)
        out += block(names.take(), ranges=[message], process=of_process)
    return out + block(details=details, process=of_process)


def line_program(lines, symbol_address=0):
    """A program of DWARF's table of lines: a row for each instruction, `lines` its (file number, line)."""
    program = b"\0\x09\x02" + struct.pack("<Q", symbol_address)
    file_at, line_at = 1, 1
    for file, line in lines:
        if file != file_at:
            program += b"\x04" + unsigned(file)
        program += b"\x03" + signed(line - line_at) + b"\x01" + b"\x02" + unsigned(INSTRUCTION_BYTES)
        file_at, line_at = file, line
    return program + b"\0\x01\x01"


def unsigned(of):
    out = bytearray()
    while of >= 0x80:
        out.append(of & 0x7f | 0x80)
        of >>= 7
    return bytes(out) + bytes([of])


def signed(of):
    out = bytearray()
    while not -64 <= of < 64:
        out.append(of & 0x7f | 0x80)
        of >>= 7
    return bytes(out) + bytes([of & 0x7f])


def line_unit(files, program):
    """A unit of DWARF 2: the head with its files, and the program. Returns it and where the program begins in it."""
    folders = sorted({path.rsplit("/", 1)[0] for path in files if "/" in path})
    head = bytes([1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1])
    head += b"".join(folder.encode() + b"\0" for folder in folders) + b"\0"
    for path in files:
        folder = folders.index(path.rsplit("/", 1)[0]) + 1 if "/" in path else 0
        head += path.rsplit("/", 1)[-1].encode() + b"\0" + bytes([folder, 0, 0])
    head += b"\0"
    unit = struct.pack("<HI", 2, len(head)) + head
    return struct.pack("<I", len(unit) + len(program)) + unit + program, 4 + len(unit)


def cubin(functions, ptx=None, ptx_lines=None):
    """A cubin with the tables of its lines. `functions`: of each mangled name the (file, line) of each instruction. `ptx`:
    its text; `ptx_lines`: of each mangled name the line of PTX of each instruction."""
    names = list(functions)
    sections = [("", 0, b"", 0, 0)]
    for name in names:
        sections.append((f".text.{name}", 1, bytes(INSTRUCTION_BYTES * len(functions[name])), 0, 0))
    symbols = bytes(24)
    strings = b"\0"
    for i, name in enumerate(names):
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, i + 1, 0, INSTRUCTION_BYTES * len(functions[name]))
        strings += name.encode() + b"\0"

    def add_lines(section_name, files, lines_of):
        body, relocations = b"", b""
        for i, name in enumerate(names):
            unit, begin = line_unit(files, line_program(lines_of(name)))
            relocations += struct.pack("<QQ", len(body) + begin + 3, (i + 1) << 32 | 2)
            body += unit
        sections.append((section_name, 1, body, 0, 0))
        sections.append((".rel" + section_name, 9, relocations, "symtab", len(sections) - 1))

    files = sorted({file for lines in functions.values() for file, _ in lines})
    add_lines(".debug_line", files, lambda name: [(files.index(file) + 1, line) for file, line in functions[name]])
    if ptx is not None:
        sections.append((".nv_debug_ptx_txt", 1, b"\0".join(line.encode() for line in ptx.split("\n")), 0, 0))
        add_lines(".nv_debug_line_sass", ["kernel.ptx"], lambda name: [(1, line) for line in ptx_lines[name]])
    symtab = len(sections)
    sections.append((".symtab", 2, symbols, symtab + 1, 1))
    sections.append((".strtab", 3, strings, 0, 0))
    texts = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in sections[1:]) + b".shstrtab\0"
    sections.append((".shstrtab", 3, texts, 0, 0))
    body = bytes(64)
    heads = b""
    name_at = 1
    for name, kind, content, link, info in sections:
        head = struct.pack("<IIQQQQIIQQ", name_at if name else 0, kind, 0, 0, len(body), len(content), symtab if link == "symtab" else link, info, 1, 0)
        heads += head
        body += content
        name_at += len(name) + 1 if name else 0
    head = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0x33, 2, 190, 1, 0, 0, len(body), 0x5a055a, 64, 0, 0, 64, len(sections),
                       len(sections) - 1)
    return head + body[64:] + heads
