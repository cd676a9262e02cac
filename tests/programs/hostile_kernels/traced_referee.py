"""Stops the referee by ptrace, to write what it likes into it; and tries to get out of where it was put."""

import ctypes
import os
import sys

from honest import kernel  # noqa: F401

PTRACE_ATTACH, PTRACE_DETACH = 16, 17
CLONE_NEWNS, CLONE_NEWUSER, MNT_DETACH, MS_REMOUNT, MS_BIND = 0x20000, 0x10000000, 2, 32, 0x1000
libc = ctypes.CDLL(None)


def attempt(what, worked):
    if worked:
        sys.stderr.write(f"FOUND a way: {what}\n")


parent = os.getppid()
if parent:
    traced = libc.ptrace(PTRACE_ATTACH, parent, 0, 0) == 0
    attempt("ptrace", traced)
    if traced:
        os.waitpid(parent, 0x40000000)
        libc.ptrace(PTRACE_DETACH, parent, 0, 0)
if os.getpid() == 1:
    for _ in range(2):  # as it is, and with the rights of a namespace of its own
        attempt("uncover /proc", libc.umount2(b"/proc", MNT_DETACH) == 0)
        attempt("make files writable", libc.mount(None, b"/", None, MS_REMOUNT | MS_BIND, None) == 0)
        attempt("see others", any(pid.isdigit() and int(pid) != os.getpid() for pid in os.listdir("/proc")))
        libc.unshare(CLONE_NEWUSER | CLONE_NEWNS)
