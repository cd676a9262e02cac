#!/usr/bin/python3
"""What hostile peers of kprofd's socket get, and what others notice of them: each attack runs for some seconds, at low
priority, as a user of its own, while another user asks for the status, the devices and a run, and submits a run and
cancels it, a hundred calls a second; p50 and p99 of each of that user's calls, quiet before, under attack, and quiet
after. Needs root: the daemon and the users are different uids.

    KPROF_BIN=build/release/bin tests/bench/hostile_peers.py [--seconds 4]
"""

import argparse
import collections
import contextlib
import multiprocessing
import os
import random
import resource
import socket
import struct
import subprocess
import time

import grpc

import bench_support
import kprof_testing
from bench_support import percentile, stubs
from kprof_testing import temporary_folder, wait_until

DAEMON_UID, VICTIM_UID, ATTACKER_UID, STRANGER_UID = 61000, 61001, 61002, 61003
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CONFIG = f"""
[access]
everyone = "none"
viewers = ["{VICTIM_UID}", "{ATTACKER_UID}"]
[limits]
connections_per_user = 1000
"""


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header field as HPACK without indexing and without Huffman."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_headers(method):
    fields = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", method), (b":authority", b"localhost"),
              (b"content-type", b"application/grpc"), (b"te", b"trailers"))
    return b"".join(literal(name, value) for name, value in fields)


def connect(path):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(5)
    peer.connect(path)
    return peer


def how_it_ended(peer, limit_s=3.0):
    """What a peer is told before its connection ends, in a word."""
    peer.settimeout(limit_s)
    got = b""
    try:
        while len(got) < 65536:
            more = peer.recv(65536)
            if not more:
                return "closed" if b"HTTP" not in got else "told, closed"
            got += more
    except TimeoutError:
        return "still open"
    except OSError as error:
        return error.strerror
    return "answered"


def how_the_call_ended(peer, limit_s):
    """Of the call on stream 1, from the frames that the server sends; nothing when it has not, and there is no time."""
    peer.settimeout(limit_s)
    got = b""
    try:
        while True:
            while len(got) >= 9:
                size, kind, flags, stream = int.from_bytes(got[:3]), got[3], got[4], int.from_bytes(got[5:9])
                if len(got) < 9 + size:
                    break
                if stream == 1 and (kind == 3 or kind == 1 and flags & 1):
                    return "the call is ended with a status" if kind == 1 else "the call is reset"
                got = got[9 + size:]
            more = peer.recv(4096)
            if not more:
                return "closed"
            got += more
    except BlockingIOError:
        return None
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return error.strerror
    finally:
        peer.settimeout(1)


def garbage(path, until):
    with connect(path) as peer:
        with contextlib.suppress(OSError):
            peer.sendall(random.randbytes(4096))
        return how_it_ended(peer)


def half_open(path, until):
    """As many connections as it gets, each with half a greeting, held to the end."""
    peers = []
    while time.monotonic() < until and len(peers) < 2000:
        try:
            peer = connect(path)
            peer.sendall(PREFACE[:10])
            peers.append(peer)
        except OSError:
            break
    while time.monotonic() < until:
        time.sleep(0.05)
    open_now = 0
    for peer in peers:
        peer.setblocking(False)
        try:
            open_now += peer.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            open_now += 1
        except OSError:
            pass
        peer.close()
    return f"{open_now} of {len(peers)} open at the end"


def huge_length(path, until):
    """Says how long its message is, and goes on with it until it is stopped."""
    with connect(path) as peer:
        peer.sendall(PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, call_headers(b"/kprof.v1.RunsService/SubmitRun")) +
                     frame(0, 0, 1, b"\x00\x7f\xff\xff\xff"))
        piece, sent = frame(0, 0, 1, bytes(16384)), 0
        peer.settimeout(1)
        with contextlib.suppress(OSError):
            while time.monotonic() < until:
                peer.sendall(piece)
                sent += len(piece)
                if ended := how_the_call_ended(peer, 0):
                    return f"{ended}"
        return f"{how_the_call_ended(peer, 1)}"


def over_limit(path, until):
    modules = stubs()
    with grpc.insecure_channel("unix:" + path) as channel:
        runs = modules.runs_pb2_grpc.RunsServiceStub(channel)
        request = modules.runs_pb2.SubmitRunRequest()
        request.spec.argv.append(bytes(16 << 20))
        codes = collections.Counter()
        while time.monotonic() < until:
            try:
                runs.SubmitRun(request, timeout=10)
                codes["accepted"] += 1
            except grpc.RpcError as error:
                codes[error.code().name] += 1
        return str(dict(codes))


def slow_readers(path, until):
    """Streams of many rows that nobody reads."""
    modules = stubs()
    with grpc.insecure_channel("unix:" + path, options=[("grpc.max_receive_message_length", -1)]) as channel:
        queries = modules.queries_pb2_grpc.QueriesServiceStub(channel)
        request = modules.queries_pb2.QueryRequest(
            sql="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, hex(zeroblob(500)) FROM n",
            timeout_ms=60000)
        streams = [queries.Query(request, timeout=60) for _ in range(64)]
        while time.monotonic() < until:
            time.sleep(0.05)
        for stream in streams:
            stream.cancel()
        return "64 streams, unread"


def many_connections(path, until):
    outcomes = collections.Counter()
    held = []
    for _ in range(10_000):
        try:
            held.append(connect(path))
            outcomes["connected"] += 1
        except OSError as error:
            outcomes[error.strerror] += 1
        if len(held) >= 5000:
            for peer in held:
                peer.close()
            held.clear()
    return str(dict(outcomes))


def without_a_role(path, until):
    modules = stubs()
    with grpc.insecure_channel("unix:" + path) as channel:
        node = modules.node_pb2_grpc.NodeServiceStub(channel)
        answers = collections.Counter()
        while time.monotonic() < until:
            try:
                node.GetStatus(modules.node_pb2.GetStatusRequest(), timeout=10)
                answers["accepted"] += 1
            except grpc.RpcError as error:
                answers[f"{error.code().name}: {error.details()}"] += 1
        return "; ".join(f"{text} ({count})" for text, count in answers.most_common(2))


# name, what one turn of it does, turns until the time is over, who does it
ATTACKS = (
    ("bytes that are not HTTP/2", garbage, True, ATTACKER_UID),
    ("half a greeting, held", half_open, False, ATTACKER_UID),
    ("a message of 2^31 - 1 bytes announced", huge_length, True, ATTACKER_UID),
    ("messages of 16 MiB", over_limit, False, ATTACKER_UID),
    ("64 streams that nobody reads", slow_readers, False, ATTACKER_UID),
    ("10,000 connections", many_connections, False, ATTACKER_UID),
    ("a user in no role, as fast as it can", without_a_role, False, STRANGER_UID),
)


def become(uid, niceness=0):
    os.nice(niceness)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def attack(what, repeats, uid, path, until, out):
    become(uid, 19)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    outcomes = collections.Counter()
    while True:
        try:
            outcomes[what(path, until)] += 1
        except OSError as error:
            outcomes[error.strerror] += 1
        if not repeats or time.monotonic() > until:
            break
    out.send(outcomes)


def victim(path, until, out):
    become(VICTIM_UID)
    modules = stubs()
    seconds, failed = {}, collections.Counter()

    def ask(name, method, request):
        began = time.perf_counter()
        try:
            return method(request, timeout=10)
        except grpc.RpcError as error:
            failed[f"{name}: {error.code().name}"] += 1
            return None
        finally:
            seconds.setdefault(name, []).append(time.perf_counter() - began)
            time.sleep(0.01)

    with grpc.insecure_channel("unix:" + path) as channel:
        node = modules.node_pb2_grpc.NodeServiceStub(channel)
        runs = modules.runs_pb2_grpc.RunsServiceStub(channel)
        node.GetStatus(modules.node_pb2.GetStatusRequest(), timeout=10)
        submission = modules.runs_pb2.SubmitRunRequest()
        submission.spec.tool, submission.spec.cwd, submission.spec.device = "command", b"/", "cpu"
        submission.spec.argv.append(b"/bin/true")
        submission.spec.attached = True
        while time.monotonic() < until:
            ask("status", node.GetStatus, modules.node_pb2.GetStatusRequest())
            ask("devices", node.ListDevices, modules.node_pb2.ListDevicesRequest())
            if answer := ask("submit", runs.SubmitRun, submission):
                ask("show", runs.GetRun, modules.runs_pb2.GetRunRequest(id=answer.run.id))
                ask("cancel", runs.CancelRun, modules.runs_pb2.CancelRunRequest(id=answer.run.id))
    out.send((seconds, failed))


def measure(path, seconds, attacker=None):
    """(what the victim saw, what the attacker got)."""
    until = time.monotonic() + seconds
    ours, theirs = multiprocessing.Pipe(False)
    attackers = []
    results, attacker_out = multiprocessing.Pipe(False)
    if attacker:
        _, what, repeats, uid = attacker
        attackers.append(multiprocessing.Process(target=attack, args=(what, repeats, uid, path, until, attacker_out)))
    watcher = multiprocessing.Process(target=victim, args=(path, until, theirs))
    for process in [*attackers, watcher]:
        process.start()
    seen = ours.recv()
    got = results.recv() if attackers and results.poll(60) else None
    for process in [*attackers, watcher]:
        process.join(30)
        if process.is_alive():
            process.kill()
    return seen, got


def describe(seen):
    seconds, failed = seen
    calls = ", ".join(f"{name} {percentile(of, 50) * 1e3:.2f}/{percentile(of, 99) * 1e3:.1f}" for name, of in seconds.items())
    every = [one for of in seconds.values() for one in of]
    return f"{calls} (ms, p50/p99); most {max(every) * 1e3:.1f} ms; {dict(failed) or 'none'} of {len(every)} failed"


@contextlib.contextmanager
def running_node(folder):
    """A kprofd in system mode, as a user of its own."""
    os.chmod(folder, 0o755)
    for name in ("state", "run"):
        os.mkdir(os.path.join(folder, name), 0o755)
        os.chown(os.path.join(folder, name), DAEMON_UID, DAEMON_UID)
    path = os.path.join(folder, "run", "kprofd.sock")
    config = os.path.join(folder, "kprofd.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'state_dir = "{folder}/state"\nsocket = "{path}"\n{CONFIG}')
    with open(os.path.join(folder, "log"), "wb") as log:
        daemon = subprocess.Popen([kprof_testing.KPROFD, "--config", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  user=DAEMON_UID, group=DAEMON_UID, extra_groups=[])
    try:
        wait_until(lambda: os.path.exists(path) or daemon.poll() is not None, "kprofd to listen")
        yield daemon, path
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("needs root: the daemon and its users are different uids")
    bench_support.print_machine()
    with temporary_folder("h-") as folder, running_node(folder) as (daemon, path):
        print(f"quiet: {describe(measure(path, arguments.seconds)[0])}")
        for attacker in ATTACKS:
            seen, got = measure(path, arguments.seconds, attacker)
            outcome = "; ".join(f"{text} ({count} times)" for text, count in (got or {"no report": 1}).items())
            print(f"{attacker[0]}: {outcome}\n    others: {describe(seen)}", flush=True)
        print(f"quiet: {describe(measure(path, arguments.seconds)[0])}")
        print(f"kprofd: alive {daemon.poll() is None}, {kprof_testing.status_number(daemon.pid, 'VmRSS') / 1024:.1f} MiB, "
              f"{len(os.listdir(f'/proc/{daemon.pid}/fd'))} descriptors, "
              f"{len(kprof_testing.read_file(os.path.join(folder, 'log')).splitlines())} lines of log")


if __name__ == "__main__":
    main()
