#!/usr/bin/python3
"""Includes point downward only. Names each line that does not, and each circle of files.

The order of the rooms, lowest first, is ROOMS below; docs/architecture.md explains it. --self-test also checks the
check, on made-up trees.
"""

import os
import re
import sys
import tempfile

DAEMON_ROOMS = (
    "base", "capture", "process", "helper", "devices", "clocks", "ingest", "analysis", "trace_functions", "exports", "runs", "cluster", "rpc", "web", "systemd",
)
# Only these speak gRPC: everything else works on plain values, and compiles five times as fast.
GRPC_ROOMS = ("proto", "daemon/rpc", "daemon/web", "client/cpp", "client/cli", "client/web", "client/python")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """The room that a file of ours belongs to; None for what is not ours."""
    parts = path.split("/")
    if parts[0] == "storage":
        return "storage/base" if parts[1:2] == ["base"] and len(parts) > 2 else "storage"
    if parts[0] == "daemon":
        return f"daemon/{parts[1]}" if len(parts) > 2 else "daemon"
    if parts[0] == "client":
        return f"client/{parts[1]}" if len(parts) > 2 else "client"
    if parts[0] == "kprof":  # generated from proto/kprof
        return "proto"
    if parts[0] in ("proto", "tests"):
        return parts[0]
    return None


def is_grpc(target):
    return target.endswith(".pb.h") or target.startswith(("grpcpp/", "grpc/", "google/protobuf/"))


def why_not(source, target):
    """Why `source` may not include `target`, or None when it may. Both are paths from the root."""
    here, there = room_of(source), room_of(target)
    if here == "tests":
        return None
    if is_grpc(target):
        if here in GRPC_ROOMS and here != "client/inject":
            return None
        return f"only {', '.join(GRPC_ROOMS)} and tests may see gRPC and protobuf"
    if there is None:
        return None
    if there == "tests":
        return "nothing but tests may include tests"
    if here == "proto":
        return None if there == "proto" else "proto includes nothing of ours"
    if here == "storage/base":
        return None if there == "storage/base" else "storage/base includes only itself"
    if here == "storage":
        return None if there in ("storage", "storage/base") else "storage knows nothing of daemon, client and proto"
    if here == "client/inject":
        if there == "client/inject" or target == "proto/inject_wire.h":
            return None
        return "client/inject includes only proto/inject_wire.h"
    if here.startswith("client"):
        if here == "client/cpp" and there in ("client/cli", "client"):
            return "client/cpp is below client/cli"
        if there in ("proto", "storage/base") or (there.startswith("client") and there != "client/inject"):
            return None
        return "client may include only client, proto and storage/base"
    # daemon
    if there.startswith("client"):
        return "daemon knows nothing of client"
    if there == "proto":
        if (here, target) in (("daemon/ingest", "proto/inject_wire.h"), ("daemon/rpc", "proto/side_socket.h")):
            return None
        return "of proto, daemon/ingest may include inject_wire.h; the rest is for those who see gRPC"
    if there.startswith("storage") or here == "daemon":
        return None
    if there == "daemon":
        return "the daemon's top level is above all its rooms"
    order = {f"daemon/{room}": number for number, room in enumerate(DAEMON_ROOMS)}
    if here not in order:
        return f"{here} is no room; the rooms are {' < '.join(DAEMON_ROOMS)}"
    if there not in order:
        return f"{there} is no room; the rooms are {' < '.join(DAEMON_ROOMS)}"
    if order[there] > order[here]:
        return f"{here.split('/')[1]} is below {there.split('/')[1]}"
    return None


def sources(root):
    for top in ("proto", "storage", "daemon", "client", "tests"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".cc", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes_of(root, source):
    """(line number, target) of each include; a quoted name that lies beside the source counts as that file."""
    with open(os.path.join(root, source), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2]


def find_circle(graph):
    """One circle of files, as a list that begins and ends with the same one; empty when there is none."""
    state, path = {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for target in graph.get(node, ()):
            if state.get(target) == "open":
                return path[path.index(target):] + [target]
            if target not in state:
                circle = visit(target)
                if circle:
                    return circle
        path.pop()
        state[node] = "closed"
        return []

    for node in sorted(graph):
        if node not in state:
            circle = visit(node)
            if circle:
                return circle
    return []


def check(root):
    """All complaints about the tree at `root`, as lines of text."""
    complaints, graph = [], {}
    for source in sources(root):
        if room_of(source) not in ("tests",) and source.startswith("daemon/"):
            room = source.split("/")[1]
            if source.count("/") > 1 and room not in DAEMON_ROOMS:
                complaints.append(f"{source}:1: daemon/{room} is no room; the rooms are {' < '.join(DAEMON_ROOMS)}")
                continue
        for number, kind, target in includes_of(root, source):
            beside = os.path.normpath(os.path.join(os.path.dirname(source), target))
            if kind == '"' and not os.path.exists(os.path.join(root, target)) and os.path.exists(os.path.join(root, beside)):
                complaints.append(f'{source}:{number}: write the path from the root: #include "{beside}"')
                target = beside
            reason = why_not(source, target)
            if reason:
                complaints.append(f"{source}:{number}: {source} includes {target}: {reason}")
            if kind == '"':
                graph.setdefault(source, []).append(target)
    circle = find_circle(graph)
    if circle:
        complaints.append(f"{circle[0]}:1: files include each other in a circle: {' -> '.join(circle)}")
    return complaints


# The check of the check: a tree of one-include files, and what must be said about it ("" for nothing).
CASES = (
    ({"daemon/runs/a.cc": "daemon/process/b.h"}, ""),
    ({"daemon/runs/a.cc": "storage/catalog/b.h"}, ""),
    ({"daemon/daemon.cc": "daemon/rpc/b.h"}, ""),
    ({"daemon/process/launch/main.cc": "daemon/process/b.h"}, ""),
    ({"daemon/rpc/a.cc": "kprof/v1/runs.grpc.pb.h"}, ""),
    ({"daemon/ingest/a.cc": "proto/inject_wire.h"}, ""),
    ({"client/inject/a.cc": "proto/inject_wire.h"}, ""),
    ({"client/cli/a.cc": "client/cpp/b.h"}, ""),
    ({"client/cpp/a.cc": "storage/base/status.h"}, ""),
    ({"tests/unit/runs/a_test.cc": "daemon/web/b.h"}, ""),
    ({"storage/catalog/a.cc": "storage/base/status.h"}, ""),
    ({"daemon/process/x.cc": "daemon/rpc/y.h"}, "daemon/process/x.cc:1: daemon/process/x.cc includes daemon/rpc/y.h: process is below rpc"),
    ({"daemon/rpc/a.cc": "daemon/web/b.h"}, "rpc is below web"),
    ({"daemon/runs/a.cc": "daemon/daemon.h"}, "above all its rooms"),
    ({"daemon/runs/a.cc": "kprof/v1/run.pb.h"}, "may see gRPC"),
    ({"daemon/runs/a.cc": "<grpcpp/grpcpp.h>"}, "may see gRPC"),
    ({"daemon/util/a.cc": "storage/db.h"}, "daemon/util is no room"),
    ({"daemon/runs/a.cc": "client/cpp/b.h"}, "daemon knows nothing of client"),
    ({"daemon/runs/a.cc": "tests/fakes/b.h"}, "nothing but tests"),
    ({"storage/a.cc": "daemon/base/clock.h"}, "storage knows nothing"),
    ({"storage/base/a.cc": "storage/db.h"}, "only itself"),
    ({"storage/a.cc": "kprof/v1/run.pb.h"}, "may see gRPC"),
    ({"client/cpp/a.cc": "client/cli/b.h"}, "below client/cli"),
    ({"client/cli/a.cc": "storage/db.h"}, "client may include only"),
    ({"client/cli/a.cc": "daemon/base/clock.h"}, "client may include only"),
    ({"client/inject/a.cc": "storage/base/status.h"}, "only proto/inject_wire.h"),
    ({"client/inject/a.cc": "<grpcpp/grpcpp.h>"}, "may see gRPC"),
    ({"proto/inject_wire.h": "storage/base/status.h"}, "proto includes nothing"),
    ({"storage/a.h": "storage/b.h", "storage/b.h": "storage/c.h", "storage/c.h": "storage/a.h"},
     "storage/a.h -> storage/b.h -> storage/c.h -> storage/a.h"),
    ({"storage/a.cc": "b.h", "storage/b.h": "<string>"}, 'write the path from the root: #include "storage/b.h"'),
)


def self_test():
    bad = []
    for files, expected in CASES:
        with tempfile.TemporaryDirectory() as root:
            for path, target in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(f"#include {target}\n" if target.startswith("<") else f'#include "{target}"\n')
            complaints = check(root)
            if bool(complaints) != bool(expected) or expected not in "\n".join(complaints):
                bad.append(f"self-test: {files} gave {complaints}, expected {expected!r}")
    return bad


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    complaints = self_test() if "--self-test" in sys.argv[1:] else []
    complaints += check(root)
    for complaint in complaints:
        print(complaint)
    if not complaints:
        print(f"{sum(1 for _ in sources(root))} files, all includes point downward")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
