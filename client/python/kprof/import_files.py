"""The files of an import: which of a folder are traces, how they are called, and their bytes on the way to kprofd."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from kprof.errors import BadInput, UsageError
from kprof.v1 import runs_pb2

_ENDINGS = (".json", ".json.gz", ".json.zst", ".pftrace", ".pftrace.gz", ".perfetto-trace", ".sqlite", ".nsys-rep", ".ncu-rep",
            ".ncu-repz")
_INSPECTOR_LOG = re.compile(r".-pid[0-9]+\.(log|jsonl)(\.gz)?$")  # in a folder only these are taken for traces
_MOST_TOLD_BYTES = 1024  # of a name
_CHUNK_BYTES = 256 << 10


def _in_order_of_numbers(path: str) -> list[tuple[int, int, str]]:
    """trace_2.json before trace_10.json: their order may be that of the ranks."""
    return [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in re.split(r"([0-9]+)", path) if word]


def _traces_in(folder: str) -> list[str]:
    found: list[str] = []
    for path, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.join(path, name) for name in names
                  if (name.endswith(_ENDINGS) or _INSPECTOR_LOG.search(name)) and stat.S_ISREG(os.stat(os.path.join(path, name)).st_mode)]
    if not found:
        raise UsageError("usage", f"import the folder {folder}: there is no trace in it",
                         f"name the files: in a folder only {', '.join(_ENDINGS)} and -pid<number>.log are taken for traces")
    return sorted(found, key=_in_order_of_numbers)


def find_files(paths: Any) -> list[tuple[str, bool]]:
    """(path, whether it was found in a folder) of each file. `paths`: one, or many; files and folders."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    found: list[tuple[str, bool]] = []
    for path in map(os.fsdecode, paths):
        if os.path.isdir(path):
            found += [(file, True) for file in _traces_in(path)]
        else:
            found.append((path, False))
    if not found:
        raise UsageError("usage", "import: no file is named", "name files or folders with traces")
    return found


def told_names(paths: Sequence[str]) -> list[bytes]:
    """What kprofd is told of each file: its name, and the folders before it that not all have: they may say its rank."""
    full = [os.path.abspath(path) for path in paths]
    common = os.path.commonpath([os.path.dirname(path) for path in full])
    names = [os.fsencode(os.path.relpath(path, common)) for path in full]
    return [name if len(name) <= _MOST_TOLD_BYTES else os.fsencode(os.path.basename(path))
            for name, path in zip(names, full)]


def open_file(path: str) -> BinaryIO:
    """The file, open for reading bytes. Raises BadInput."""
    try:
        return open(path, "rb")
    except OSError as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise BadInput("bad_input", f"read {path}: {why}", "name another") from error


def upload_messages(file: BinaryIO, name: bytes, may_be_none: bool) -> Iterator[Any]:
    """What UploadSource is sent: a header, the bytes, how many they were."""
    size = os.fstat(file.fileno()).st_size
    header = runs_pb2.UploadSourceRequest.Header(name=name, size_bytes=size, may_be_none=may_be_none)
    yield runs_pb2.UploadSourceRequest(header=header)
    sent = 0
    while chunk := file.read(_CHUNK_BYTES):
        sent += len(chunk)
        yield runs_pb2.UploadSourceRequest(data=chunk)
    yield runs_pb2.UploadSourceRequest(sent_bytes=sent)
