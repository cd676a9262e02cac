"""Writes Perfetto traces (protocol buffers) as PyTorch's CUPTI monitor does, for tests of imports."""

import struct
import zlib


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def real(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def annotation(name, value, field=4, names=None):
    """A DebugAnnotation; `names`: its names are interned there."""
    body = b""
    if name is not None:
        body += number(1, names.setdefault(name, len(names) + 1)) if names is not None else text(10, name)
    return text(field, body + annotation_value(value))


def annotation_value(value):
    if isinstance(value, bool):
        return number(2, int(value))
    if isinstance(value, int):
        return number(4, value)
    if isinstance(value, float):
        return real(5, value)
    if isinstance(value, str):
        return text(6, value)
    if isinstance(value, list):
        return b"".join(annotation(None, each, 12) for each in value)
    return b"".join(annotation(key, each, 11) for key, each in value.items())


class PerfettoWriter:
    """Packets of one sequence. Slices are written as PyTorch does: all begins first, then all ends in the same order."""

    def __init__(self, sequence=1):
        self.sequence = sequence
        self.packets = []
        self.names = {}
        self.categories = {}
        self.extra_interned = b""
        self.begins = []
        self.ends = []

    def packet(self, body, flags=2):
        self.packets.append(body + number(10, self.sequence) + (number(13, flags) if flags else b""))

    def clocks(self, unix_ns, trace_ns=None):
        trace_ns = unix_ns if trace_ns is None else trace_ns
        body = text(1, number(1, 6) + number(2, trace_ns)) + text(1, number(1, 1) + number(2, unix_ns)) + number(2, 6)
        self.packet(number(8, trace_ns) + text(6, body), flags=0)

    def process(self, uuid, pid, name):
        self.packet(text(60, number(1, uuid) + text(3, number(1, pid) + text(6, name))), flags=0)

    def thread(self, uuid, parent, pid, tid, name):
        self.packet(text(60, number(1, uuid) + number(5, parent) + text(4, number(1, pid) + number(2, tid) + text(5, name))), flags=0)

    def counter(self, uuid, parent, name, unit_multiplier=None, is_incremental=False):
        of = (number(4, unit_multiplier) if unit_multiplier else b"") + (number(5, 1) if is_incremental else b"")
        self.packet(text(60, number(1, uuid) + number(5, parent) + text(2, name) + text(8, of)), flags=0)

    def iid(self, name):
        return self.names.setdefault(name, len(self.names) + 1)

    def event(self, kind, time_ns, track, name=None, category=None, args=None, flows=(), more=b""):
        body = number(9, kind) + number(11, track)
        if name is not None:
            body += number(10, self.iid(name))
        if category is not None:
            body += number(3, self.categories.setdefault(category, len(self.categories) + 1))
        body += b"".join(annotation(key, value) for key, value in (args or {}).items())
        body += b"".join(fixed64(47, flow) for flow in flows)
        return number(8, time_ns) + text(11, body + more)

    def slice(self, time_ns, duration_ns, track, name, category=None, args=None, flows=(), more=b""):
        self.begins.append(self.event(1, time_ns, track, name, category, args, flows, more))
        self.ends.append(self.event(2, time_ns + duration_ns, track))

    def instant(self, time_ns, track, name, args=None):
        self.begins.append(self.event(3, time_ns, track, name, None, args))

    def sample(self, time_ns, track, value):
        more = real(44, value) if isinstance(value, float) else number(30, value)
        self.begins.append(self.event(4, time_ns, track, more=more))

    def render_stage(self, time_ns, duration_ns, event_id, gpu, queue, stage, kernel=None, grid=None, block=None, extra=None, waits=()):
        body = number(1, event_id) + number(2, duration_ns) + number(11, gpu) + number(13, queue) + number(14, stage)
        body += number(5, 1)
        if kernel is not None:
            body += number(19, kernel)
        launch = b""
        for field, size in ((1, grid), (2, block)):
            if size is not None:
                launch += text(field, b"".join(number(i + 1, each) for i, each in enumerate(size)))
        if launch:
            body += text(21, launch)
        body += b"".join(text(6, text(1, key) + text(2, value)) for key, value in (extra or {}).items())
        body += b"".join(number(18, wait) for wait in waits)
        self.begins.append(number(8, time_ns) + text(53, body))

    def intern(self, field, iid, *members):
        self.extra_interned += text(field, number(1, iid) + b"".join(members))

    def trace(self, packed=False):
        interned = b"".join(text(2, number(1, iid) + text(2, name)) for name, iid in self.names.items())
        interned += b"".join(text(1, number(1, iid) + text(2, name)) for name, iid in self.categories.items())
        everything = list(self.packets)
        everything.append(text(12, interned + self.extra_interned) + number(10, self.sequence) + number(13, 3))
        everything += [each + number(10, self.sequence) + number(13, 2) for each in self.begins + self.ends]
        framed = [text(1, each) for each in everything]
        if not packed:
            return b"".join(framed)
        return b"".join(text(1, text(50, zlib.compress(b"".join(framed[at:at + 100])))) for at in range(0, len(framed), 100))
