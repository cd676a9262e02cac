"""Records which lines of a program call Neuron kernels, and the runtime's own trace of them, in a process of one's own:

    python -m kprof.neuron train.py --steps 10

runs train.py as `python train.py --steps 10` would, and leaves kernel_profile.json: the calls, and the events of the Neuron
runtime (nrt_sys_trace) of the same time. `kprofctl import` and `kprofctl capture` read it; `kprofctl analyze lines` says which
line cost what. With Scalene installed the program runs under it as well, unless --no-scalene: scalene_profile.json.

Calls through spike.SpikeModel are recorded by themselves. Others are told, by who writes the program:

    with kprof.neuron.record("attention"):      # or record("attention", start_ns=..., end_ns=..., seq_id=...)
        out = kernel(q, k, v)

or by who runs it: --wrap package.module:Class.method. Without kprof.neuron running, record() does nothing.

Needs Python 3.9 and nothing else. The file may be run by its path, too: python .../kprof/neuron.py train.py.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import io
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

if __name__ == "__main__" and __package__ in (None, "", "scalene"):  # Scalene runs a file as one of its own package
    # By its path: beside it lie modules whose names a program may use for its own.
    _FOLDER = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _FOLDER]
    if importlib.util.find_spec("kprof") is None:
        _SPEC: Any = importlib.util.spec_from_file_location("kprof", os.path.join(_FOLDER, "__init__.py"),
                                                            submodule_search_locations=[_FOLDER])
        sys.modules["kprof"] = importlib.util.module_from_spec(_SPEC)
        _SPEC.loader.exec_module(sys.modules["kprof"])
    from kprof import neuron as _this
    sys.exit(_this.main())

from kprof import neuron_trace

# A call is shown at the first line outside of these packages.
RUNTIME_PACKAGES = frozenset((
    "spike", "nkipy", "torch", "torch_neuronx", "torch_xla", "libneuronxla", "neuronxcc", "neuronxlib", "nki", "jax", "jaxlib",
    "jax_neuronx", "vllm_neuron", "kprof", "scalene", "contextlib", "functools", "threading", "importlib", "runpy"))
MOST_CALLS = 5_000_000  # further ones are counted

_recorder: Optional[Recorder] = None  # the one that runs in this process
_mains: list[types.ModuleType] = []  # modules that were __main__ before the program: kept, as their globals are in use
_paths: dict[str, str] = {}  # by the names of frames' files; "": of the runtime


class Recorder:
    """The calls of this process; any thread may add to them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []  # (file, line, kernel, start, end, thread, core, request), in the order of their ends
        self.left_out = 0
        self.wall_start_ns = time.time_ns()

    def add(self, place: tuple[str, int], kernel: str, start_ns: int, end_ns: int, nc: Optional[int], seq_id: Optional[int]) -> None:
        """`place`: file and line."""
        if len(self.calls) >= MOST_CALLS:
            self.left_out += 1
            return
        self.calls.append((*place, kernel, start_ns, end_ns, threading.get_native_id(), nc, seq_id))

    def call_rows(self) -> list[dict[str, Any]]:
        """Their objects for the file, in the order of their starts, as they were made."""
        rows = []
        for index, call in enumerate(sorted(self.calls, key=lambda one: one[3])):
            file, line, kernel, start_ns, end_ns, thread, nc, seq_id = call
            row = {"filename": file, "lineno": line, "kernel_name": kernel, "call_index": index, "start_ns": start_ns,
                   "end_ns": end_ns, "thread_id": thread}
            if nc is not None:
                row["nc_idx"] = nc
            if seq_id is not None:
                row["nrta_seq_id"] = seq_id
            rows.append(row)
        return rows


def call_site(depth: int = 2) -> tuple[str, int]:
    """File and line of the first frame outside the runtime's packages; ("<unknown>", 0) where there is none."""
    frame: Optional[types.FrameType] = sys._getframe(depth)
    while frame is not None:
        name = frame.f_code.co_filename
        path = _paths.get(name)
        if path is None:
            package = frame.f_globals.get("__name__", "").partition(".")[0]
            is_shown = package not in RUNTIME_PACKAGES and not name.startswith("<")
            path = _paths[name] = os.path.abspath(name) if is_shown else ""
        if path:
            return path, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


class _Call:
    """What record() gives: a context manager around a call, or nothing more to do where the times were given."""

    def __init__(self, kernel: str, place: tuple[str, int], nc: Optional[int], seq_id: Optional[int]) -> None:
        self.kernel, self.place, self.nc, self.seq_id = kernel, place, nc, seq_id
        self.start_ns = 0

    def __enter__(self) -> _Call:
        self.start_ns = time.time_ns()
        return self

    def __exit__(self, *_: Any) -> None:
        if _recorder is not None:
            _recorder.add(self.place, self.kernel, self.start_ns, time.time_ns(), self.nc, self.seq_id)


class _NoCall:
    """Where nothing is recorded."""

    seq_id: Optional[int] = None
    nc: Optional[int] = None

    def __enter__(self) -> _NoCall:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


def record(kernel: str, *, start_ns: Optional[int] = None, end_ns: Optional[int] = None, nc: Optional[int] = None,
           seq_id: Optional[int] = None, filename: Optional[str] = None, lineno: Optional[int] = None) -> Union[_Call, _NoCall]:
    """Records one call of a kernel, at the line that calls. As a context manager it takes the times itself; the number that
    nrta_execute_schedule returned may be set in it: `with record("k") as call: call.seq_id = schedule(...)`. With `start_ns`
    and `end_ns` (time.time_ns()) the call is over already. `nc`: the logical NeuronCore, where it is known."""
    if _recorder is None:
        return _NoCall()
    place = (filename, int(lineno or 0)) if filename else call_site()
    if start_ns is None:
        return _Call(kernel, place, nc, seq_id)
    _recorder.add(place, kernel, int(start_ns), int(start_ns if end_ns is None else end_ns), nc, seq_id)
    return _NoCall()


def wrap(function: Callable[..., Any], kernel: Optional[str] = None) -> Callable[..., Any]:
    """The function, whose calls are recorded. The kernel's name is that given, else the called object's `name`, else the
    function's."""
    if getattr(function, "_kprof_wrapped", False):
        return function

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if _recorder is None:
            return function(*args, **kwargs)
        name = kernel or getattr(args[0] if args else None, "name", None) or getattr(function, "__qualname__", "kernel")
        with _Call(str(name), call_site(), None, None):
            return function(*args, **kwargs)

    recorded._kprof_wrapped = True  # type: ignore[attr-defined]
    return recorded


def _wrap_in(module: Any, path: str) -> bool:
    """`path`: "Class.method" in a module. False: it has none."""
    *owners, name = path.split(".")
    owner = module
    for step in owners:
        owner = getattr(owner, step, None)
        if owner is None:
            return False
    function = getattr(owner, name, None)
    if not callable(function):
        return False
    setattr(owner, name, wrap(function))
    return True


class ImportHook(importlib.abc.MetaPathFinder):
    """Wraps callables when the module that has them was imported. `wanted`: {module: [path, ...]}; a module also stands for
    those below it, for a path that it has not itself."""

    def __init__(self, wanted: dict[str, list[str]]) -> None:
        self.wanted = wanted
        self.wrapped: list[str] = []
        self._looking = threading.local()
        for name in list(sys.modules):
            if sys.modules[name] is not None:
                self.look_at(name, sys.modules[name])

    def paths_for(self, name: str) -> list[str]:
        """Those that are wanted of a module."""
        return [path for module, paths in self.wanted.items() for path in paths
                if name == module or name.startswith(module + ".")]

    def look_at(self, name: str, module: Any) -> None:
        for path in self.paths_for(name):
            if _wrap_in(module, path):
                self.wrapped.append(f"{name}:{path}")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if getattr(self._looking, "now", False) or not self.paths_for(fullname):
            return None
        self._looking.now = True
        try:
            spec = importlib.util.find_spec(fullname)
        except (ImportError, ValueError, AttributeError):
            return None
        finally:
            self._looking.now = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            self.look_at(fullname, module)

        with contextlib.suppress(AttributeError):  # a built-in module's loader
            spec.loader.exec_module = exec_module  # type: ignore[assignment]
        return spec


def rank_of(environment: Mapping[str, str]) -> tuple[int, int]:
    """(rank, ranks), by the launcher's variables; (0, 1) without one."""
    def number(name: str, usual: int) -> int:
        text = environment.get(name, "")
        return int(text) if text.isdigit() else usual

    return number("RANK", 0), max(number("WORLD_SIZE", 1), 1)


def output_path(told: Optional[str], environment: Mapping[str, str], rank: int, ranks: int) -> str:
    """Of the profile. Each of several ranks has its number in the name. A folder of kprof's is taken, where there is one."""
    path = told or os.path.join(environment.get("KPROF_OUTPUT_DIR", ""), "kernel_profile.json")
    if ranks == 1:
        return os.path.abspath(path)
    root, ending = os.path.splitext(path)
    return os.path.abspath(f"{root}_rank{rank}{ending}")


def say(text: str) -> None:
    """To people."""
    sys.stderr.write(f"kprof.neuron: {text}\n")


class Session:
    """Recorder, hook and trace from start() to stop()."""

    def __init__(self, path: str, wraps: dict[str, list[str]], options: dict[str, Any], facts: dict[str, Any]) -> None:
        self.path, self.facts = path, facts
        self.wraps = wraps
        self.trace = neuron_trace.RuntimeTrace(**options)
        self.hook: Any = None  # from start() on

    def start(self) -> None:
        global _recorder
        _recorder = Recorder()
        self.hook = ImportHook(self.wraps)
        sys.meta_path.insert(0, self.hook)
        self.trace.start()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """In a child that was forked: the parent alone writes."""
        global _recorder
        _recorder = None
        self.trace.forget()

    def stop(self) -> None:
        global _recorder
        recorder, _recorder = _recorder, None
        if recorder is None:
            return
        wall_stop_ns = time.time_ns()
        self.trace.stop()
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self.hook)
        wrapped = set(self.hook.wrapped)
        missed = [f"--wrap {module}:{path}: the program imported no such function" for module, paths in self.wraps.items() for path in paths
                  if module != "spike" and f"{module}:{path}" not in wrapped]
        facts = dict(self.facts, wrapped=self.hook.wrapped, calls_left_out=recorder.left_out, **self.trace.facts())
        neuron_trace.write_profile(self.path, recorder.call_rows(), self.trace, recorder.wall_start_ns, wall_stop_ns, facts, missed)
        calls = len(recorder.calls)
        say(f"{calls} calls, {self.trace.fetched_bytes} bytes of the runtime's events -> {self.path}")
        for line in [*self.trace.troubles(), *missed]:
            say(line)
        if calls == 0:
            say("no call of a kernel was seen: spike.SpikeModel is recorded by itself, others by --wrap MODULE:PATH or "
                "kprof.neuron.record()")


def scalene_command(argv: Sequence[str], output: str, folder: str, python: str = sys.executable) -> Optional[list[str]]:
    """The command line of Scalene around this module, without it; None where it is not installed. `folder`: whose files it samples."""
    try:
        version = importlib.metadata.version("scalene")
    except importlib.metadata.PackageNotFoundError:
        return None
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    inner = [os.path.abspath(__file__), "---", "--no-scalene", *argv]
    # By itself it looks at files beside the program that it runs, which is this module.
    looked_at = ["--cpu-only", "--program-path", folder]
    if int(version.split(".")[0]) >= 2:
        return [python, *flags, "-m", "scalene", "run", *looked_at, "-o", output, *inner]
    return [python, *flags, "-m", "scalene", *looked_at, "--json", "--outfile", output, *inner]


def parse(argv: Sequence[str]) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(prog="python -m kprof.neuron", description="Records the kernel calls of a Python program, "
                                     "and the Neuron runtime's trace of them.", allow_abbrev=False)
    parser.add_argument("-o", "--output", help="the profile (default: kernel_profile.json, in $KPROF_OUTPUT_DIR where that is set)")
    parser.add_argument("--scalene", action=argparse.BooleanOptionalAction, default=None,
                        help="run under Scalene (default: where it is installed)")
    parser.add_argument("--wrap", action="append", default=[], metavar="MODULE:PATH", help="record calls of this function (repeat)")
    parser.add_argument("--cores", default="", help="NeuronCores to trace, as the runtime of this process numbers them: 0,2 or 0-3")
    parser.add_argument("--events", default="", help="event types to trace, commas between (default: all)")
    parser.add_argument("--max-events", type=int, default=0, help="events kept of each core between two fetches (default: the runtime's)")
    parser.add_argument("--every", type=float, default=0.5, metavar="S", help="fetch the events so often (default: 0.5)")
    parser.add_argument("--most-mb", type=int, default=4096, help="keep this much of events at most (default: 4096)")
    parser.add_argument("--ranks", default="", help="record these ranks alone, commas between; the others just run")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser, parser.parse_args(argv)


def wraps_of(words: Sequence[str]) -> dict[str, list[str]]:
    """{module: [path, ...]} of MODULE:PATH words, with spike's own."""
    wanted = {"spike": ["SpikeModel.__call__"]}
    for word in words:
        module, colon, path = word.partition(":")
        if not colon or not module or not path:
            raise ValueError(f"'{word}' is not MODULE:PATH")
        wanted.setdefault(module, []).append(path)
    return wanted


def run_program(options: argparse.Namespace) -> None:
    """As Python itself would."""
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        return
    # Absolute, as Python itself has it: profiles of Scalene then name the file that calls name.
    path = os.path.abspath(options.program)
    sys.path.insert(0, os.path.dirname(path))
    with io.open_code(path) as file:
        source = file.read()
    if pkgutil.get_importer(path) is not None or source.startswith(importlib.util.MAGIC_NUMBER):
        runpy.run_path(path, run_name="__main__")  # an archive, or compiled
        return
    # run_path() would change sys.argv[0], and clear the module when it has ended, under threads that go on.
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__dict__["__builtins__"] = builtins
    _mains.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def main(argv: Optional[Sequence[str]] = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    parser, options = parse(argv)
    rank, ranks = rank_of(os.environ)
    try:
        wraps = wraps_of(options.wrap)
        cores = neuron_trace.core_numbers(options.cores)
    except ValueError as error:
        parser.error(str(error))
    if not options.module and not os.path.isfile(options.program):
        parser.error(f"there is no file '{options.program}'")
    if options.ranks and str(rank) not in options.ranks.split(","):
        run_program(options)
        return 0
    if os.environ.get("NEURON_RT_INSPECT_ENABLE", "0") not in ("", "0"):
        parser.error("NEURON_RT_INSPECT_ENABLE is set: the runtime's inspect mode takes the same events; unset it")
    path = output_path(options.output, os.environ, rank, ranks)
    if options.scalene is not False:
        if "scalene" in sys.modules:
            options.scalene = True  # this is the inner one
        else:
            output = os.path.join(os.path.dirname(path), "scalene_profile.json" if ranks == 1 else f"scalene_profile_rank{rank}.json")
            folder = os.getcwd() if options.module else os.path.dirname(os.path.abspath(options.program))
            own = len(argv) - len(options.arguments)  # words of ours; the program may have an option of the same name
            command = scalene_command([word for word in argv[:own] if word != "--scalene"] + argv[own:], output, folder)
            if command is not None:
                sys.stderr.flush()
                os.execv(command[0], command)
            if options.scalene:
                parser.error("Scalene is not installed for this Python: pip install scalene, or leave --scalene out")
            say("Scalene is not installed for this Python; kernel calls alone are recorded")
    facts = {"rank": rank, "world_size": ranks, "local_rank": os.environ.get("LOCAL_RANK", ""), "pid": os.getpid(),
             "hostname": socket.gethostname(), "scalene": "scalene" in sys.modules,
             "program": options.program if options.module else os.path.abspath(options.program)}
    session = Session(path, wraps, {"cores": cores, "events": [one for one in options.events.split(",") if one],
                                    "max_events": options.max_events, "every_s": options.every,
                                    "most_bytes": options.most_mb << 20, "spool": path + ".events"}, facts)
    try:
        session.start()
    except OSError as error:
        parser.error(f"cannot write beside {path}: {error.strerror}")
    try:
        # A launcher, or a limit of time, ends a program so: what was recorded is written all the same.
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        run_program(options)
    finally:
        session.stop()
    return 0


if __name__ == "__main__":
    # `python -m` runs this file a second time, under another name: the recorder is that of the module that programs import.
    from kprof import neuron as _module
    sys.exit(_module.main())
