"""Times a callable, or a block, of this process with the host's clock:

    @kprof.timed
    def step(batch): ...

    with kprof.timed("sort") as sort:
        values.sort()
    print(sort.samples)                    # ns, one for each time

Under `kprofctl capture event` each time is a sample of the run: it goes to $KPROF_EVENT as a line. Elsewhere it is kept in `samples`
alone. What is timed times itself: who does not trust the code lets kprof.event do it.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import threading
import time
import warnings
from typing import Any, Callable, Optional, TypeVar, Union, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_MOST_NAME_BYTES = 200


class _Channel:
    """$KPROF_EVENT. A line goes out whole: other threads write as well."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path: Optional[str] = None
        self._file = -1

    def write(self, line: bytes) -> None:
        path = os.environ.get("KPROF_EVENT", "")
        if not path:
            return
        with self._lock:
            try:
                if path != self._path:
                    self._path = path  # one that cannot be opened is not tried again
                    self._file = -1
                    self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
                if self._file >= 0:
                    os.write(self._file, line)
            except OSError as error:
                self._file = -1
                warnings.warn(f"kprof.timed: samples do not reach the run: {path}: {error.strerror}", RuntimeWarning, stacklevel=4)


_channel = _Channel()


class Timer:
    """Times what it decorates, or its blocks; kprof.timed() makes it. `samples`: the times so far, in ns, in the order of their ends.
    Threads may share one."""

    def __init__(self, name: str = "", flops: Optional[float] = None, bytes: Optional[float] = None,
                 sync: Optional[Callable[[], Any]] = None) -> None:
        self.name = name
        self.samples: list[int] = []
        self._work = {key: value for key, value in (("flops", flops), ("bytes", bytes)) if value is not None}
        self._sync = sync or (lambda: None)
        self._begun = threading.local()  # a stack: blocks of one timer may stand in each other

    def _add(self, ns: int) -> None:
        self.samples.append(ns)
        case = {"case": self.name.encode()[:_MOST_NAME_BYTES].decode(errors="ignore")} if self.name else {}
        _channel.write(json.dumps({**case, "ns": ns, **self._work}).encode() + b"\n")

    def __enter__(self) -> Timer:
        self._sync()
        self._begun.__dict__.setdefault("stack", []).append(time.perf_counter_ns())
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._sync()
        ns = time.perf_counter_ns() - self._begun.stack.pop()
        if kind is None:  # one that failed did not do its work
            self._add(ns)

    def __call__(self, function: _F) -> _F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"kprof.timed: {function.__qualname__} is a generator, and works while somebody iterates over it: time that loop")
        if not self.name:
            self.name = getattr(function, "__qualname__", type(function).__name__)
        sync, add, clock = self._sync, self._add, time.perf_counter_ns

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def timed_function(*args: Any, **named: Any) -> Any:
                sync()
                begin = clock()
                result = await function(*args, **named)
                sync()
                add(clock() - begin)
                return result
        else:
            @functools.wraps(function)
            def timed_function(*args: Any, **named: Any) -> Any:
                sync()
                begin = clock()
                result = function(*args, **named)
                sync()
                add(clock() - begin)
                return result

        timed_function.samples = self.samples  # type: ignore[attr-defined]
        return timed_function  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<Timer {self.name}: {len(self.samples)} samples>"


@overload
def timed(name: _F) -> _F: ...
@overload
def timed(name: str = "", *, flops: Optional[float] = None, bytes: Optional[float] = None,
          sync: Optional[Callable[[], Any]] = None) -> Timer: ...
def timed(name: Union[str, Callable[..., Any]] = "", *, flops: Optional[float] = None, bytes: Optional[float] = None,
          sync: Optional[Callable[[], Any]] = None) -> Any:
    """A decorator, `@kprof.timed` or `@kprof.timed("name")`, and a context, `with kprof.timed("name"):`.

    `name`: the case of the samples; a function's own name where none is given. `flops`, `bytes`: the work of one sample. `sync`: called
    before the clock is read, such as torch.cuda.synchronize: a call that only starts work on a device returns before it is done.
    """
    if callable(name):
        return Timer()(name)
    return Timer(name, flops, bytes, sync)
