"""The modules of proto/kprof/v1 for Python's grpcio, made by protoc here and now. Needs Debian's python3-grpcio,
python3-protobuf and protobuf-compiler-grpc.
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import types

from kprof_testing import ROOT

PROTO = os.path.join(ROOT, "proto")
NAMES = [name[:-6] for name in sorted(os.listdir(os.path.join(PROTO, "kprof", "v1"))) if name.endswith(".proto")]


def make_stubs(folder):
    """Into `folder`, from which they can be imported for as long as it is there."""
    subprocess.run(
        ["protoc", "-I", PROTO, f"--python_out={folder}", f"--grpc_out={folder}",
         f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}", *[f"{PROTO}/kprof/v1/{name}.proto" for name in NAMES]],
        check=True)
    sys.path.insert(0, folder)


def stubs():
    """A namespace with all modules: `run_pb2`, `runs_pb2_grpc`..."""
    with tempfile.TemporaryDirectory(prefix="stubs-") as folder:
        make_stubs(folder)
        modules = {f"{name}{part}": importlib.import_module(f"kprof.v1.{name}{part}")
                   for name in NAMES for part in ("_pb2", "_pb2_grpc")}
    return types.SimpleNamespace(**modules)
