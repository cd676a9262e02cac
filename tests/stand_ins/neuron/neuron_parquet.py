"""Writes Parquet files of flat rows: one row group, one plain page for each column, not compressed. int64, double, boolean and
text, each optional. The format: parquet-format's README, and Thrift's compact protocol.
"""

import struct

BOOLEAN, INT64, DOUBLE, BYTE_ARRAY = 0, 2, 5, 6
PLAIN, RLE = 0, 3
UTF8 = 0
MAGIC = b"PAR1"
# Types of Thrift's compact protocol.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value):
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _struct(*fields):
    """Fields: (id, type, encoded), by id."""
    out, last = bytearray(), 0
    for number, kind, data in fields:
        out.append((number - last) << 4 | kind)
        out += data
        last = number
    return bytes(out) + b"\0"


def _text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return _varint(len(data)) + data


def _list(kind, items):
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + _varint(len(items))
    return head + b"".join(items)


def _type_of(values):
    if all(isinstance(value, bool) for value in values):
        return BOOLEAN
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return INT64
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return DOUBLE
    return BYTE_ARRAY


def _plain(kind, values):
    if kind == INT64:
        return b"".join(struct.pack("<q", value) for value in values)
    if kind == DOUBLE:
        return b"".join(struct.pack("<d", value) for value in values)
    if kind == BOOLEAN:
        out = bytearray((len(values) + 7) // 8)
        for at, value in enumerate(values):
            out[at // 8] |= bool(value) << at % 8
        return bytes(out)
    return b"".join(struct.pack("<I", len(str(value).encode())) + str(value).encode() for value in values)


def _levels(present):
    """Definition levels of an optional column, bit-packed in groups of eight, behind their length."""
    packed = bytearray((len(present) + 7) // 8)
    for at, is_there in enumerate(present):
        packed[at // 8] |= is_there << at % 8
    data = _varint(len(packed) << 1 | 1) + bytes(packed)
    return struct.pack("<I", len(data)) + data


def write_table(path, rows):
    """`rows`: dicts; a key that one lacks is null there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    data, chunks, schema, total = bytearray(MAGIC), [], [], 0
    schema.append(_struct((4, _BINARY, _text("schema")), (5, _I32, _zigzag(len(names)))))
    for name in names:
        present = [row.get(name) is not None for row in rows]
        values = [row[name] for row in rows if row.get(name) is not None]
        kind = _type_of(values)
        page = _levels(present) + _plain(kind, values)
        header = _struct((1, _I32, _zigzag(0)), (2, _I32, _zigzag(len(page))), (3, _I32, _zigzag(len(page))),
                         (5, _STRUCT, _struct((1, _I32, _zigzag(len(rows))), (2, _I32, _zigzag(PLAIN)), (3, _I32, _zigzag(RLE)),
                                              (4, _I32, _zigzag(RLE)))))
        offset, size = len(data), len(header) + len(page)
        data += header + page
        total += size
        meta = _struct((1, _I32, _zigzag(kind)), (2, _LIST, _list(_I32, [_zigzag(PLAIN), _zigzag(RLE)])),
                       (3, _LIST, _list(_BINARY, [_text(name)])), (4, _I32, _zigzag(0)), (5, _I64, _zigzag(len(rows))),
                       (6, _I64, _zigzag(size)), (7, _I64, _zigzag(size)), (9, _I64, _zigzag(offset)))
        chunks.append(_struct((2, _I64, _zigzag(offset)), (3, _STRUCT, meta)))
        element = [(1, _I32, _zigzag(kind)), (3, _I32, _zigzag(1)), (4, _BINARY, _text(name))]
        if kind == BYTE_ARRAY:
            element.append((6, _I32, _zigzag(UTF8)))
        schema.append(_struct(*element))
    group = _struct((1, _LIST, _list(_STRUCT, chunks)), (2, _I64, _zigzag(total)), (3, _I64, _zigzag(len(rows))))
    footer = _struct((1, _I32, _zigzag(1)), (2, _LIST, _list(_STRUCT, schema)), (3, _I64, _zigzag(len(rows))),
                     (4, _LIST, _list(_STRUCT, [group])))
    data += footer + struct.pack("<I", len(footer)) + MAGIC
    with open(path, "wb") as file:
        file.write(data)
