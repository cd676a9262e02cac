"""What times a call from within the candidate's process: the host's clock, CUDA events, or what the Neuron runtime says.

Whatever these say is a claim, as the process is the candidate's. The referee compares it with its own wall time.

CUDA: libcudart is loaded when it is needed, by ctypes: nothing is built against it. Events lie on the default stream, which waits for
all other streams that block; when the stop event is over the device is waited for, which takes long where a stream that does not block
still works. Cold: before each call a buffer of exactly the size of the L2 cache is written, and no line of it persists. Hot: it is
not; the caches are as the copy of the inputs left them. Inputs that are tensors of torch are on the device before the start event.

There is no kernel here that holds the stream until all is queued: it would have to be released by a callback that needs Python's lock
while the candidate may hold it. So a launch counts for kernels that are shorter than it; kprof_event.h of C++ has such a gate.
"""

import ctypes
import os
import sys
import time

NOTES = ("compiler_timed", "unwitnessed")  # codes of what timers note
LIBRARY_VARIABLE = "KPROF_CUDART_LIBRARY"  # names another one: for tests
LIBRARIES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so")

_L2_CACHE_SIZE = 38  # cudaDevAttrL2CacheSize
_PERSISTING_L2_SIZE = 6  # cudaLimitPersistingL2CacheSize
_UNSUPPORTED_LIMIT = 215  # of devices without persisting lines


class NoTimer(Exception):
    """This clock is not here."""


class Timed:
    """A call: `outputs`, `ns`, and how long the device then still worked elsewhere, as far as the host could see it."""

    def __init__(self, outputs, ns, longer_ns=0):
        self.outputs, self.ns, self.longer_ns = outputs, ns, longer_ns


class HostTimer:
    """By the host's clock: for code that runs on the CPU and is done when it returns."""

    def __init__(self):
        self._clock = time.perf_counter_ns

    def notes(self):
        """Pairs of code and text that the referee shall note."""
        return []

    def call(self, kernel, inputs):
        start_ns = self._clock()
        outputs = kernel(*inputs)
        return Timed(outputs, self._clock() - start_ns)


class Cudart:
    """The functions of libcudart, with their types. Each raises NoTimer where it fails."""

    def __init__(self):
        failures = []
        for name in [os.environ[LIBRARY_VARIABLE]] if os.environ.get(LIBRARY_VARIABLE) else LIBRARIES:
            try:
                self._lib = ctypes.CDLL(name)
                break
            except OSError as error:
                failures.append(str(error))
        else:
            raise NoTimer(f"load libcudart: {failures[0]}")
        self._lib.cudaGetErrorString.restype = ctypes.c_char_p
        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        for name, arguments in (("cudaEventCreate", [ctypes.POINTER(pointer)]), ("cudaEventRecord", [pointer, pointer]),
                                ("cudaEventSynchronize", [pointer]), ("cudaDeviceSynchronize", []), ("cudaGetDevice", [ctypes.POINTER(number)]),
                                ("cudaEventElapsedTime", [ctypes.POINTER(ctypes.c_float), pointer, pointer]),
                                ("cudaDeviceGetAttribute", [ctypes.POINTER(number), number, number]),
                                ("cudaMalloc", [ctypes.POINTER(pointer), size]), ("cudaMemsetAsync", [pointer, number, size, pointer]),
                                ("cudaCtxResetPersistingL2Cache", []), ("cudaDeviceSetLimit", [number, size])):
            getattr(self._lib, name).argtypes = arguments

    def __getattr__(self, name):
        function = getattr(self._lib, "cuda" + name)

        def call(*arguments, allowed=()):
            code = function(*arguments)
            if code != 0 and code not in allowed:
                text = self._lib.cudaGetErrorString(code) or b"error"
                raise NoTimer(f"cuda{name}: {text.decode(errors='replace')} ({code})")

        return call

    def value_of(self, kind, name, *arguments):
        """Of a function that writes one to its first argument."""
        value = kind()
        getattr(self, name)(ctypes.byref(value), *arguments)
        return value.value


class CudaTimer:
    """By CUDA events on the default stream."""

    def __init__(self, is_cold):
        self._cuda = Cudart()
        device = self._cuda.value_of(ctypes.c_int, "GetDevice")
        self._l2_bytes = self._cuda.value_of(ctypes.c_int, "DeviceGetAttribute", _L2_CACHE_SIZE, device) if is_cold else 0
        self._buffer = self._cuda.value_of(ctypes.c_void_p, "Malloc", self._l2_bytes) if self._l2_bytes else None
        self._start = self._cuda.value_of(ctypes.c_void_p, "EventCreate")
        self._stop = self._cuda.value_of(ctypes.c_void_p, "EventCreate")

    def notes(self):
        return []

    def _empty_l2(self):
        self._cuda.DeviceSetLimit(_PERSISTING_L2_SIZE, 0, allowed=(_UNSUPPORTED_LIMIT,))
        self._cuda.CtxResetPersistingL2Cache(allowed=(_UNSUPPORTED_LIMIT,))
        self._cuda.MemsetAsync(self._buffer, 0, self._l2_bytes, None)

    def call(self, kernel, inputs):
        torch = sys.modules.get("torch")
        if torch is not None:
            inputs = tuple(value.cuda() if type(value) is torch.Tensor else value for value in inputs)
        if self._l2_bytes:
            self._empty_l2()
        self._cuda.DeviceSynchronize()
        self._cuda.EventRecord(self._start, None)
        outputs = kernel(*inputs)
        self._cuda.EventRecord(self._stop, None)
        self._cuda.EventSynchronize(self._stop)
        stopped_ns = time.perf_counter_ns()
        self._cuda.DeviceSynchronize()
        longer_ns = time.perf_counter_ns() - stopped_ns
        ns = self._cuda.value_of(ctypes.c_float, "EventElapsedTime", self._start, self._stop) * 1e6
        return Timed(outputs, ns, longer_ns)


class NeuronTimer(HostTimer):
    """By what nki.benchmark leaves at a function that it wraps (`benchmark_result`): the median of the device's times in us. A plain
    call says what compiler, copies and device took together."""

    def __init__(self, kernel):
        super().__init__()
        self._is_wrapped = hasattr(kernel, "benchmark_result")

    def notes(self):
        if self._is_wrapped:
            return [("unwitnessed", "the time is the Neuron runtime's word in the candidate's process: the referee saw no more than that "
                                    "it did not take longer than all of the call")]
        return [("compiler_timed", "a plain call to a Neuron kernel also times the compiler and the copies: wrap it in nki.benchmark")]

    def call(self, kernel, inputs):
        timed = super().call(kernel, inputs)
        result = getattr(kernel, "benchmark_result", None)
        if result is not None:
            timed.ns = float(result.nc_latency.get_latency_percentile(50)) * 1000
        return timed


CLOCKS = ("host", "cuda-cold", "cuda-hot", "neuron")


def timer_for(clock, kernel):
    """`clock`: one of CLOCKS. `kernel`: None for empty calls. Raises NoTimer."""
    if clock in ("cuda-cold", "cuda-hot"):
        return CudaTimer(clock == "cuda-cold")
    if clock == "neuron" and kernel is not None:
        return NeuronTimer(kernel)
    return HostTimer()
