"""The Neuron runtime's trace of this process (nrt_sys_trace of libnrt), by ctypes, for kprof.neuron.

The runtime keeps the events of each NeuronCore in a ring; what is not fetched in time is overwritten. A thread fetches them now
and then and puts them aside as they are, into a file: to read them would hold up the program. They are put together when it has
ended. Fetched events are gone for every other reader of the same process.

The library is the one that the program has loaded, else the one that the loader finds. Where the runtime cannot start the trace
yet, because the program has not initialised it, that is tried again.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional

USUAL_LIBRARY = "/opt/aws/neuron/lib/libnrt.so.1"
LIBRARY_VARIABLE = "KPROF_NRT_LIBRARY"  # names another one: for tests
MOST_CORES = 128  # of an instance, that may have to be switched off
FETCH_EVENTS = 100_000  # of each core, at once
RETRY_S = 0.05
MOST_FETCHES_AT_END = 10_000
SUCCESS = 0


def core_numbers(text: str) -> list[int]:
    """[0, 1, 2, 5] of "0-2,5"; [] of ""."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) < int(first) or int(last or first) >= MOST_CORES:
            raise ValueError(f"'{part}' is no NeuronCore: write 0,2 or 0-3")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def mapped_library() -> Optional[str]:
    """The path of the libnrt that this process has loaded; None: none."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libnrt.so"):
                return path
    return None


class Library:
    """libnrt's functions with their types."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lib = ctypes.CDLL(path)
        pointer, status, u64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
        for name, result, arguments in (
                ("config_allocate", status, [ctypes.POINTER(pointer)]),
                ("config_set_defaults", None, [pointer]),
                ("config_free", None, [pointer]),
                ("config_set_max_events_per_nc", None, [pointer, u64]),
                ("config_set_capture_enabled_for_nc", None, [pointer, ctypes.c_uint32, ctypes.c_bool]),
                ("config_set_capture_enabled_for_event_type", status, [pointer, ctypes.c_char_p, ctypes.c_bool]),
                ("get_event_types", status, [ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p)), ctypes.POINTER(ctypes.c_size_t)]),
                ("free_event_types", None, [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t]),
                ("start", status, [pointer]),
                ("stop", status, []),
                ("fetch_options_allocate", status, [ctypes.POINTER(pointer)]),
                ("fetch_options_set_defaults", None, [pointer]),
                ("fetch_options_free", None, [pointer]),
                ("fetch_options_set_max_events_per_nc", None, [pointer, u64]),
                ("fetch_events", status, [ctypes.POINTER(pointer), ctypes.POINTER(ctypes.c_size_t), pointer]),
                ("buffer_free", None, [pointer])):
            function = getattr(self.lib, "nrt_sys_trace_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    if TYPE_CHECKING:  # the functions, set above
        def __getattr__(self, name: str) -> Any: ...

    def event_types(self) -> list[str]:
        """All that it knows, by name."""
        names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_size_t()
        if self.get_event_types(ctypes.byref(names), ctypes.byref(count)) != SUCCESS:
            return []
        try:
            return [names[at].decode() for at in range(count.value)]
        finally:
            self.free_event_types(names, count)


def open_library(may_load: bool) -> Optional[Library]:
    """None where there is none yet. `may_load`: also one that the program has not loaded."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return Library(named)
    path = mapped_library()
    if path:
        return Library(path)
    if not may_load:
        return None
    for name in ("libnrt.so.1", ctypes.util.find_library("nrt"), USUAL_LIBRARY):
        try:
            if name:
                return Library(name)
        except OSError:
            pass
    return None


class RuntimeTrace:
    """The trace from start() to stop(). One thread calls both; a thread of its own fetches."""

    def __init__(self, cores: Iterable[int] = (), events: Iterable[str] = (), max_events: int = 0, every_s: float = 0.5,
                 most_bytes: int = 4 << 30, spool: str = "kernel_profile.events") -> None:
        self.cores, self.events, self.max_events = list(cores), list(events), max_events
        self.every_s, self.most_bytes, self.spool_path = max(every_s, 0.01), most_bytes, spool
        self.library: Optional[Library] = None
        self.started_ns = 0
        self.fetched_bytes = 0
        self.fetches = 0
        self.fetch_ns = 0
        self._spool: Any = None  # from start() on
        self._thread: Optional[threading.Thread] = None
        self._end = threading.Event()
        self._is_full = False
        self._failures = 0
        self._why = "the program has not used the Neuron runtime"
        self._unknown_types: list[str] = []

    def start(self) -> None:
        self._spool = open(self.spool_path, "w+b", buffering=0)  # a forked child has nothing of it to write again
        self._try_to_start(may_load=True)
        self._thread = threading.Thread(target=self._work, name="kprof.neuron", daemon=True)
        self._thread.start()

    def forget(self) -> None:
        """In a forked child: nothing of it is the child's."""
        self._thread = self.library = None
        self.started_ns = 0

    def _config(self, library: Library) -> Optional[ctypes.c_void_p]:
        config = ctypes.c_void_p()
        if library.config_allocate(ctypes.byref(config)) != SUCCESS:
            return None
        library.config_set_defaults(config)
        if self.max_events:
            library.config_set_max_events_per_nc(config, self.max_events)
        if self.cores:  # all are on by default
            for core in range(MOST_CORES):
                library.config_set_capture_enabled_for_nc(config, core, core in self.cores)
        if self.events:
            known = library.event_types()
            self._unknown_types = sorted(set(self.events) - set(known))
            for name in known:
                library.config_set_capture_enabled_for_event_type(config, name.encode(), name in self.events)
        return config

    def _try_to_start(self, may_load: bool = False) -> bool:
        """True: it runs."""
        try:
            library = open_library(may_load)
        except (OSError, AttributeError) as error:
            self._why = f"libnrt cannot be used: {error}"
            return False
        if library is None:
            return False
        config = self._config(library)
        if config is None:
            self._why = "the runtime has no memory for the trace's settings"
            return False
        status = library.start(config)
        library.config_free(config)
        if status != SUCCESS:
            self._why = f"the runtime does not start the trace (status {status}); another profiler of this process may have it"
            return False
        self.library = library
        self.started_ns = time.time_ns()
        return True

    def _work(self) -> None:
        while not self._end.is_set():
            if self.library is None and not self._try_to_start():
                self._end.wait(RETRY_S)
                continue
            self._fetch()
            self._end.wait(self.every_s)

    def _fetch(self) -> bool:
        """One fetch. False: there was nothing, or it failed."""
        library: Any = self.library
        options, buffer, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        if library.fetch_options_allocate(ctypes.byref(options)) != SUCCESS:
            self._failures += 1
            return False
        library.fetch_options_set_defaults(options)
        library.fetch_options_set_max_events_per_nc(options, FETCH_EVENTS)
        begun_ns = time.perf_counter_ns()
        status = library.fetch_events(ctypes.byref(buffer), ctypes.byref(size), options)
        library.fetch_options_free(options)
        if status != SUCCESS or not buffer:
            self._failures += status != SUCCESS
            return False
        try:
            text = ctypes.string_at(buffer, size.value)
        finally:
            library.buffer_free(buffer)
        self.fetch_ns += time.perf_counter_ns() - begun_ns
        self.fetches += 1
        if b'"event_type"' not in text:
            return False
        if self.fetched_bytes + len(text) > self.most_bytes:
            self._is_full = True
            return False
        self._spool.write(struct.pack("<Q", len(text)) + text)
        self.fetched_bytes += len(text)
        return True

    def stop(self) -> None:
        """Fetches the rest."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        if self.library is None:
            return
        for _ in range(MOST_FETCHES_AT_END):
            if not self._fetch():
                break
        self.library.stop()

    def event_texts(self) -> Iterator[str]:
        """Each event's JSON as it is to be kept, in the order of fetching; broken buffers are counted."""
        self._spool.seek(0)
        while True:
            head = self._spool.read(8)
            if len(head) < 8:
                return
            text = self._spool.read(struct.unpack("<Q", head)[0]).rstrip(b"\0")
            try:
                events = json.loads(text)
            except ValueError:
                self._failures += 1
                continue
            for event in events.get("events", []) if isinstance(events, dict) else events:
                yield json.dumps(event, separators=(",", ":"))

    def remove_spool(self) -> None:
        self._spool.close()
        os.unlink(self.spool_path)

    def facts(self) -> dict[str, Any]:
        """For the file."""
        return {"runtime_library": self.library.path if self.library else None, "trace_started_ns": self.started_ns,
                "fetches": self.fetches, "fetch_ns": self.fetch_ns}

    def troubles(self) -> list[str]:
        """What went wrong, for people."""
        lines = []
        if self.library is None:
            lines.append(f"no events of the runtime: {self._why}")
        elif not self.fetched_bytes and not self._failures and (self.cores or self.events):
            chosen = [f"--cores {','.join(map(str, self.cores))}"] * bool(self.cores) + [f"--events {','.join(self.events)}"] * bool(self.events)
            lines.append(f"no event of the runtime passed {' and '.join(chosen)}: a process counts its NeuronCores from 0; without it all are kept")
        if self._is_full:
            lines.append(f"more than {self.most_bytes} bytes of events came; later ones are lost: --most-mb")
        if self._failures:
            lines.append(f"{self._failures} fetches of events failed")
        if self._unknown_types:
            lines.append(f"the runtime has no events of the types {', '.join(self._unknown_types)}")
        return lines


def write_profile(path: str, calls: list[dict[str, Any]], trace: RuntimeTrace, wall_start_ns: int, wall_stop_ns: int,
                  facts: dict[str, Any], missed: Sequence[str]) -> None:
    """kernel_profile.json: as nkipy's profiler writes it, with more keys. Whole or not at all. `missed`: more of what went wrong."""
    fresh = path + ".new"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write('{"kernel_calls": ')
        json.dump(calls, file)
        file.write(', "events_json": "')
        # A text within the JSON: each piece is written as it is quoted.
        separator = '{"events":['
        for event in trace.event_texts():
            file.write(json.dumps(separator + event)[1:-1])
            separator = ","
        if separator == ",":
            file.write(json.dumps('],"data_version":2}')[1:-1])
        file.write(f'", "wall_start_ns": {wall_start_ns}, "wall_stop_ns": {wall_stop_ns}, ')
        file.write(json.dumps(dict(facts, recorder="kprof.neuron", troubles=[*trace.troubles(), *missed]))[1:] + "\n")
    trace.remove_spool()
    os.replace(fresh, path)
