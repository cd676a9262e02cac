"""As much of torch as kprof.kernel_runner needs, on a processor, with the clock of a GPU that is not there: events tell the host's
time. For where torch is not installed; PYTHONPATH=tests/stand_ins/torch.

TORCH_STAND_IN_LOG names a file that gets a line for each act that a GPU would see.
"""

import contextlib
import os
import time
import types

bfloat16, float16, float32, float64, int8 = "torch.bfloat16", "torch.float16", "torch.float32", "torch.float64", "torch.int8"


def _log(line):
    path = os.environ.get("TORCH_STAND_IN_LOG")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


class Tensor:
    """Of one dimension."""

    def __init__(self, values, dtype=float32, device="cpu"):
        self.values, self.dtype, self.device = list(values), dtype, device

    @property
    def shape(self):
        return (len(self.values),)

    def is_floating_point(self):
        return self.dtype != int8

    def to(self, where):
        if where in ("cpu", "cuda"):
            return Tensor(self.values, self.dtype, where)
        return Tensor(self.values, where, self.device)

    def detach(self):
        return self

    def double(self):
        return self.to(float64)

    def cpu(self):
        return self.to("cpu")

    def isclose(self, other, rtol, atol, equal_nan):
        same = [a == b or abs(a - b) <= atol + rtol * abs(b) or (equal_nan and a != a and b != b) for a, b in zip(self.values, other.values)]
        return _Flags(same)

    def zero_(self):
        _log("flush")

    def __getitem__(self, at):
        return self.values[at[0]]

    def __mul__(self, factor):
        return Tensor([value * factor for value in self.values], self.dtype, self.device)


class _Flags:
    def __init__(self, flags):
        self.flags = flags

    def __invert__(self):
        return _Flags([not flag for flag in self.flags])

    def sum(self):
        return sum(self.flags)

    def numel(self):
        return len(self.flags)

    def nonzero(self):
        return [(i,) for i, flag in enumerate(self.flags) if flag]


class _Module:
    weight = None
    dtype = float32

    def __call__(self, *inputs):
        return self.forward(*inputs)

    def to(self, where):
        if where not in ("cpu", "cuda"):
            self.dtype = where
        return self

    def eval(self):
        return self

    def modules(self):
        return [self]


nn = types.SimpleNamespace(Module=_Module)


class _Event:
    def __init__(self, enable_timing):
        self.at = 0

    def record(self):
        _log("event")
        self.at = time.perf_counter_ns()

    def elapsed_time(self, end):
        return (end.at - self.at) / 1e6


cuda = types.SimpleNamespace(
    is_available=lambda: True, synchronize=lambda: _log("synchronize"), Event=_Event,
    get_device_properties=lambda number: types.SimpleNamespace(L2_cache_size=64 << 20),
    cudart=lambda: types.SimpleNamespace(cudaProfilerStart=lambda: _log("start"), cudaProfilerStop=lambda: _log("stop")))


def empty(size, dtype, device):
    _log(f"empty {size}")
    return Tensor([], dtype, device)


def manual_seed(seed):
    _log("seed")


def compile(model):  # noqa: A001  torch's own name
    _log("compile")
    return model


@contextlib.contextmanager
def inference_mode():
    yield
