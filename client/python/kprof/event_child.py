"""The process that loads a candidate and calls it, for the referee in kprof.event. Started with `python -I`, see event_candidate.py.

It is in the hands of the candidate: a candidate can rewrite all of it. So nothing that it says is believed: the referee takes the
time by its own clock from the moment that inputs exist here until outputs are there, and compares outputs itself. This process never
holds the channel to kprofd, the seed of the inputs, expected outputs or the inputs of the next call.

Messages, one packet each, from the referee:
  L function             load the file
  O u64 bytes            instead of a candidate: what is in the region is what each call returns
  A                      be there: answered with A, so that what this process did after the last call is over
  G u64 bytes, u32 calls the inputs, with the descriptor of a file that has them
and to it:
  P number               this process is shut in, and has this number outside
  I text                 what of that could not be done; always sent where it was asked for
  R u64 bytes            loaded; so many bytes of `cases` are in the region
  D u64 bytes, u64 ns, u64 ns   done: outputs are in the region; what the calls took, by the clock here, and what the device then still did
  N code, space, text    something that the referee shall note
  E kind, text           it failed: in loading (l), in the call (c), in its outputs (o)
"""

import importlib.util
import mmap
import os
import resource
import socket
import struct
import sys
import traceback

from kprof import event_device, event_isolation, event_values

MOST_MESSAGE_BYTES = 8192
CACHE_VARIABLES = ("TMPDIR", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH")
GO = struct.Struct("<QI")
READY = struct.Struct("<Q")
DONE = struct.Struct("<QQQ")


class _Failed(Exception):
    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def _last_words(error):
    """Of an exception: its text and the line of the candidate's where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _load(path, function):
    folder = os.path.dirname(path)
    sys.path.append(folder)  # the last: a file beside the candidate replaces no library
    try:
        spec = importlib.util.spec_from_file_location("candidate", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["candidate"] = module
        spec.loader.exec_module(module)
    except BaseException as error:  # also SystemExit: a candidate that ends itself has failed
        raise _Failed(b"l", f"{os.path.basename(path)} cannot be loaded: {_last_words(error)}") from None
    kernel = getattr(module, function, None)
    if not callable(kernel):
        raise _Failed(b"l", f"{os.path.basename(path)} has no function {function}")
    return kernel, getattr(module, "cases", None)


class Server:
    """Answers the referee until it closes the socket."""

    def __init__(self, link, region, path, clock):
        self.link, self.region, self.path, self.clock = link, region, path, clock
        self.kernel = None
        self.timer = None

    def load(self, function):
        self.kernel, cases = _load(self.path, function)
        try:
            self.timer = event_device.timer_for(self.clock, self.kernel)
        except event_device.NoTimer as error:
            raise _Failed(b"l", f"its clock is not here: {error}") from None
        for code, text in self.timer.notes():
            self.link.send(b"N" + f"{code} {text}".encode()[:4000])
        listed = list(cases.items()) if type(cases) is dict else []
        try:
            end = event_values.encode_into(self.region, 0, listed)
        except event_values.NoValue as error:
            raise _Failed(b"l", f"its cases: {error}") from None
        self.link.send(b"R" + READY.pack(end))

    def echo(self, length):
        outputs = event_values.decode(bytes(self.region[:length]))[0] if length else None
        self.kernel = lambda *_: outputs
        try:
            self.timer = self.timer or event_device.timer_for(self.clock, None)
        except event_device.NoTimer as error:
            raise _Failed(b"l", f"the clock is not here: {error}") from None
        self.link.send(b"R" + READY.pack(0))

    def call(self, size, calls, descriptor):
        memory = mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        os.close(descriptor)
        at, end, spent_ns, longer_ns = 0, 0, 0, 0
        groups = []
        for _ in range(calls):
            inputs, at = event_values.decode(memory, at)
            groups.append(inputs)
        for inputs in groups:
            try:
                timed = self.timer.call(self.kernel, inputs)
            except BaseException as error:
                raise _Failed(b"c", f"the call failed: {_last_words(error)}") from None
            try:
                end = event_values.encode_into(self.region, -(-end // 64) * 64, timed.outputs)
            except event_values.NoValue as error:
                raise _Failed(b"o", f"it returned {error}, which is not taken") from None
            spent_ns += timed.ns
            longer_ns += timed.longer_ns
        self.link.send(b"D" + DONE.pack(end, max(round(spent_ns), 0), max(round(longer_ns), 0)))

    def serve(self):
        while True:
            message, descriptors, _, _ = socket.recv_fds(self.link, MOST_MESSAGE_BYTES, 1)
            if not message:
                return
            try:
                if message[:1] == b"L":
                    self.load(message[1:].decode())
                elif message[:1] == b"O":
                    self.echo(*READY.unpack(message[1:]))
                elif message == b"A":
                    self.link.send(b"A")
                elif message[:1] == b"G":
                    self.call(*GO.unpack(message[1:]), descriptors[0])
            except _Failed as failure:
                self.link.send(b"E" + failure.kind + str(failure).encode("utf-8", "replace")[:4000])
                return


def main(told):
    """`told`: file, clock, isolate, hidden (paths), scratch (a folder), and the numbers of descriptors: link, region."""
    link = socket.socket(fileno=told["link"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if told["isolate"]:  # else the referee's own process for empty calls
        missing = event_isolation.enter(told["hidden"], lambda pid: link.send(b"P" + str(pid).encode()), link.close)
        link.send(b"I" + missing.encode("utf-8", "replace")[:4000])
        os.environ.update(dict.fromkeys(CACHE_VARIABLES, told["scratch"] if missing else event_isolation.SCRATCH))
    region = memoryview(mmap.mmap(told["region"], 0, mmap.MAP_SHARED))
    os.close(told["region"])
    Server(link, region, told["file"], told["clock"]).serve()
