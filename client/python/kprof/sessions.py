"""Sessions: devices kept for a series of captures, such as the rounds of an optimisation loop."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Optional

import grpc

from kprof.analysis import Answer
from kprof.captures import Duration, Words, duration_ms, selector_of
from kprof.errors import KprofError, error_of
from kprof.run import Run, TrustReason, state_name, trust_of
from kprof.table import QueryResult
from kprof.v1 import sessions_pb2

if TYPE_CHECKING:
    from kprof.client import Client

_OVER = (sessions_pb2.SESSION_STATE_CLOSED, sessions_pb2.SESSION_STATE_LOST)
_ASK_EVERY_S = 0.2
_MOST_RUNS = 256  # of an analysis
_ROUNDS_SQL = """SELECT round, id AS run, state, json_extract(labels, '$.version') AS version, error_code AS error,
    (SELECT value FROM metric WHERE metric.run = run.id AND name = 'median_ns' AND kernel IS NULL) AS median_ns,
    verdict, ratio, ci_low, ci_high FROM run WHERE session = '{}' ORDER BY round"""


@dataclasses.dataclass(frozen=True)
class Round:
    """A run of a session. `number` counts from 1; `metrics` are those of the run as a whole, by name; times are Unix ns."""

    number: int
    run_id: str
    state: str
    labels: dict[str, str]
    started_ns: Optional[int]
    ended_ns: Optional[int]
    error: Optional[KprofError]
    metrics: dict[str, float]

    @staticmethod
    def of(message: Any) -> Round:
        error = error_of(message.error.code, message.error.message, message.error.remedy) if message.HasField("error") else None
        return Round(message.number, message.run_id, state_name(message.state), dict(message.labels),
                     message.started_unix_ns if message.HasField("started_unix_ns") else None,
                     message.ended_unix_ns if message.HasField("ended_unix_ns") else None, error,
                     {metric.name: metric.value for metric in message.metrics if not metric.kernel})


@dataclasses.dataclass(frozen=True)
class StopAdvice:
    """Whether to go on with a loop. True where it says stop: `if session.should_stop(): break`.

    `reason`: why; empty: go on. `best`: the best round so far, a Run; None: no round counts yet. `best_ns`: its time.
    `answer`: all that the analysis `rounds` says; None: there was no round to ask about.
    """

    stop: bool
    reason: str = ""
    best: Optional[Run] = None
    best_ns: Optional[float] = None
    answer: Optional[Answer] = None

    def __bool__(self) -> bool:
        return self.stop


class Session:
    """A stay on a set of devices. Made by Client.session() and kprof.session(), open; leaving `with` closes it.

    It outlives a restart of kprofd: its devices, its queue and its rounds. It does not outlive its ttl, or a long time without
    a run; what is asked of it then is `lease_lost`. `id`, `state` ("open"), `devices`, `clocks`, `labels`, `trust`, `error`.
    """

    def __init__(self, client: Client, message: Any) -> None:
        self._client = client
        self._read(message)

    def _read(self, message: Any) -> None:
        self.id: str = message.id
        self.state = sessions_pb2.SessionState.Name(message.state).removeprefix("SESSION_STATE_").lower()
        self.has_ended = message.state in _OVER
        self.devices: list[str] = list(message.devices)
        self.clocks: str = message.clocks
        self.labels: dict[str, str] = dict(message.labels)
        self.trust: list[TrustReason] = trust_of(message.trust)
        self.error: Optional[KprofError] = None
        if message.HasField("error"):
            self.error = error_of(message.error.code, message.error.message, message.error.remedy)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        with contextlib.suppress(*([KprofError] if kind else [])):  # the first failure is the one to tell
            self.close()

    def __repr__(self) -> str:
        return f"<Session {self.id}: {self.state} on {','.join(self.devices)}>"

    def refresh(self) -> Session:
        """Reads it anew; returns itself."""
        request = sessions_pb2.GetSessionRequest(id=self.id)
        self._read(self._client._call("sessions", "GetSession", request, f"look up session {self.id}").session)
        return self

    def close(self) -> None:
        """Ends its runs and gives its devices back. Closing one that has ended does nothing."""
        request = sessions_pb2.CloseSessionRequest(id=self.id)
        self._read(self._client._call("sessions", "CloseSession", request, f"close session {self.id}").session)

    def capture(self, tool: str, command: Optional[Words] = None, **options: Any) -> Run:
        """Measures a command, as the next round. See Client.capture; clocks are the session's."""
        return self._client.capture(tool, command, session=self, **options)

    @property
    def rounds(self) -> list[Round]:
        """Its rounds so far, the oldest first. Those whose runs were deleted are missing."""
        request = sessions_pb2.ListRoundsRequest(session_id=self.id, page_size=1000)
        found: list[Round] = []
        while True:
            page = self._client._call("sessions", "ListRounds", request, f"list the rounds of session {self.id}")
            found += map(Round.of, page.rounds)
            request.page_token = page.next_page_token
            if not page.next_page_token:
                return found

    def runs(self) -> list[Run]:
        """The runs of its rounds, the oldest first."""
        return [self._client.run(one.run_id) for one in self.rounds]

    def show(self) -> QueryResult:
        """A table with a row for each round: time, verdict. print() shows it, and so does a notebook."""
        return self._client.query(_ROUNDS_SQL.format(self.id))

    def should_stop(self, **options: Any) -> StopAdvice:
        """Whether another round is worth it, by kprofd's history of the rounds: a StopAdvice, true for stop.

        Options are those of the analysis `rounds`: `rounds=5` last rounds have to make it better by `improvement=1` percent,
        `stop_rule="best"`, `policy`. Rounds that failed, or that may not be believed, count for nothing.
        """
        runs = [run for run in self.runs() if run.has_ended and run.trace is not None][-_MOST_RUNS:]
        if not runs:
            return StopAdvice(False)
        answer = self._client.analyze("rounds", runs, **options)
        best_id = answer.facts.get("best_run")
        best = next((run for run in runs if run.id == best_id), None)
        return StopAdvice(bool(answer.facts.get("stop")), answer.facts.get("reason") or "", best,
                          answer.facts.get("best_ns"), answer)


def request_of(device: Any, clocks: Optional[str], labels: Optional[Mapping[str, str]], ttl: Optional[Duration],
               idle_timeout: Optional[Duration], queue_timeout: Optional[Duration], priority: int) -> Any:
    """An OpenSessionRequest. Detached: an attached session ends with kprofd."""
    return sessions_pb2.OpenSessionRequest(
        device=selector_of(device), clocks=clocks or "", detached=True, ttl_ms=duration_ms(ttl, "ttl"), priority=priority,
        labels={str(name): str(value) for name, value in (labels or {}).items()},
        idle_timeout_ms=duration_ms(idle_timeout, "idle_timeout"), queue_timeout_ms=duration_ms(queue_timeout, "queue_timeout"))


def open_session(client: Client, request: Any) -> Session:
    """Waits until it is open. What interrupts the wait closes it."""
    found: Optional[Session] = None

    def follow() -> None:
        nonlocal found
        call = client._stubs["sessions"].OpenSession(request)
        try:
            for response in call:
                found = Session(client, response.session)
        except grpc.RpcError as error:
            # A second call would open a second one. One that is known waits on, also in the next kprofd.
            if found is None or error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
        finally:
            call.cancel()

    with _closing_when_interrupted(lambda: found):
        client._patiently(follow, "open a session", repeats=False)
        assert found is not None
        while found.state == "queued":
            time.sleep(_ASK_EVERY_S)
            found.refresh()
    if found.has_ended:
        raise found.error or error_of("lease_lost", f"open a session: {found.id} is {found.state}")
    return found


@contextlib.contextmanager
def _closing_when_interrupted(session: Any) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if session() is not None:
            with contextlib.suppress(KprofError):
                session().close()
        raise
