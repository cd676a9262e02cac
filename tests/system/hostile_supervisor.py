#!/usr/bin/python3
"""Lies beside a kprofctl as its kprof-launch: a caller who starts what it likes in place of the supervisor. It tries what it
can do with the descriptors that kprofd gives it, floods, lies about what happened, and goes on when the run has ended. What
it got done it writes, a line each, to the file that HOSTILE_TABLE names."""

import mmap
import os
import socket
import stat
import struct
import sys

HELLO, GO, PREPARED, STARTED, ENDED, OUTPUT = 8, 2, 16, 17, 19, 21
MAGIC, VERSION = 0x4C52504B, 7
FLOOD_BYTES = 64 << 20
NEVER = (1 << 63) - 1


def attempt(table, what, act):
    try:
        act()
        table.write(f"{what}\tDONE\n")
    except (OSError, ValueError) as why:
        table.write(f"{what}\trefused: {why}\n")
    table.flush()


def frame(kind, payload=b""):
    return struct.pack("<IB", len(payload) + 1, kind) + payload


def lies():
    """Ended: it exited with 0, and nothing else of it is true."""
    counts = struct.pack("<BiBiBB", 1, 0, 0, 0, 0, 0) + struct.pack("<16q", *[NEVER] * 16)
    metrics = struct.pack("<iIq", 28, 0, NEVER)
    step = struct.pack("<IBiBi", 0, 0, 0, 0, 0)
    note = b"No Code Of Ours: believe me"
    tool = struct.pack("<qIII", NEVER, 0, 0, 0) + struct.pack("<II", 1, len(note)) + note
    return counts + metrics + step + tool


def read_until_go(channel):
    received = b""
    while True:
        while len(received) >= 4:
            size = struct.unpack_from("<I", received)[0]
            if len(received) < 4 + size:
                break
            if received[4] == GO:
                return
            received = received[4 + size:]
        received += channel.recv(1 << 16) or sys.exit("kprofd is gone")


def main():
    channel = socket.socket(fileno=3)
    _, outputs, _, _ = socket.recv_fds(channel, 1, 8)
    with open(os.environ["HOSTILE_TABLE"], "w", encoding="utf-8") as table:
        for number, fd in enumerate(outputs):
            table.write(f"descriptor {number}\t{stat.S_IFMT(os.fstat(fd).st_mode):o}\n")
            attempt(table, f"grow {number}", lambda fd=fd: os.ftruncate(fd, 1 << 43))
            attempt(table, f"write into {number} at a place", lambda fd=fd: os.pwrite(fd, b"x", 1 << 40))
            attempt(table, f"read {number}", lambda fd=fd: os.pread(fd, 1, 0))
            attempt(table, f"map {number}", lambda fd=fd: mmap.mmap(fd, 4096))
            attempt(table, f"open {number} again", lambda fd=fd: os.close(os.open(f"/proc/self/fd/{fd}", os.O_RDWR)))
            attempt(table, f"lead from {number} to the state folder", lambda fd=fd: os.stat("..", dir_fd=fd))
        channel.sendall(frame(HELLO, struct.pack("<II", MAGIC, VERSION)) + frame(PREPARED))
        read_until_go(channel)
        channel.sendall(frame(STARTED, struct.pack("<iqq", 1, NEVER, NEVER)))
        with socket.socket(fileno=os.dup(outputs[0])) as out:
            block = b"flood..\n" * (1 << 13)
            for _ in range(FLOOD_BYTES // len(block)):
                out.sendall(block)
            for bad in (os.pipe()[0], os.open("/dev/zero", os.O_RDONLY), os.memfd_create("of mine"), os.open("/", os.O_RDONLY)):
                socket.send_fds(channel, [frame(OUTPUT, struct.pack("<I3si", 3, b"bad", 7))], [bad])
            channel.sendall(frame(ENDED, lies()))
            channel.recv(1)  # kprofd has heard it, and closes the channel

            def go_on():
                for _ in range(10_000):
                    out.sendall(b"written after the end\n" * 1000)
            attempt(table, "write after the end", go_on)
        table.write("over\n")


if __name__ == "__main__":
    main()
