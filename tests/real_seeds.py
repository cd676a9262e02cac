"""Pieces of the real traces (KPROF_TEST_DATA) as inputs of the fuzzers of readers, cut when they run: nothing of those
files is kept in the repository. Of each text its first and its last 64 KiB, of small ones all; of each database some rows
of every table.
"""

import glob
import gzip
import os
import re
import shutil
import sqlite3
import tempfile

PIECE_BYTES = 64 << 10
END_ROWS = 6  # of a table, at each of its ends
EVENT = re.compile(rb'(?<=[\[,\s])\{\s*"(?:ph|name|cat)"')


def write_real_seeds(fuzzer, data, folder):
    """Fills the folder anew. False where there is nothing for this fuzzer, or no data."""
    shutil.rmtree(folder, ignore_errors=True)
    makers = {
        "chrome_reader_fuzz": chrome_reader_seeds,
        "chrome_events_fuzz": chrome_events_seeds,
        "ncu_csv_reader_fuzz": ncu_csv_reader_seeds,
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


def ncu_csv_reader_seeds(data):
    for path in sorted(glob.glob(os.path.join(data, "ncu", "*.csv"))):
        with open(path, "rb") as file:
            yield os.path.basename(path), file.read(PIECE_BYTES)


def nsys_reader_seeds(data):
    for path in sorted(glob.glob(os.path.join(data, "nsys", "*.sqlite"))):
        yield os.path.basename(path), small_database(path)


def small_database(path):
    """The bytes of a database with the tables of another one: of each its first rows and its last, and of StringIds those
    that may be named by them."""
    source = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    source.text_factory = lambda text: text.decode(errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.sqlite")
        target = sqlite3.connect(copy)
        target.execute("PRAGMA page_size = 512")
        named = set()
        for name, sql in source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            table = '"' + name.replace('"', '""') + '"'
            target.execute(sql)
            if name == "StringIds":
                continue
            for rows in select_ends(source, table):
                insert(target, table, rows)
                named.update(value for row in rows for value in row if isinstance(value, int))
        if strings := [row for row in source.execute("SELECT id, value FROM StringIds") if row[0] in named]:
            insert(target, "StringIds", strings)
        target.commit()
        target.close()
        source.close()
        with open(copy, "rb") as file:
            return file.read()


def select_ends(database, table):
    first = database.execute(f"SELECT * FROM {table} LIMIT {END_ROWS}").fetchall()
    last = []
    if len(first) == END_ROWS:
        rows = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        behind = max(END_ROWS, rows - END_ROWS)
        last = database.execute(f"SELECT * FROM {table} LIMIT {END_ROWS} OFFSET {behind}").fetchall()
    return [rows for rows in (first, last) if rows]


def insert(database, table, rows):
    database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def unpacker_seeds(data):
    """The first two bytes of an input say which unpacker it is for, and how much of it that gets at once."""
    for path in packed_traces(data):
        with open(path, "rb") as file:
            yield f"{os.path.basename(path)}.first", b"\x00\xff" + file.read(PIECE_BYTES)
