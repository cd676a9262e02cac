"""Finds kprofd's socket, where kprofctl does."""

from __future__ import annotations

import errno
import os
import socket
import urllib.parse
from typing import Union

from kprof.errors import NoDaemon, NotPermitted

Path = Union[str, os.PathLike]

_SYSTEM_SOCKET = "/run/kprofd/kprofd.sock"


def candidates(named: Union[Path, None] = None) -> list[str]:
    """Paths, the best first: the one that is named, $KPROF_SOCKET, the user's own, the system's."""
    environment = {name: value for name, value in os.environ.items() if value}
    if named:
        return [os.fspath(named)]
    if "KPROF_SOCKET" in environment:
        return [environment["KPROF_SOCKET"]]
    paths = []
    if "XDG_RUNTIME_DIR" in environment:
        paths.append(environment["XDG_RUNTIME_DIR"] + "/kprof/kprofd.sock")
    if "XDG_STATE_HOME" in environment:
        paths.append(environment["XDG_STATE_HOME"] + "/kprof/kprofd.sock")
    elif "HOME" in environment:
        paths.append(environment["HOME"] + "/.local/state/kprof/kprofd.sock")
    return [*paths, _SYSTEM_SOCKET]


def _try(path: str) -> int:
    """0 when something listens there, else the errno."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(path)
        except OSError as error:
            return error.errno or errno.EIO
    return 0


def find_socket(named: Union[Path, None] = None) -> str:
    """The first path at which a daemon listens. Raises NoDaemon and NotPermitted."""
    paths = candidates(named)
    refused = None
    for path in paths:
        failure = _try(path)
        if failure == 0:
            return path
        if failure in (errno.EACCES, errno.EPERM):
            refused = refused or path
    if refused:
        raise NotPermitted("not_permitted", f"reach kprofd: {refused} is not for this user",
                           "ask an administrator for the group that it belongs to")
    raise NoDaemon("no_daemon", f"reach kprofd: no daemon at {', '.join(paths)}", "start one with 'kprofd --user'")


def target_of(path: str) -> str:
    """The socket as gRPC wants it."""
    return "unix:" + urllib.parse.quote(os.path.abspath(path))
