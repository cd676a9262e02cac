"""Sends nonsense where the referee expects an answer: a function for each kind."""

import gc
import os
import signal

from kprof import event_child, event_values

BYTES = 4064


def done(length=BYTES):
    return b"D" + event_child.DONE.pack(length, 1, 0)


def value(data, length=BYTES):
    return event_values.MAGIC + length.to_bytes(8, "little") + data


def count(number):
    return number.to_bytes(8, "little")


def answer(outputs, message):
    def kernel(*_):
        server = next(thing for thing in gc.get_objects() if isinstance(thing, event_child.Server))
        server.region[:len(outputs)] = outputs
        server.link.send(message)
        signal.pause()

    return kernel


much = answer(b"", done(1 << 60))
short = answer(b"", b"D1")
strange = answer(b"", b"Z" + os.urandom(100))
long = answer(b"", b"D" * 20_000)
nothing = answer(b"", done())
noise = answer(os.urandom(BYTES), done())
endless = answer(value(b"", 1 << 62), done())
deep = answer(value((b"l" + count(1)) * (BYTES // 9)), done())
many = answer(value(b"l" + count(1 << 40)), done())
huge_array = answer(value(b"N\x03<f8\x02" + count(1 << 40) + count(1 << 40) + count(1 << 60)), done())
odd_type = answer(value(b"N\x05i4,i4\x00" + count(8)), done())
objects = answer(value(b"N\x02|O\x00" + count(8)), done())
