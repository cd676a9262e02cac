"""Pieces of the real traces (KPROF_TEST_DATA) as inputs of the fuzzers of readers, cut when they run: nothing of those
files is kept in the repository. Of each file its first and its last 64 KiB, of small ones all.
"""

import glob
import gzip
import os
import re
import shutil

PIECE_BYTES = 64 << 10
EVENT = re.compile(rb'(?<=[\[,\s])\{\s*"(?:ph|name|cat)"')


def write_real_seeds(fuzzer, data, folder):
    """Fills the folder anew. False where there is nothing for this fuzzer, or no data."""
    shutil.rmtree(folder, ignore_errors=True)
    makers = {
        "chrome_reader_fuzz": chrome_reader_seeds,
        "chrome_events_fuzz": chrome_events_seeds,
        "nsys_reader_fuzz": nsys_reader_seeds,
        "unpacker_fuzz": unpacker_seeds,
    }
    seeds = list(makers[fuzzer](data)) if fuzzer in makers else []
    if not seeds:
        return False
    os.makedirs(folder)
    for name, content in seeds:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    return True


def packed_traces(data):
    return sorted(glob.glob(os.path.join(data, "kineto", "*.json.gz")) + glob.glob(os.path.join(data, "nsys", "*.json.gz")))


def first_and_last(path):
    """Of the text: its first and its last piece, the second from an event on; of a small one all, and nothing."""
    with gzip.open(path, "rb") as file:
        first = last = file.read(PIECE_BYTES)
        while more := file.read(16 * PIECE_BYTES):
            last = (last + more)[-PIECE_BYTES:]
    event = EVENT.search(last)
    return first, last[event.start():] if event and last is not first else b""


def chrome_reader_seeds(data):
    """The first byte of an input says how large the pieces are in which it is read."""
    for path in packed_traces(data):
        first, last = first_and_last(path)
        name = os.path.basename(path)
        yield f"{name}.first", b"\xff" + first
        if last:
            yield f"{name}.last", b"\xff[" + last


def chrome_events_seeds(data):
    for path in packed_traces(data):
        first, last = first_and_last(path)
        name = os.path.basename(path)
        if event := EVENT.search(first):
            yield f"{name}.first", first[event.start():]
        if last:
            yield f"{name}.last", last


def nsys_reader_seeds(data):
    """A database that is cut off says of its tables what its first pages do; its last pages alone are none."""
    for path in sorted(glob.glob(os.path.join(data, "nsys", "*.sqlite"))):
        with open(path, "rb") as file:
            yield f"{os.path.basename(path)}.first", file.read(PIECE_BYTES)


def unpacker_seeds(data):
    """The first two bytes of an input say which unpacker it is for, and how much of it that gets at once."""
    for path in packed_traces(data):
        with open(path, "rb") as file:
            yield f"{os.path.basename(path)}.first", b"\x00\xff" + file.read(PIECE_BYTES)
