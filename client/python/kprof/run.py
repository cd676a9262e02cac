"""A run: what it is, what can be asked of it. Its values are those of the moment at which it was read; `refresh()` reads
it anew."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from typing import TYPE_CHECKING, Any, Optional, Union

from kprof.errors import BadInput, InternalError, KprofError, UsageError, error_of
from kprof.v1 import run_pb2, runs_pb2

if TYPE_CHECKING:
    from kprof.analysis import Answer
    from kprof.client import Client
    from kprof.table import QueryResult

_ENDED = (run_pb2.RUN_STATE_DONE, run_pb2.RUN_STATE_FAILED, run_pb2.RUN_STATE_CANCELLED)


@dataclasses.dataclass(frozen=True)
class TrustReason:
    """Why a result may not be believed: a stable code, and a message for people."""

    code: str
    message: str


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A file that a run left. `path`: where its command left it, from the command's folder on; empty: it did not, or elsewhere."""

    name: str
    size_bytes: int
    sha256: str
    path: str


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How the run's command compares with the one it ran against. `ratio`: its time by the other's, below 1 it is faster; `ci_low` to
    `ci_high` is the 95 % interval; None: there are no times. `reasons`: codes of why it is no clearer."""

    verdict: str
    ratio: Optional[float]
    ci_low: Optional[float]
    ci_high: Optional[float]
    reasons: list[str]


class Roofline:
    """A kernel's row of the analysis `roofline`: its columns as attributes, `bottleneck`, `compute_sol_percent`, `warnings`..."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["row"][name]
        except KeyError:
            raise AttributeError(f"the analysis roofline has no column {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.row]

    def __repr__(self) -> str:
        return f"<Roofline of {self.row.get('name')}: {self.row.get('bottleneck')}>"


def state_name(state: int) -> str:
    """RUN_STATE_DONE is "done"."""
    return run_pb2.RunState.Name(state).removeprefix("RUN_STATE_").lower()


def _optional(message: Any, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None


def trust_of(messages: Any) -> list[TrustReason]:
    return [TrustReason(reason.code, reason.message) for reason in messages]


class Run:
    """A run of the daemon's. Made by captures, imports, Client.runs() and Client.run().

    `id`, `state` ("done"), `tool`, `uid`, `labels`, `devices`, `command` (a list; bytes that are no text are kept as
    surrogates), `queued_ns`, `started_ns`, `ended_ns` (Unix ns; None: not yet), `exit_code`, `signal`, `trust`, `metrics`
    (those of the run as a whole, by name), `error` (a KprofError, or None), `trace` (counts by name, or None: it has none),
    `session_id` and `round` (None: of no session), `verdict` and `comparison` (None: it compared nothing).
    """

    def __init__(self, client: Client, message: Any, existing: bool = False) -> None:
        self._client = client
        self.existing = existing  # an import that had been there
        self._read(message)

    def _read(self, message: Any) -> None:
        self.id: str = message.id
        self.state = state_name(message.state)
        self.has_ended = message.state in _ENDED
        self.tool: str = message.tool
        self.uid: int = message.uid
        self.labels: dict[str, str] = dict(message.labels)
        self.devices: list[str] = list(message.devices)
        self.command = [os.fsdecode(word) for word in message.argv]
        self.queued_ns: int = message.queued_unix_ns
        self.started_ns: Optional[int] = _optional(message, "started_unix_ns")
        self.ended_ns: Optional[int] = _optional(message, "ended_unix_ns")
        self.exit_code: Optional[int] = _optional(message, "exit_code")
        self.signal: Optional[int] = _optional(message, "signal")
        self.session_id: Optional[str] = message.session_id or None
        self.round: Optional[int] = _optional(message, "round")
        self.error: Optional[KprofError] = None
        if message.HasField("error"):
            self.error = error_of(message.error.code, message.error.message, message.error.remedy)
            self.error.run = self
        self.trust = trust_of(message.trust)
        self.metrics: dict[str, float] = {metric.name: metric.value for metric in message.metrics if not metric.kernel}
        self.trace: Optional[dict[str, int]] = None
        if message.HasField("trace"):
            self.trace = {field.name: getattr(message.trace, field.name) for field in message.trace.DESCRIPTOR.fields}
        self.comparison: Optional[Comparison] = None
        if message.HasField("verdict"):
            said = message.verdict
            self.comparison = Comparison(said.name, _optional(said, "ratio"), _optional(said, "ci_low"),
                                         _optional(said, "ci_high"), list(said.reasons))
        self._artifacts: Optional[list[Artifact]] = None
        if len(message.artifacts) == message.artifact_count:
            self._artifacts = list(map(_artifact_of, message.artifacts))

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.tool}, {self.state}{', ' + self.verdict if self.verdict else ''}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def verdict(self) -> Optional[str]:
        """"FASTER": the command beats the one it ran against; "SLOWER", "SAME", "INCONCLUSIVE". None: it compared nothing."""
        return self.comparison.verdict if self.comparison else None

    def refresh(self) -> Run:
        """Reads it anew; returns itself."""
        self._read(self._client._call("runs", "GetRun", runs_pb2.GetRunRequest(id=self.id), f"look up run {self.id}").run)
        return self

    def wait(self, timeout_s: Optional[float] = None, raise_errors: bool = True) -> Run:
        """Until it has ended; returns itself. Raises its error where it failed or was cancelled, and TimedOut."""
        self._client._wait(self.id, timeout_s)
        self.refresh()
        if raise_errors and self.error:
            raise self.error
        return self

    def analyze(self, kind: str, **options: Any) -> Answer:
        """Asks an analysis of its trace: run.analyze("kernel-breakdown", rank=0, limit=20). See Client.analyze."""
        return self._client.analyze(kind, [self], **options)

    @property
    def roofline(self) -> Optional[Roofline]:
        """How near its first kernel comes to what the device can do, and what bounds it. None: nothing measured its kernels."""
        if self.trace is None:
            return None
        rows = self.analyze("roofline", limit=1).tables["kernels"].rows()
        return Roofline(rows[0]) if rows else None

    def samples(self, **options: Any) -> Answer:
        """How long a run of the tool `event` took, and how noisy it was: the analysis `samples`."""
        return self.analyze("samples", **options)

    def compare(self, baseline: Union[Run, str], **options: Any) -> Answer:
        """What changed since the baseline. See Client.compare."""
        return self._client.compare(self, baseline, **options)

    def report(self, format: str = "md", baseline: Union[Run, str, None] = None) -> Any:
        """What bounds it, and what to try. See Client.report."""
        return self._client.report(self, format, baseline)

    def save_report(self, folder: Union[str, os.PathLike], baseline: Union[Run, str, None] = None) -> list[str]:
        """All files of its report. See Client.save_report."""
        return self._client.save_report(self, folder, baseline)

    def query(self, sql: str, **limits: Any) -> QueryResult:
        """SQL over its trace's tables and the catalog. See Client.query."""
        return self._client.query(sql, runs=[self], **limits)

    def logs(self, stream: str = "stdout") -> str:
        """What its command printed to "stdout" or "stderr": head and tail, where it was much."""
        streams = {"stdout": runs_pb2.OUTPUT_STREAM_STDOUT, "stderr": runs_pb2.OUTPUT_STREAM_STDERR}
        if stream not in streams:
            raise UsageError("usage", f"read logs: '{stream}' is no stream", "there are stdout, stderr")

        def text_of(pieces: Any) -> str:
            text = b""
            for piece in pieces:
                if piece.dropped_bytes:
                    text += b"\n[%d bytes are not kept]\n" % piece.dropped_bytes
                text += piece.data
            return text.decode(errors="backslashreplace")

        request = runs_pb2.ReadLogRequest(id=self.id, stream=streams[stream])
        return self._client._ask("runs", "ReadLog", request, f"read the logs of run {self.id}", text_of)

    @property
    def artifacts(self) -> list[Artifact]:
        """The files that it left, by name."""
        if self._artifacts is None:
            self._artifacts = self._list_artifacts()
        return self._artifacts

    def _list_artifacts(self) -> list[Artifact]:
        request = runs_pb2.ListArtifactsRequest(id=self.id)
        found: list[Artifact] = []
        while True:
            page = self._client._call("runs", "ListArtifacts", request, f"list the artifacts of run {self.id}")
            found += map(_artifact_of, page.artifacts)
            request.page_token = page.next_page_token
            if not page.next_page_token:
                return found

    def artifact(self, name: str) -> bytes:
        """The bytes of an artifact. Raises NotFound, and BadInput where it was damaged on disk."""
        what = f"read artifact {name} of run {self.id}"

        def bytes_of(messages: Any) -> bytes:
            data, said = bytearray(), None
            for message in messages:
                part = message.WhichOneof("part")
                if part == "artifact":
                    said = message.artifact.sha256
                elif part == "data":
                    data += message.data
            found = bytes(data)
            if said is None:
                raise InternalError("internal", f"{what}: kprofd ended it before its end")
            if hashlib.sha256(found).hexdigest() != said:
                raise BadInput("bad_input", f"{what}: it is not what it was when it was kept", "capture it again")
            return found

        return self._client._ask("runs", "DownloadArtifact", runs_pb2.DownloadArtifactRequest(id=self.id, name=name), what, bytes_of)

    def cancel(self) -> None:
        """Ends it."""
        self._client._call("runs", "CancelRun", runs_pb2.CancelRunRequest(id=self.id), f"cancel run {self.id}", repeats=False)

    def delete(self) -> None:
        """Removes it with all its files. It must have ended."""
        self._client._call("runs", "DeleteRun", runs_pb2.DeleteRunRequest(id=self.id), f"delete run {self.id}", repeats=False)


def _artifact_of(message: Any) -> Artifact:
    return Artifact(message.name, message.size_bytes, message.sha256, message.path)
