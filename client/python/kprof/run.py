"""A run: what it is, what can be asked of it. Its values are those of the moment at which it was read; `refresh()` reads
it anew."""

import dataclasses
import os

from kprof.errors import error_of
from kprof.v1 import run_pb2, runs_pb2

_ENDED = (run_pb2.RUN_STATE_DONE, run_pb2.RUN_STATE_FAILED, run_pb2.RUN_STATE_CANCELLED)


@dataclasses.dataclass(frozen=True)
class TrustReason:
    """Why a result may not be believed: a stable code, and a message for people."""

    code: str
    message: str


def trust_of(messages):
    return [TrustReason(reason.code, reason.message) for reason in messages]


class Run:
    """A run of the daemon's. Made by Client.runs(), run() and import_().

    `id`, `state` ("done"), `tool`, `uid`, `labels`, `devices`, `command` (a list; bytes that are no text are kept as
    surrogates), `queued_ns`, `started_ns`, `ended_ns` (Unix ns; None: not yet), `exit_code`, `signal`, `trust`, `metrics`
    (those of the run as a whole, by name), `error` (a KprofError, or None), `trace` (counts by name, or None: it has none).
    """

    def __init__(self, client, message, existing=False):
        self._client = client
        self.existing = existing  # an import that had been there
        self._read(message)

    def _read(self, message):
        self.id = message.id
        self.state = run_pb2.RunState.Name(message.state).removeprefix("RUN_STATE_").lower()
        self.has_ended = message.state in _ENDED
        self.tool = message.tool
        self.uid = message.uid
        self.labels = dict(message.labels)
        self.devices = list(message.devices)
        self.command = [os.fsdecode(word) for word in message.argv]
        self.queued_ns = message.queued_unix_ns
        self.started_ns = message.started_unix_ns if message.HasField("started_unix_ns") else None
        self.ended_ns = message.ended_unix_ns if message.HasField("ended_unix_ns") else None
        self.exit_code = message.exit_code if message.HasField("exit_code") else None
        self.signal = message.signal if message.HasField("signal") else None
        self.error = None
        if message.HasField("error"):
            self.error = error_of(message.error.code, message.error.message, message.error.remedy)
        self.trust = trust_of(message.trust)
        self.metrics = {metric.name: metric.value for metric in message.metrics if not metric.kernel}
        self.trace = None
        if message.HasField("trace"):
            self.trace = {field.name: getattr(message.trace, field.name) for field in message.trace.DESCRIPTOR.fields}

    def __repr__(self):
        return f"<Run {self.id}: {self.tool}, {self.state}>"

    def __eq__(self, other):
        return isinstance(other, Run) and other.id == self.id

    def __hash__(self):
        return hash(self.id)

    def refresh(self):
        """Reads it anew; returns itself."""
        self._read(self._client._call("runs", "GetRun", runs_pb2.GetRunRequest(id=self.id), f"look up run {self.id}").run)
        return self

    def wait(self, timeout_s=None):
        """Until it has ended; returns itself. Raises its error where it failed or was cancelled, and TimedOut."""
        self._client._wait(self.id, timeout_s)
        return self.refresh()

    def analyze(self, kind, **options):
        """Asks an analysis of its trace: run.analyze("kernel-breakdown", rank=0, limit=20). See Client.analyze."""
        return self._client.analyze(kind, [self], **options)

    def report(self, format="md", baseline=None):
        """What bounds it, and what to try. See Client.report."""
        return self._client.report(self, format, baseline)

    def save_report(self, folder, baseline=None):
        """All files of its report. See Client.save_report."""
        return self._client.save_report(self, folder, baseline)

    def query(self, sql, **limits):
        """SQL over its trace's tables and the catalog. See Client.query."""
        return self._client.query(sql, runs=[self], **limits)

    def cancel(self):
        """Ends it."""
        self._client._call("runs", "CancelRun", runs_pb2.CancelRunRequest(id=self.id), f"cancel run {self.id}")

    def delete(self):
        """Removes it with all its files. It must have ended."""
        self._client._call("runs", "DeleteRun", runs_pb2.DeleteRunRequest(id=self.id), f"delete run {self.id}")
