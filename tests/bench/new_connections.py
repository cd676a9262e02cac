#!/usr/bin/python3
"""What a new connection costs until it is served: from connect to the first bytes of HTTP/2 that the server sends, one
connection after the other, in turns: user mode, where nobody is asked where a connection comes from; system mode, where the
helper is; and, with --before DIR, system mode with the programs there, of another build. Needs root.

    KPROF_BIN=build/release/bin tests/bench/new_connections.py [--count 2000] [--before DIR]
"""

import argparse
import contextlib
import os
import shutil
import socket
import time

import bench_support
import kprof_testing
from kprof_node import ALICE, Node, PROGRAMS
from kprof_testing import running_daemon

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # and empty SETTINGS


def connect(path):
    """Seconds until the other side has said something."""
    began = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(PREFACE)
        if not connection.recv(1):
            raise AssertionError(f"{path} hung up")
        return time.perf_counter() - began


def as_alice(path, count):
    """The same in a process of somebody else's, as whom something may be started."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(ALICE, ALICE, ALICE)
        os.setresuid(ALICE, ALICE, ALICE)
        with open(write, "w", encoding="ascii") as out:
            print(*(connect(path) for _ in range(count)), file=out)
        os._exit(0)
    os.close(write)
    with open(read, encoding="ascii") as said:
        times = [float(word) for word in said.read().split()]
    os.waitpid(child, 0)
    if len(times) != count:
        raise AssertionError(f"{len(times)} of {count} connections at {path}")
    return times


@contextlib.contextmanager
def running_node(programs):
    with kprof_testing.temporary_folder() as folder:
        node = Node(folder)
        for name in PROGRAMS:
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(os.path.join(programs, name), node.bin)
        node.start_helper()
        node.start()
        try:
            yield node
        finally:
            node.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--before")
    arguments = parser.parse_args()
    bench_support.print_machine()
    with contextlib.ExitStack() as stack:
        user = stack.enter_context(running_daemon())
        node = stack.enter_context(running_node(kprof_testing.BIN))
        ways = {"user mode": lambda n: [connect(user.socket) for _ in range(n)],
                "system mode": lambda n: as_alice(node.socket, n)}
        if arguments.before:
            before = stack.enter_context(running_node(arguments.before))
            ways["system mode, before"] = lambda n: as_alice(before.socket, n)
        took = {name: [] for name in ways}
        turns = 20
        for turn in range(turns + 1):
            for name, ask in ways.items():
                times = ask(arguments.count // turns)
                if turn > 0:  # the first is for warming up
                    took[name] += times
        for name, times in took.items():
            print(bench_support.line(name, times))


if __name__ == "__main__":
    main()
