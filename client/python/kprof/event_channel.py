"""The channel to kprofd: the pipe that $KPROF_EVENT names, and the lines that a process writes to it (docs/event.md).

A referee takes what kprofd told it out of its environment before it starts anything else: a process that knows the pipe could write
to it, one that knows the seed could know the inputs.
"""

import ctypes
import json
import math
import os
import secrets

PIPE_VARIABLE = "KPROF_EVENT"
SAMPLES_VARIABLE = "KPROF_EVENT_SAMPLES"
SEED_VARIABLE = "KPROF_EVENT_SEED"
SECRET_VARIABLES = (PIPE_VARIABLE, SAMPLES_VARIABLE, SEED_VARIABLE, "KPROF_METRICS")
USUAL_SAMPLES = 100
MOST_SAMPLES = 1_000_000
MOST_LINE_BYTES = 4096  # also what a pipe takes in one piece
MOST_CASE_BYTES = 200
MOST_BYTES = 4 << 20
MOST_MESSAGE_BYTES = 2000  # as JSON
KEPT_BYTES = 1 << 16  # for notes and checks, which come last

_PR_SET_DUMPABLE = 4


def _json(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _cut(message):
    """As much of it as a line takes: letters that need an escape, which a candidate may choose, take up to twelve bytes."""
    while len(_json(message)) > MOST_MESSAGE_BYTES:
        message = message[:len(message) * 3 // 4]
    return message


class Channel:
    """Writes lines to kprofd; where kprofd is not there, to nobody. `samples`: how many of each case this process is to give.
    `seed`: what inputs are made of, with a secret of this process's own. `dropped`: lines beyond what kprofd takes."""

    def __init__(self, descriptor, samples, seed):
        self._descriptor, self.samples = descriptor, samples
        self._seed, self._secret = seed, secrets.token_bytes(16)
        self._left = MOST_BYTES
        self.dropped = 0

    @property
    def is_open(self):
        return self._descriptor is not None

    def seed_of(self, *what):
        """A number of 63 bits that nobody else can tell, of the names of what it is for."""
        import hashlib  # slow to load, and not for those who only write lines
        text = repr((self._seed, what)).encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=8).digest(), "little") >> 1

    def _write(self, line, kept_bytes=0):
        if self._descriptor is None:
            return
        data = _json(line) + b"\n"
        if len(data) > MOST_LINE_BYTES or len(data) > self._left - kept_bytes:
            self.dropped += 1
            return
        self._left -= len(data)
        try:
            os.write(self._descriptor, data)
        except OSError:  # kprofd is gone, or wants no more
            self.close()

    def sample(self, case, ns, **facts):
        """`facts`: cycles, flops, bytes, cache, wall_ns, stream_count; None: not known."""
        if not (math.isfinite(ns) and ns > 0):
            raise ValueError(f"a sample of {ns} ns")
        line = {} if case is None else {"case": case}
        line.update(ns=ns, **{name: value for name, value in facts.items() if value is not None})
        self._write(line, KEPT_BYTES)

    def note(self, code, message):
        """A reason not to trust this process."""
        self._write({"note": code, "message": _cut(message)})

    def check_passed(self, checked):
        self._write({"check": "passed", "checked": checked})

    def check_failed(self, message, case=None):
        line = {"check": "failed", "message": _cut(message)}
        if case is not None:
            line["case"] = case
        self._write(line)

    def close(self):
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _number_of(text, usual, most):
    return min(int(text), most) if text and text.isdigit() and int(text) > 0 else usual


def hide_process():
    """From now on other processes of the same user can read neither this one's memory nor its /proc. Such a process has no core
    dumps either. False: the node does not have it."""
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def open_channel():
    """Takes what kprofd told this process out of its environment, and hides the process. A Channel."""
    told = {name: os.environ.pop(name, "") for name in SECRET_VARIABLES}
    descriptor = None
    if told[PIPE_VARIABLE]:
        descriptor = os.open(told[PIPE_VARIABLE], os.O_WRONLY | os.O_CLOEXEC)
    hide_process()
    return Channel(descriptor, _number_of(told[SAMPLES_VARIABLE], USUAL_SAMPLES, MOST_SAMPLES), told[SEED_VARIABLE])
