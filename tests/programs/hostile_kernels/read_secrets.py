"""Looks for the seed and the channel: in variables of all processes, and in the memory of the one that started it."""

import ctypes
import os
import re
import sys

from honest import kernel  # noqa: F401

SECRETS = (b"KPROF_EVENT", b"KPROF_METRICS", b"make_inputs")
parent = os.getppid()


def look(where, data):
    for secret in SECRETS:
        if secret in data:
            sys.stderr.write(f"FOUND {secret.decode()} in {where}\n")


for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) in (os.getpid(), parent) or parent == 0:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                look(f"the environment of {pid}", file.read())
        except OSError:
            pass
if parent:
    try:
        with open(f"/proc/{parent}/maps", encoding="utf-8") as maps, open(f"/proc/{parent}/mem", "rb", 0) as memory:
            for line in maps:
                start, end = (int(number, 16) for number in re.match(r"(\w+)-(\w+)", line).groups())
                memory.seek(start)
                look("the memory of the referee", memory.read(end - start))
    except OSError:
        pass
    buffer = ctypes.create_string_buffer(8)
    local, remote = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8), (ctypes.c_void_p * 2)(id(None), 8)
    if ctypes.CDLL(None).process_vm_readv(parent, local, 1, remote, 1, 0) > 0:
        sys.stderr.write("FOUND process_vm_readv\n")
