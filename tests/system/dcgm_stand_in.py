"""A host engine of the stand-in for DCGM (tests/stand_ins/dcgm), and holders of a pause that no kprofd started."""

import fcntl
import os
import socket
import struct
import subprocess

import kprof_testing

LIBRARY = os.path.join(kprof_testing.BIN, "libdcgm_stand_in.so")
TOOL_FOLDER = os.path.join(kprof_testing.BIN, "dcgm_stand_in")
HOLDER = os.path.join(kprof_testing.BIN, "kprof-pause")
STATE_BYTES = 4096


class HostEngine:
    """What it is in, in a file in `folder` that outlives every process; the keys are in state.h."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "dcgm.state")

    def _with(self, change):
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            lines = file.read().decode().split("\n")
            values = dict(line.split("=", 1) for line in lines if "=" in line)
            values = values or {"engine": "1", "paused": "0", "watched": "1", "devices": "2", "profiles": "1"}
            if change:
                values.update({key: str(value) for key, value in change.items()})
                file.seek(0)
                file.write("".join(f"{key}={value}\n" for key, value in values.items()).encode().ljust(STATE_BYTES, b"\n"))
            return values

    def set(self, **values):
        self._with(values)

    def number(self, key):
        return int(self._with({}).get(key) or 0)

    @property
    def paused(self):
        return self.number("paused") == 1

    @property
    def environment(self):
        return {"KPROF_DCGM_LIBRARY": LIBRARY, "KPROF_DCGM_STAND_IN": self.path}


class Holder:
    """A kprof-pause on the state folder of a kprofd, with this process in the place of kprofd."""

    LOCK, RELEASE, LOCKED, RELEASED, FAILED, PAUSE, PAUSED = range(7)  # of keeper_protocol.h

    def __init__(self, state, environment, library=LIBRARY, tool_path=""):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(kprof_testing.LIMIT_S)
        page = os.memfd_create("calls")
        os.ftruncate(page, 4096)
        words = f"exec {HOLDER} \"$@\" 3<&{theirs.fileno()} 4<>/proc/self/fd/{page}"
        self.process = subprocess.Popen(
            ["bash", "-c", words, "holder", library, tool_path, os.path.join(state, "profilers"), boot],
            pass_fds=(theirs.fileno(), page), env=dict(os.environ, **environment))
        theirs.close()
        os.close(page)

    @property
    def pid(self):
        return self.process.pid

    def ask(self, body):
        """The type and the rest of its answer; none: it is gone."""
        try:
            self.socket.send(struct.pack("<I", 1) + body)
            answer = self.socket.recv(1 << 16)
        except ConnectionError:
            return None, b""
        return (answer[4], answer[5:]) if answer else (None, b"")

    def pause(self, limit_s=600):
        name = b"run of a test"
        return self.ask(struct.pack("<BI", self.PAUSE, len(name)) + name + struct.pack("<q", limit_s * 10**9))

    def release(self):
        return self.ask(struct.pack("<B", self.RELEASE))

    def leave(self):
        """As a kprofd that is killed."""
        self.socket.close()

    def wait(self):
        return self.process.wait(timeout=kprof_testing.LIMIT_S)

    def kill(self):
        kprof_testing.kill_if_there(self.pid)
        self.leave()
        self.wait()
