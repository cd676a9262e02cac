"""Values between a referee and the process of a candidate: a small typed binary format, read without pickle.

None, bool, int, float, str, bytes, memoryview, array.array, lists and tuples of them; with numpy its arrays and scalars; with torch
tensors on the CPU. A value is of exactly one of these types: an object of a derived class could do its work when it is read.

A buffer: 8 bytes of magic, the length of all as u64, then the value: a letter, its head, its bytes. Bytes of arrays begin at
multiples of 64, so that a reader makes arrays of them without a copy.

decode() trusts nothing: lengths, types and depth are checked, and no code of the sender runs.
"""

import array
import struct
import sys

MAGIC = b"kprofv1\n"
HEAD_BYTES = 16
ALIGNMENT = 64
MOST_DEPTH = 8
MOST_ITEMS = 4096
MOST_TEXT_BYTES = 1 << 20
MOST_DIMENSIONS = 32
TYPE_CODES = "bBhHiIlLqQfd"
NUMBER_KINDS = "biufc"  # of numpy's types

_COUNT = struct.Struct("<Q")
_INT = struct.Struct("<q")
_FLOAT = struct.Struct("<d")


class NoValue(Exception):
    """A value cannot be sent, or what came is none."""


def numpy_if_loaded():
    """numpy where the process has imported it; a value of it cannot be without."""
    return sys.modules.get("numpy")


def _numpy():
    try:
        import numpy
    except ImportError:
        raise NoValue("an array of numpy came, and numpy is not here") from None
    return numpy


def _torch_if_loaded():
    return sys.modules.get("torch")


def _aligned(at):
    return -(-at // ALIGNMENT) * ALIGNMENT


class _Writer:
    """Writes into a buffer, from a place in it. A NoValue where the place does not suffice."""

    def __init__(self, memory, at):
        self.memory, self.at = memory, at

    def put(self, data):
        end = self.at + len(data)
        if end > len(self.memory):
            raise NoValue(f"more than {len(self.memory)} bytes")
        self.memory[self.at:end] = data
        self.at = end

    def put_count(self, count):
        self.put(_COUNT.pack(count))

    def put_text(self, letter, data):
        if len(data) > MOST_TEXT_BYTES:
            raise NoValue(f"a text or a number of more than {MOST_TEXT_BYTES} bytes")
        self.put(letter)
        self.put_count(len(data))
        self.put(data)

    def put_block(self, data):
        self.put_count(len(data))
        self.at = _aligned(self.at)
        self.put(data)

    def put_numpy(self, value, letter=b"N"):
        numpy = numpy_if_loaded()
        if value.dtype.kind not in NUMBER_KINDS or value.dtype.hasobject or not value.dtype.isnative:
            raise NoValue(f"an array of {value.dtype}")
        text = value.dtype.str.encode()
        self.put(letter + bytes((len(text),)) + text + bytes((value.ndim,)))
        for length in value.shape:
            self.put_count(length)
        self.put_count(value.nbytes)
        self.at = _aligned(self.at)
        if self.at + value.nbytes > len(self.memory):
            raise NoValue(f"more than {len(self.memory)} bytes")
        if value.nbytes:
            numpy.frombuffer(self.memory, value.dtype, value.size, self.at).reshape(value.shape)[...] = value
        self.at += value.nbytes

    def put_value(self, value, depth=0):
        kind = type(value)
        numpy, torch = numpy_if_loaded(), _torch_if_loaded()
        if depth > MOST_DEPTH:
            raise NoValue(f"lists of more than {MOST_DEPTH} levels")
        if value is None:
            self.put(b"n")
        elif kind is bool:
            self.put(b"t" if value else b"f")
        elif kind is int:
            if -(1 << 63) <= value < 1 << 63:
                self.put(b"i" + _INT.pack(value))
            else:
                self.put_text(b"I", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
        elif kind is float:
            self.put(b"d" + _FLOAT.pack(value))
        elif kind is str:
            self.put_text(b"s", value.encode("utf-8", "surrogatepass"))
        elif kind is bytes:
            self.put(b"b")
            self.put_block(value)
        elif kind is memoryview:
            if not value.c_contiguous or value.ndim != 1 or value.format not in TYPE_CODES:
                raise NoValue("a memoryview that is not one row of numbers")
            self.put(b"m" + value.format.encode())
            self.put_block(value.cast("B"))
        elif kind is array.array:
            if value.typecode not in TYPE_CODES:
                raise NoValue(f"an array of type '{value.typecode}'")
            self.put(b"a" + value.typecode.encode())
            self.put_block(memoryview(value).cast("B"))
        elif kind is tuple or kind is list:
            if len(value) > MOST_ITEMS:
                raise NoValue(f"a list of more than {MOST_ITEMS} items")
            self.put(b"u" if kind is tuple else b"l")
            self.put_count(len(value))
            for item in value:
                self.put_value(item, depth + 1)
        elif numpy and kind is numpy.ndarray:
            self.put_numpy(value)
        elif numpy and isinstance(value, numpy.generic) and kind.__module__ == "numpy":
            self.put_numpy(numpy.asarray(value))
        elif torch and kind is torch.Tensor:
            self.put_numpy(torch.Tensor.numpy(torch.Tensor.detach(value).to("cpu")), b"T")
        else:
            raise NoValue(f"a value of type {kind.__module__}.{kind.__qualname__}")


def encode_into(memory, at, value):
    """Writes the value into a writable buffer at `at`, a multiple of 64. Returns where it ends. Raises NoValue."""
    writer = _Writer(memory, at + HEAD_BYTES)
    writer.put_value(value)
    memory[at:at + HEAD_BYTES] = MAGIC + _COUNT.pack(writer.at - at)
    return writer.at


def _most_bytes(value):
    """At most so many has the value, encoded."""
    if type(value) in (tuple, list):
        return 16 + sum(map(_most_bytes, value))
    if type(value) is int:
        return 32 + value.bit_length() // 8
    if type(value) is str:
        return 32 + 4 * len(value)
    nbytes = getattr(value, "nbytes", None)
    if nbytes is None:
        nbytes = len(value) * getattr(value, "itemsize", 1) if hasattr(value, "__len__") else 0
    return 512 + int(nbytes)


def encode(value):
    """The value as bytes, padded to a multiple of 64. Raises NoValue."""
    memory = bytearray(_aligned(HEAD_BYTES + _most_bytes(value)))
    end = encode_into(memory, 0, value)
    return memory[:_aligned(end)]


class _Reader:
    """Reads from a buffer that a stranger wrote. A NoValue for all that is not as it should be."""

    def __init__(self, memory, at, end):
        self.memory, self.at, self.end = memory, at, end

    def take(self, count):
        if count > self.end - self.at:
            raise NoValue("it ends too early")
        self.at += count
        return self.memory[self.at - count:self.at]

    def take_count(self, most):
        count = _COUNT.unpack(self.take(8))[0]
        if count > most:
            raise NoValue(f"a length of {count}")
        return count

    def take_code(self):
        code = chr(self.take(1)[0])
        if code not in TYPE_CODES:
            raise NoValue("a type of numbers that is none")
        return code

    def take_block(self, item_bytes=1):
        count = self.take_count(self.end)
        self.at = _aligned(self.at)
        if count % item_bytes:
            raise NoValue("a part of a number")
        return self.take(count)

    def take_numpy(self):
        numpy = _numpy()
        text = bytes(self.take(self.take(1)[0]))
        try:
            dtype = numpy.dtype(text.decode("ascii"))
        except (TypeError, ValueError, SyntaxError):
            raise NoValue("a type of numbers that is none") from None
        if dtype.kind not in NUMBER_KINDS or dtype.hasobject or dtype.subdtype or dtype.names or dtype.str.encode() != text:
            raise NoValue("a type of numbers that is none")
        dimensions = self.take(1)[0]
        if dimensions > MOST_DIMENSIONS:
            raise NoValue(f"{dimensions} dimensions")
        shape = tuple(self.take_count(1 << 62) for _ in range(dimensions))
        size = 1
        for length in shape:
            size *= length
        data = self.take_block()
        if size * dtype.itemsize != len(data):
            raise NoValue(f"an array of {size} numbers has {len(data)} bytes")
        try:
            return numpy.frombuffer(data, dtype).reshape(shape) if size else numpy.empty(shape, dtype)
        except ValueError:
            raise NoValue("an array of an impossible shape") from None

    def take_value(self, depth=0):
        letter = bytes(self.take(1))
        if depth > MOST_DEPTH:
            raise NoValue(f"lists of more than {MOST_DEPTH} levels")
        if letter == b"n":
            return None
        if letter in (b"t", b"f"):
            return letter == b"t"
        if letter == b"i":
            return _INT.unpack(self.take(8))[0]
        if letter == b"I":
            return int.from_bytes(self.take(self.take_count(MOST_TEXT_BYTES)), "little", signed=True)
        if letter == b"d":
            return _FLOAT.unpack(self.take(8))[0]
        if letter == b"s":
            try:
                return bytes(self.take(self.take_count(MOST_TEXT_BYTES))).decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                raise NoValue("a text that is not UTF-8") from None
        if letter == b"b":
            return bytes(self.take_block())
        if letter == b"m":
            code = self.take_code()
            return self.take_block(struct.calcsize(code)).cast(code)
        if letter == b"a":
            code = self.take_code()
            numbers = array.array(code)
            numbers.frombytes(self.take_block(numbers.itemsize))
            return numbers
        if letter in (b"u", b"l"):
            items = [self.take_value(depth + 1) for _ in range(self.take_count(MOST_ITEMS))]
            return tuple(items) if letter == b"u" else items
        if letter == b"N":
            value = self.take_numpy()
            return value if value.ndim else value[()]
        if letter == b"T":
            value = self.take_numpy()
            torch = _torch_if_loaded()
            return value if torch is None else torch.from_numpy(value)
        raise NoValue("a value of no known type")


def decode(memory, at=0):
    """(value, where it ends) of a buffer's value at `at`. Arrays are views of the buffer, writable where it is. Raises NoValue."""
    memory = memoryview(memory).cast("B")
    if len(memory) - at < HEAD_BYTES or bytes(memory[at:at + 8]) != MAGIC:
        raise NoValue("nothing was written")
    length = _COUNT.unpack(memory[at + 8:at + HEAD_BYTES])[0]
    if length < HEAD_BYTES or length > len(memory) - at:
        raise NoValue(f"a length of {length} where {len(memory) - at} bytes are")
    reader = _Reader(memory, at + HEAD_BYTES, at + length)
    value = reader.take_value()
    if reader.at != reader.end:
        raise NoValue(f"{reader.end - reader.at} bytes too many")
    return value, _aligned(reader.end)
