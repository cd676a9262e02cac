#!/usr/bin/python3
"""Includes point downward only. Names each line that does not, and each circle of files.

The order of the rooms, lowest first, is ROOMS below; docs/architecture.md explains it. --self-test also checks the
check, on made-up trees.
"""

import os
import re
import sys
import tempfile

# Lowest first. "daemon" is the daemon's top level, which sees all that is before it.
ROOMS = (
    "storage/base", "storage/crypto", "storage/db", "storage/catalog", "storage/sandbox", "storage/trace", "storage/trace_sql",
    "daemon/launch", "daemon/capture", "daemon/base", "daemon/process", "daemon/helper", "daemon/devices", "daemon/clocks", "daemon/ingest",
    "daemon/analysis", "daemon/exports", "daemon/access", "daemon/runs", "daemon/net", "daemon/cluster", "daemon/rpc", "daemon/web",
    "daemon/systemd", "daemon/config", "daemon", "daemon/programs",
)
CLIENT_ROOMS = ("client/cpp", "client/cli", "client/python", "client/web", "client/inject", "client/event")
# Only these speak gRPC: everything else works on plain values, and compiles five times as fast.
GRPC_ROOMS = ("proto", "daemon/rpc", "client/cpp", "client/cli", "client/web", "client/python")
# Folders that see less than their room may: the files that small or foreign programs are made of.
SEES_ONLY = {
    "daemon/launch": ("storage/base", "storage/crypto"),
    "daemon/launch/given": ("storage/base",),
    "daemon/capture": ("storage/base", "storage/crypto", "daemon/launch"),
    "daemon/process/supervisor": ("storage/base", "storage/crypto", "daemon/launch", "daemon/capture"),
    "daemon/helper": ("storage/base", "storage/crypto", "daemon/launch", "daemon/capture", "daemon/base", "daemon/process"),
    # The extension for plain sqlite3 is made of these.
    "storage/trace/format": ("storage/base", "storage/db"),
    "storage/trace/read": ("storage/base", "storage/db", "storage/trace/format"),
    "storage/trace_sql/scan": ("storage/base", "storage/db", "storage/trace", "storage/trace_sql"),
}
# What is left out of the extension.
NOT_IN_EXTENSION = ("storage/trace/write/", "storage/trace/levels/", "storage/trace_sql/attach/", "storage/catalog/", "storage/sandbox/",
                    "daemon/analysis/sql/attach/")
# But for these of their headers, which are complete without a .cc as far as the extension uses them; its link holds that.
ALSO_IN_EXTENSION = ("storage/catalog/device_records.h", "storage/catalog/known_runs.h", "storage/catalog/run_row.h", "storage/trace/levels/counter_levels.h", "storage/trace/levels/detail_levels.h")
EXTENSION = ("storage/trace/format/", "storage/trace/read/", "storage/trace_sql/", "daemon/devices/peaks/", "daemon/launch/given/",
             "daemon/analysis/")
# Headers of proto/ that are no message of gRPC's, and who may see them.
WIRE = {"proto/inject_wire.h": ("daemon/ingest", "client/inject"), "proto/side_socket.h": ("daemon/net", "client/cpp", "client/cli")}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """The room that a file of ours belongs to; None for what is not ours."""
    parts = path.split("/")
    if parts[0] == "kprof":  # generated from proto/kprof
        return "proto"
    if parts[0] in ("proto", "tests"):
        return parts[0]
    if parts[0] in ("storage", "daemon", "client"):
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    return None


def is_grpc(target):
    return target.endswith(".pb.h") or target.startswith(("grpcpp/", "grpc/", "google/protobuf/"))


def of_extension(path):
    """The extension for plain sqlite3 is built from this file."""
    if path.startswith(NOT_IN_EXTENSION):
        return False
    return path.startswith(EXTENSION)


def why_not(source, target):
    """Why `source` may not include `target`, or None when it may. Both are paths from the root."""
    here, there = room_of(source), room_of(target)
    if here == "tests":
        return None
    if is_grpc(target):
        return None if here in GRPC_ROOMS else f"only {', '.join(GRPC_ROOMS)} and tests may see gRPC and protobuf"
    if there is None:
        return None
    if there == "tests":
        return "nothing but tests may include tests"
    if here == there:
        return floor_why_not(source, target)
    if here == "proto":
        return "proto includes nothing of ours"
    if target in WIRE:
        return None if here in WIRE[target] else f"only {', '.join(WIRE[target])} may see {target}"
    if there == "proto":
        return None if here in GRPC_ROOMS else "proto is for those who see gRPC"
    if here == "client/inject":
        return "client/inject includes only proto/inject_wire.h"
    if here in CLIENT_ROOMS:
        if here == "client/cli" and there == "client/cpp":
            return None
        if there in ("storage/base", "storage/crypto", "daemon/launch"):
            return None
        if there in CLIENT_ROOMS:
            return f"{here} is below {there}" if here == "client/cpp" else f"{here} and {there} do not know each other"
        return "client may include only client, proto, storage/base, storage/crypto and daemon/launch"
    if there.startswith("client"):
        return f"{here.split('/')[0]} knows nothing of client"
    for room in (here, there):
        if room not in ROOMS:
            return f"{room} is no room; the rooms are {' < '.join(ROOMS)}"
    if here.startswith("storage") and there.startswith("daemon"):
        return "storage knows nothing of daemon, client and proto"
    if there == "daemon":
        return "the daemon's top level is above all its rooms"
    if ROOMS.index(there) > ROOMS.index(here):
        return f"{here} is below {there}"
    return floor_why_not(source, target)


def floor_why_not(source, target):
    """Why a folder that sees less than its room may not see `target`."""
    for folder, seen in SEES_ONLY.items():
        if source.startswith(folder + "/") and not target.startswith(tuple(place + "/" for place in seen + (folder,))):
            return f"{folder} includes only {', '.join(seen)}" if seen else f"{folder} includes only itself"
    if of_extension(source) and target.startswith(NOT_IN_EXTENSION) and target not in ALSO_IN_EXTENSION:
        return "the extension for plain sqlite3 has the one, and not the other"
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
        room = room_of(source)
        if room not in ROOMS + CLIENT_ROOMS + ("proto", "tests"):
            complaints.append(f"{source}:1: {room} is no room; the rooms are {' < '.join(ROOMS + CLIENT_ROOMS)}")
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
    ({"daemon/runs/queue/a.cc": "storage/catalog/b.h"}, ""),
    ({"daemon/daemon.cc": "daemon/rpc/b.h"}, ""),
    ({"daemon/process/supervisor/a.cc": "daemon/launch/b.h"}, ""),
    ({"daemon/rpc/services/a.cc": "kprof/v1/runs.grpc.pb.h"}, ""),
    ({"daemon/ingest/a.cc": "proto/inject_wire.h"}, ""),
    ({"daemon/net/a.cc": "proto/side_socket.h"}, ""),
    ({"client/inject/a.cc": "proto/inject_wire.h"}, ""),
    ({"client/cli/verbs/a.cc": "client/cpp/b.h"}, ""),
    ({"client/cpp/a.cc": "storage/base/status.h"}, ""),
    ({"client/cli/a.cc": "daemon/launch/b.h"}, ""),
    ({"tests/unit/runs/a_test.cc": "daemon/web/b.h"}, ""),
    ({"storage/catalog/a.cc": "storage/base/status.h"}, ""),
    ({"storage/trace/write/a.cc": "storage/trace/levels/b.h"}, ""),
    ({"daemon/programs/a_main.cc": "daemon/ingest/channel/b.h"}, ""),
    ({"daemon/process/x.cc": "daemon/rpc/y.h"},
     "daemon/process/x.cc:1: daemon/process/x.cc includes daemon/rpc/y.h: daemon/process is below daemon/rpc"),
    ({"daemon/rpc/a.cc": "daemon/web/b.h"}, "daemon/rpc is below daemon/web"),
    ({"daemon/runs/a.cc": "daemon/daemon.h"}, "above all its rooms"),
    ({"daemon/runs/a.cc": "kprof/v1/run.pb.h"}, "may see gRPC"),
    ({"daemon/runs/a.cc": "<grpcpp/grpcpp.h>"}, "may see gRPC"),
    ({"daemon/net/a.cc": "<grpcpp/grpcpp.h>"}, "may see gRPC"),
    ({"daemon/runs/a.cc": "proto/side_socket.h"}, "may see proto/side_socket.h"),
    ({"daemon/util/a.cc": "storage/db/b.h"}, "daemon/util is no room"),
    ({"storage/db.cc": "storage/base/b.h"}, "storage is no room"),
    ({"daemon/runs/a.cc": "client/cpp/b.h"}, "daemon knows nothing of client"),
    ({"daemon/runs/a.cc": "tests/fakes/b.h"}, "nothing but tests"),
    ({"storage/catalog/a.cc": "daemon/base/io_loop.h"}, "storage knows nothing"),
    ({"storage/base/a.cc": "storage/db/db.h"}, "storage/base is below storage/db"),
    ({"storage/db/a.cc": "kprof/v1/run.pb.h"}, "may see gRPC"),
    ({"client/cpp/a.cc": "client/cli/b.h"}, "client/cpp is below client/cli"),
    ({"client/cli/a.cc": "storage/db/db.h"}, "client may include only"),
    ({"client/cli/a.cc": "daemon/base/io_loop.h"}, "client may include only"),
    ({"client/inject/a.cc": "storage/base/status.h"}, "only proto/inject_wire.h"),
    ({"client/inject/a.cc": "<grpcpp/grpcpp.h>"}, "may see gRPC"),
    ({"proto/inject_wire.h": "storage/base/status.h"}, "proto includes nothing"),
    ({"daemon/process/supervisor/a.cc": "daemon/base/io_loop.h"}, "daemon/process/supervisor includes only"),
    ({"daemon/process/supervisor/a.cc": "daemon/process/worker/b.h"}, "daemon/process/supervisor includes only"),
    ({"daemon/launch/a.h": "storage/db/db.h"}, "daemon/launch includes only"),
    ({"daemon/helper/a.cc": "storage/catalog/b.h"}, "daemon/helper includes only"),
    ({"storage/trace/read/a.cc": "storage/trace/write/b.h"}, "storage/trace/read includes only"),
    ({"storage/trace_sql/parts/a.cc": "storage/sandbox/b.h"}, "the extension for plain sqlite3"),
    ({"daemon/analysis/kinds/a.cc": "storage/trace/write/b.h"}, "the extension for plain sqlite3"),
    ({"daemon/analysis/sql/attach/a.cc": "storage/trace_sql/attach/b.h"}, ""),
    ({"daemon/analysis/kinds/a.h": "storage/catalog/run_row.h"}, ""),
    ({"storage/db/a.h": "storage/db/b.h", "storage/db/b.h": "storage/db/c.h", "storage/db/c.h": "storage/db/a.h"},
     "storage/db/a.h -> storage/db/b.h -> storage/db/c.h -> storage/db/a.h"),
    ({"storage/db/a.cc": "b.h", "storage/db/b.h": "<string>"}, 'write the path from the root: #include "storage/db/b.h"'),
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
