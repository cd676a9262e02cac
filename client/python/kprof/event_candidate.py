"""The referee's hold on the process of a candidate: starts it, asks it, takes the time, and ends it with all that it started.

Time runs by this process's clock from before the inputs are handed over until the outputs have been copied out: work that is done
ahead, put off or left to a thread has nowhere to hide. What the other process says about time is a claim.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from kprof import event_child, event_device
from kprof.event_channel import SECRET_VARIABLES
from kprof.event_times import Call

REGION_BYTES = 1 << 30  # of outputs; only what is written takes memory
MOST_STRAYS = 100_000
_ALL_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_PR_SET_CHILD_SUBREAPER = 36
_START = ("import json, sys; told = json.loads(sys.argv[1]); sys.path[:] = told['python_path']; "
          "from kprof import event_child; event_child.main(told)")
_ENDED_WITHIN_S = 10


class CandidateFailed(Exception):
    """The candidate gave no answer that counts. `kind`: load, call, outputs, ended, timeout, protocol."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


_KINDS = {b"l": "load", b"c": "call", b"o": "outputs"}


@dataclasses.dataclass
class Answer:
    """Of a call. `outputs`: bytes that the candidate wrote; they are overwritten by the next call."""

    call: Call
    outputs: memoryview


def _cpu_clock_of(pid):
    """The number of the clock of all threads of a process, as clock_getcpuclockid(3) has it."""
    return ~pid << 3 | 2


def _memory_file(name, data=None, size=0):
    """A descriptor of memory that nobody can resize; with `data`, nobody can write to it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        if data is None:
            os.ftruncate(descriptor, size)
        else:
            left = memoryview(data)
            while len(left):
                left = left[os.write(descriptor, left):]
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _ALL_SEALS | (0 if data is None else fcntl.F_SEAL_WRITE))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def inputs_file(data):
    """A descriptor of the encoded inputs, for the time of the block."""
    descriptor = _memory_file("kprof-inputs", data)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sockets_of_kprofd():
    """Where kprofd may listen: no business of a candidate's."""
    environment = os.environ
    folders = [environment.get("XDG_RUNTIME_DIR"), environment.get("XDG_STATE_HOME"),
               os.path.join(environment.get("HOME") or "/nonexistent", ".local/state")]
    paths = [os.path.join(folder, "kprof", "kprofd.sock") for folder in folders if folder]
    return [path for path in (environment.get("KPROF_SOCKET"), *paths, "/run/kprofd/kprofd.sock") if path]


def _python_path():
    """Where the other process looks for modules: not in the folder in which it is started, and first for this package."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = [os.path.abspath(place) for place in sys.path if place and os.path.abspath(place) != os.getcwd()]
    return list(dict.fromkeys([package, *places]))


class CandidateProcess:
    """One process with one candidate. A context manager: leaving it ends the process and all that it started.

    `file`: none for a process that answers empty calls. `isolate`: in namespaces of its own where that can be. `notes`: reasons not to
    trust it, by code. `most_output_bytes`: more is not read. One thread. Each call waits at most `timeout_s`.
    """

    def __init__(self, file, clock="host", isolate=True, timeout_s=60):
        self.notes = {}
        self.most_output_bytes = 64 << 20
        self._timeout_s = timeout_s
        self._inner = None
        self._buffer = memoryview(bytearray(1 << 16))
        self._scratch = tempfile.mkdtemp(prefix="kprof-event-") if isolate else ""
        self._region = _memory_file("kprof-outputs", size=REGION_BYTES)
        self._link, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.settimeout(timeout_s)
        told = {"file": os.path.abspath(file) if file else "", "clock": clock, "isolate": isolate, "link": other.fileno(),
                "region": self._region, "python_path": _python_path(), "hidden": _sockets_of_kprofd(),
                "scratch": self._scratch}
        environment = {name: value for name, value in os.environ.items()
                       if name not in SECRET_VARIABLES and not name.startswith("KPROF_EVENT") and name != "KPROF_SOCKET"}
        with other:
            self._process = subprocess.Popen([sys.executable, "-I", "-c", _START, json.dumps(told)], env=environment,
                                             stdin=subprocess.DEVNULL, stdout=2, pass_fds=(other.fileno(), self._region),
                                             start_new_session=True)
        self._cpu_clock = _cpu_clock_of(self._process.pid)
        if isolate:
            try:
                self._until_shut_in()
            except BaseException:
                self.end()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def _receive(self):
        try:
            message = self._link.recv(event_child.MOST_MESSAGE_BYTES)
        except socket.timeout:
            raise CandidateFailed("timeout", f"no answer within {self._timeout_s} s") from None
        except OSError:
            message = b""
        if not message:
            raise CandidateFailed("ended", f"its process ended{self._how_it_ended()}")
        if message[:1] == b"E":
            raise CandidateFailed(_KINDS.get(message[1:2], "protocol"), message[2:].decode("utf-8", "replace"))
        return message

    def _send(self, message, descriptors=()):
        try:
            socket.send_fds(self._link, [message], descriptors)
        except OSError:
            raise CandidateFailed("ended", f"its process ended{self._how_it_ended()}") from None

    def _how_it_ended(self):
        try:
            code = self._process.wait(timeout=_ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            return ""
        number = -code if code < 0 else code - 128
        return f" by signal {number}" if 0 < number < 65 else f" with exit code {code}"

    def _until_shut_in(self):
        """Takes what the process says before it loads anything of a stranger's."""
        message = self._receive()
        if message[:1] == b"P":
            self._inner = os.pidfd_open(int(message[1:]))
            self._cpu_clock = _cpu_clock_of(int(message[1:]))
            message = self._receive()
        if message != b"I":
            self.notes["not_isolated"] = "the candidate's process could not be shut in: " + message[1:].decode("utf-8", "replace")

    def _until_ready(self):
        """Returns how many bytes the process left in the region."""
        while True:
            message = self._receive()
            kind, rest = message[:1], message[1:]
            if kind == b"R" and len(rest) == event_child.READY.size:
                return event_child.READY.unpack(rest)[0]
            code, _, text = rest.decode("utf-8", "replace").partition(" ")
            if kind != b"N" or code not in event_device.NOTES:
                raise CandidateFailed("protocol", "its process said something that it was not asked")
            self.notes[code] = text

    def _cpu_ns(self):
        """CPU time of its process so far; 0: not known."""
        try:
            return time.clock_gettime_ns(self._cpu_clock)
        except OSError:
            return 0

    def _read_region(self, length):
        if length > self.most_output_bytes:
            raise CandidateFailed("outputs", f"outputs of {length} bytes, of which at most {self.most_output_bytes} are expected")
        if length > len(self._buffer):
            self._buffer = memoryview(bytearray(length + (length >> 2)))
        if os.preadv(self._region, [self._buffer[:length]], 0) != length:
            raise CandidateFailed("outputs", "outputs could not be read")
        return self._buffer[:length]

    def load(self, function):
        """Loads the candidate's file. Returns bytes: its `cases`, encoded."""
        self._send(b"L" + function.encode())
        return self._read_region(self._until_ready())

    def echo(self, outputs):
        """Instead of a candidate: each call returns what `outputs`, encoded, has. Empty: None. Raises event_device.NoTimer."""
        if outputs:
            os.pwrite(self._region, outputs, 0)
        self._send(b"O" + event_child.READY.pack(len(outputs)))
        try:
            self._until_ready()
        except CandidateFailed as failure:  # nothing of a candidate's is there
            raise event_device.NoTimer(str(failure)) from None

    def call(self, inputs, size, calls=1):
        """`inputs`: a descriptor of so many bytes, the inputs of `calls` calls, one behind the other. An Answer. Raises
        CandidateFailed."""
        os.pwrite(self._region, bytes(64), 0)  # outputs of before are none
        self._send(b"A")
        if self._receive() != b"A":
            raise CandidateFailed("protocol", "its process said something that it was not asked")
        clock = time.perf_counter_ns
        used_ns = self._cpu_ns()
        start_ns = clock()
        self._send(b"G" + event_child.GO.pack(size, calls), [inputs])
        message = self._receive()
        if message[:1] != b"D" or len(message) != 1 + event_child.DONE.size:
            raise CandidateFailed("protocol", "its process said something that it was not asked")
        length, claim_ns, longer_ns = event_child.DONE.unpack(message[1:])
        outputs = self._read_region(length)
        wall_ns = clock() - start_ns
        return Answer(Call(wall_ns, claim_ns, self._cpu_ns() - used_ns, longer_ns), outputs)

    def end(self):
        """Ends the process. Also what it started, where it is shut in; else those of its group."""
        if self._process is None:
            return
        self._link.close()
        if self._inner is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._inner, signal.SIGKILL)
            os.close(self._inner)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDED_WITHIN_S)  # it takes leave of the one that was shut in
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._region)
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._process = None


def _children():
    found = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
            found.update(map(int, file.read().split()))
    return found


class Strays:
    """Takes over what a candidate leaves behind, for a process that has no other children; see PR_SET_CHILD_SUBREAPER."""

    def __init__(self):
        import ctypes
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def end(self):
        """Ends all children of this process. Returns how many there were."""
        ended = 0
        while ended < MOST_STRAYS:
            children = _children()
            if not children:
                break
            for pid in children:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                ended += 1
        return ended
