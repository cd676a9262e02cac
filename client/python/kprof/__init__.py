"""kprof from Python: measure commands, import traces, ask analyses and SQL, get tables.

    import kprof

    with kprof.session(device=0, clocks="lock") as session:
        run = session.capture("event", "./new", against="./old")
        print(run.verdict, run.comparison.ratio)

    [run] = kprof.connect().import_("rank0.json.gz")
    print(run.analyze("temporal-breakdown", window="hta").table())    # a DataFrame where pandas is installed, else dicts

Needs Python 3.9, grpcio and protobuf, and a kprofd that runs. docs/python.md has the whole of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same as _HOMES, for those who read types
    from kprof.analysis import Answer as Answer, Kind as Kind
    from kprof.captures import Tool as Tool, ToolOption as ToolOption
    from kprof.client import Client as Client, capture as capture, compare as compare, connect as connect, session as session
    from kprof.errors import (BadInput as BadInput, Busy as Busy, Cancelled as Cancelled, CheckFailed as CheckFailed,
                              CommandFailed as CommandFailed, InternalError as InternalError, KprofError as KprofError,
                              LostDaemon as LostDaemon, NoDaemon as NoDaemon, NoKernels as NoKernels, NotFound as NotFound,
                              NotPermitted as NotPermitted, SpawnFailed as SpawnFailed, StorageError as StorageError,
                              TimedOut as TimedOut, ToolError as ToolError, ToolMissing as ToolMissing,
                              UsageError as UsageError)
    from kprof.run import (Artifact as Artifact, Comparison as Comparison, Roofline as Roofline, Run as Run,
                           TrustReason as TrustReason)
    from kprof.sessions import Round as Round, Session as Session, StopAdvice as StopAdvice
    from kprof.table import Column as Column, QueryResult as QueryResult, Table as Table
    from kprof.timing import Timer as Timer, timed as timed

# Where each name is. They are looked up when they are used: kprof.neuron runs in programs whose Python has no grpcio.
_HOMES = {
    "kprof.analysis": ("Answer", "Kind"),
    "kprof.captures": ("Tool", "ToolOption"),
    "kprof.client": ("Client", "capture", "compare", "connect", "session"),
    "kprof.errors": ("BadInput", "Busy", "Cancelled", "CheckFailed", "CommandFailed", "InternalError", "KprofError", "LostDaemon",
                     "NoDaemon", "NoKernels", "NotFound", "NotPermitted", "SpawnFailed", "StorageError", "TimedOut", "ToolError",
                     "ToolMissing", "UsageError"),
    "kprof.run": ("Artifact", "Comparison", "Roofline", "Run", "TrustReason"),
    "kprof.sessions": ("Round", "Session", "StopAdvice"),
    "kprof.table": ("Column", "QueryResult", "Table"),
    "kprof.timing": ("Timer", "timed"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kprof' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
