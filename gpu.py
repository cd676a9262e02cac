import ctypes, os
lib = ctypes.CDLL(os.environ["KPROF_CUDART_LIBRARY"])
lib.stand_in_launch.argtypes=[ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
def kernel(numbers):
    lib.stand_in_launch(None, 3_000_000, 1)
    return sum(numbers)
def streams(numbers):
    lib.stand_in_launch(None, 3_000_000, 1)
    lib.stand_in_launch(8, 4_000_000, 0)
    return sum(numbers)
