"""Failures as exceptions. All are KprofErrors, with the code, message and remedy that kprofctl shows.

A class stands for a family of codes that are handled alike; docs/python.md has the table. A code of a newer daemon has
the class of its gRPC code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import grpc

from kprof.v1 import error_pb2

if TYPE_CHECKING:
    from kprof.run import Run


class KprofError(Exception):
    """`code`: a stable name, such as `not_found`. `message`: what failed, and why. `remedy`: what to do; may be empty.
    `run`: the Run that failed, where it is one's failure."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message + (f"; {remedy}" if remedy else ""))
        self.code = code
        self.message = message
        self.remedy = remedy
        self.run: Optional[Run] = None


class InternalError(KprofError):
    """A mistake of kprof's own."""


class UsageError(KprofError):
    """The question is wrong: an option, SQL, a name that is none."""


class NoDaemon(KprofError):
    """No kprofd answers."""


class NotFound(KprofError):
    """There is no such run, artifact or session."""


class NotPermitted(KprofError):
    """The caller may not do that."""


class Busy(KprofError):
    """It waited for devices, places or others' questions, in vain."""


class TimedOut(KprofError):
    """A limit of time."""


class ToolError(KprofError):
    """The command, or the tool that measured it, failed."""


class CommandFailed(ToolError):
    """The command ended with a status other than 0, or by a signal."""


class SpawnFailed(ToolError):
    """The command could not be started."""


class CheckFailed(ToolError):
    """The command's results are wrong."""


class ToolMissing(ToolError):
    """The program that measures is not installed."""


class NoKernels(ToolError):
    """The command launched no kernel that was to be measured."""


class Cancelled(KprofError):
    """Somebody ended it."""


class BadInput(KprofError):
    """A file is not what it should be."""


class LostDaemon(KprofError):
    """kprofd died under it."""


class StorageError(KprofError):
    """A disk is full, or broken."""


_CLASSES = {
    "internal": InternalError, "usage": UsageError, "no_daemon": NoDaemon, "not_found": NotFound,
    "not_permitted": NotPermitted, "queue_timeout": Busy, "lease_lost": Busy, "queue_full": Busy,
    "command_failed": CommandFailed, "spawn_failed": SpawnFailed, "timed_out": TimedOut, "tool_failed": ToolError,
    "tool_missing": ToolMissing, "check_failed": CheckFailed, "no_kernels": NoKernels, "cancelled": Cancelled,
    "client_gone": Cancelled, "bad_input": BadInput, "lost_daemon": LostDaemon, "storage_full": StorageError,
    "storage_broken": StorageError,
}

# Codes for failures that say no code, or one that this package does not know.
_CODES_OF_GRPC = {
    grpc.StatusCode.INVALID_ARGUMENT: "usage", grpc.StatusCode.OUT_OF_RANGE: "usage",
    grpc.StatusCode.ALREADY_EXISTS: "usage", grpc.StatusCode.UNAVAILABLE: "no_daemon",
    grpc.StatusCode.NOT_FOUND: "not_found", grpc.StatusCode.PERMISSION_DENIED: "not_permitted",
    grpc.StatusCode.UNAUTHENTICATED: "not_permitted", grpc.StatusCode.RESOURCE_EXHAUSTED: "queue_full",
    grpc.StatusCode.ABORTED: "lease_lost", grpc.StatusCode.FAILED_PRECONDITION: "tool_failed",
    grpc.StatusCode.DEADLINE_EXCEEDED: "timed_out", grpc.StatusCode.CANCELLED: "cancelled",
    grpc.StatusCode.DATA_LOSS: "storage_broken",
}


def error_of(code: str, message: str, remedy: str = "") -> KprofError:
    """The exception for a code."""
    return _CLASSES.get(code, KprofError)(code, message, remedy)


def detail_of(error: Any) -> Any:
    """kprofd's own words for a failed call, an ErrorDetail; None: it says none."""
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        status = error_pb2.RpcStatus.FromString(value)
        for any_detail in status.details:
            detail = error_pb2.ErrorDetail()
            if any_detail.Unpack(detail):
                return detail
    return None


def error_of_rpc(error: Any, what: str) -> KprofError:
    """The exception for a failed call. `what`: the act, for failures that say none."""
    detail = detail_of(error)
    fallback = _CODES_OF_GRPC.get(error.code(), "internal")
    if detail is not None:
        known = _CLASSES.get(detail.code) or _CLASSES[fallback]
        return known(detail.code, f"{detail.what or what}: {detail.why or error.details()}", detail.remedy)
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return NoDaemon("no_daemon", f"{what}: the connection to kprofd was lost", "see whether it still runs, and its log")
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:  # kprofd says its own limits in a detail
        return NoDaemon("no_daemon", f"{what}: kprofd does not answer", "see whether it is stopped, and its log")
    if error.code() == grpc.StatusCode.UNIMPLEMENTED:
        return InternalError("internal", f"{what}: kprofd does not know this call", "take kprofd and kprof of one version")
    return _CLASSES[fallback](fallback, f"{what}: {error.details() or 'kprofd gave no reason'}")
