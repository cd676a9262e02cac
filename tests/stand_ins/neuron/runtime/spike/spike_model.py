"""A model of spike's: a call executes it, on the stand-in of libnrt that KPROF_NRT_LIBRARY names."""

import ctypes
import os


class SpikeModel:
    def __init__(self, name, nc=0, device_ns=2_000_000, is_async=False):
        self.name, self.nc, self.device_ns, self.is_async = name, nc, device_ns, is_async
        self.runtime = ctypes.CDLL(os.environ["KPROF_NRT_LIBRARY"])
        self.runtime.stand_in_execute.restype = ctypes.c_uint64
        self.runtime.stand_in_execute.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]

    def __call__(self, *inputs):
        return self.runtime.stand_in_execute(self.nc, self.device_ns, int(self.is_async), self.name.encode())
