"""The client: a connection to one kprofd. Any thread may use it; each call waits for its answer."""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

import grpc

from kprof import find_daemon, import_files, sessions
from kprof.analysis import Answer, Kind, option_name, option_text
from kprof.captures import Duration, Tool, Words, spec_of
from kprof.errors import InternalError, KprofError, TimedOut, UsageError, detail_of, error_of_rpc
from kprof.run import Run, state_name
from kprof.sessions import Session
from kprof.table import Column, QueryResult, values_of
from kprof.v1 import (analyses_pb2, analyses_pb2_grpc, node_pb2, node_pb2_grpc, queries_pb2, queries_pb2_grpc, run_pb2, runs_pb2,
                      runs_pb2_grpc, sessions_pb2_grpc)

AnyRun = Union[Run, str]  # or its id, a unique beginning of one, "@last", "@last~N"
_T = TypeVar("_T")

_GROUPINGS = {"job": runs_pb2.IMPORT_GROUPING_BY_JOB, "one": runs_pb2.IMPORT_GROUPING_ONE_RUN,
              "separate": runs_pb2.IMPORT_GROUPING_SEPARATE}
_REPORT_FORMATS = {"md": "report.md", "json": "report.json", "devlog": "devlog.md"}
_PAGE = 1000
_CHANNEL_OPTIONS = (("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 64 << 20),
                    ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 100),
                    ("grpc.max_reconnect_backoff_ms", 500))
_SHORT_CALL_S = 60  # of calls that kprofd answers at once
_PATIENCE_S = 10.0
_AGAIN_AFTER_S = 0.1
_HEARD_S = 1.0  # a call that lasts longer has found a kprofd: patience begins anew where it breaks
_INTERRUPTED_S = 5  # for the answer to a submission, to know which run to cancel


def connect(socket: Union[str, os.PathLike, None] = None, patience_s: float = _PATIENCE_S) -> Client:
    """A Client of the kprofd at `socket`; without one, where kprofctl looks: $KPROF_SOCKET, the user's own, the system's.

    `patience_s`: how long the client asks again while kprofd is away, as it is for a moment when it is restarted.
    Raises NoDaemon and NotPermitted.
    """
    return Client(find_daemon.find_socket(socket), patience_s)


def session(**options: Any) -> Session:
    """Client.session() of the kprofd that connect() finds."""
    return connect().session(**options)


def capture(tool: str, command: Optional[Words] = None, **options: Any) -> Run:
    """Client.capture() of the kprofd that connect() finds."""
    return connect().capture(tool, command, **options)


def compare(runs: Union[AnyRun, Sequence[AnyRun]], baseline: Union[AnyRun, Sequence[AnyRun]], **options: Any) -> Answer:
    """Client.compare() of the kprofd that has the runs."""
    known = [run for run in _list_of(runs) if isinstance(run, Run)]
    return (known[0]._client if known else connect()).compare(runs, baseline, **options)


def _id_of(run: AnyRun) -> str:
    return run.id if isinstance(run, Run) else run


def _list_of(runs: Union[AnyRun, Iterable[AnyRun]]) -> list[AnyRun]:
    return [runs] if isinstance(runs, (str, Run)) else list(runs)


def _ids_of(runs: Union[AnyRun, Iterable[AnyRun]]) -> list[str]:
    return [_id_of(run) for run in _list_of(runs)]


class Client:
    """A connection to the kprofd at `socket`. A context manager: leaving it closes it.

    Where a run is asked for, a Run, an id, a unique beginning of one, "@last" or "@last~N" will do; analyses and queries
    take "label:K=V", too, for all runs with a label.
    """

    def __init__(self, socket: Union[str, os.PathLike], patience_s: float = _PATIENCE_S) -> None:
        self.socket = os.fspath(socket)
        self.patience_s = patience_s
        self._mode = ""
        self._tools: dict[str, Tool] = {}
        self._channel = grpc.insecure_channel(find_daemon.target_of(self.socket), options=_CHANNEL_OPTIONS)
        self._stubs: dict[str, Any] = {
            "runs": runs_pb2_grpc.RunsServiceStub(self._channel), "queries": queries_pb2_grpc.QueriesServiceStub(self._channel),
            "analyses": analyses_pb2_grpc.AnalysisServiceStub(self._channel), "node": node_pb2_grpc.NodeServiceStub(self._channel),
            "sessions": sessions_pb2_grpc.SessionsServiceStub(self._channel)}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of kprofd at {self.socket}>"

    def close(self) -> None:
        """Ends the connection. Runs and sessions of it can be asked nothing more."""
        self._channel.close()

    # Calls. What is asked while kprofd is away is asked again, for patience_s.

    def _patiently(self, attempt: Callable[[], _T], what: str, repeats: bool = True) -> _T:
        """What `attempt` gives. `repeats`: doing it twice is as doing it once; else it is tried again only where kprofd says that it
        did nothing."""
        give_up: Optional[float] = None
        while True:
            began = time.monotonic()
            try:
                return attempt()
            except grpc.RpcError as error:
                now = time.monotonic()
                if give_up is None or now - began > _HEARD_S:
                    give_up = now + self.patience_s
                is_away = error.code() == grpc.StatusCode.UNAVAILABLE and (repeats or detail_of(error) is not None)
                if not is_away or now >= give_up:
                    raise error_of_rpc(error, what) from None
            time.sleep(_AGAIN_AFTER_S)

    def _call(self, service: str, method: str, request: Any, what: str, timeout_s: Optional[float] = _SHORT_CALL_S,
              repeats: bool = True) -> Any:
        return self._patiently(lambda: getattr(self._stubs[service], method)(request, timeout=timeout_s), what, repeats)

    def _ask(self, service: str, method: str, request: Any, what: str, read: Callable[[Any], _T]) -> _T:
        """What `read` makes of the messages of a call that changes nothing."""
        def attempt() -> _T:
            call = getattr(self._stubs[service], method)(request)
            try:
                return read(call)
            finally:
                call.cancel()
        return self._patiently(attempt, what)

    def version(self) -> str:
        """kprofd's."""
        return self._call("node", "GetStatus", node_pb2.GetStatusRequest(), "ask for its version").version

    def _starts_commands(self) -> bool:
        """Whether kprofd is the caller's own. One that serves many users starts no command of an attached run."""
        if not self._mode:
            self._mode = self._call("node", "GetStatus", node_pb2.GetStatusRequest(), "ask for its mode").mode
        return self._mode == "user"

    # Captures.

    def tools(self) -> dict[str, Tool]:
        """What measures on this node, by name, each with its options."""
        answer = self._call("runs", "ListTools", runs_pb2.ListToolsRequest(), "list the tools")
        self._tools = {message.name: Tool.of(message) for message in answer.tools}
        return dict(self._tools)

    def _tool(self, name: str) -> Tool:
        found = self._tools.get(name) or self.tools().get(name)
        if found is None:
            raise UsageError("usage", f"capture: there is no tool '{name}'", f"there are {', '.join(self._tools)}")
        return found

    def session(self, device: Any = None, clocks: Optional[str] = None, labels: Optional[Mapping[str, str]] = None,
                ttl: Optional[Duration] = None, idle_timeout: Optional[Duration] = None,
                queue_timeout: Optional[Duration] = None, priority: int = 0) -> Session:
        """Waits for devices and keeps them: a Session, which `with` closes.

        `device`: 0, "cpu", [0, 1], "all"; None: the first accelerator, else the CPU. `clocks`: "none" (the usual), "base", "lock",
        "lock=MHZ". `ttl`: it ends then (1 h); `idle_timeout`: it ends when so long nothing ran (10 min); `queue_timeout`: it waits so
        long in the queue, then raises Busy. All in seconds, or a text such as "2h".
        """
        return sessions.open_session(self, sessions.request_of(device, clocks, labels, ttl, idle_timeout, queue_timeout, priority))

    def capture(self, tool: str, command: Optional[Words] = None, *, session: Union[Session, str, None] = None, wait: bool = True,
                raise_errors: bool = True, device: Any = None, clocks: Optional[str] = None,
                timeout_s: Optional[Duration] = None, queue_timeout_s: Optional[Duration] = None,
                env: Optional[Mapping[str, Optional[str]]] = None, cwd: Union[str, os.PathLike, None] = None,
                labels: Optional[Mapping[str, str]] = None, kernel: Optional[str] = None, version: Optional[str] = None,
                params: Optional[Mapping[str, Any]] = None, baseline: Optional[AnyRun] = None,
                prepare: Optional[Words] = None, check: Optional[Words] = None, collect: Union[str, Iterable[str]] = (),
                exclusive: bool = False, cool_down_s: Optional[Duration] = None, priority: int = 0, shared: bool = False,
                **options: Any) -> Run:
        """Measures a command: queues it, runs it, keeps what it leaves. Returns its Run once it has ended, or, without `wait`, at once.

        `command`: a list of words, or a str, which is run by sh -c. It gets this process' environment, changed by `env` (None
        removes a variable), and starts in `cwd`. `options`: the tool's own, with underscores for dashes: against=, samples=,
        launch_count=; tools() has them. `kernel`, `version` and `params` (a dict) name what is measured; `baseline` is the run that its
        report compares with. `prepare` runs before it has its devices, `check` after the command: where that fails the run does.

        A run that failed raises its error, with the Run as the error's `run`; without `raise_errors` it is returned, `error` set.
        Ctrl-C cancels it.
        """
        spec = spec_of(self._tool(tool), command, device=device, clocks=clocks, timeout_s=timeout_s, queue_timeout_s=queue_timeout_s,
                       env=env, cwd=cwd, labels=labels, kernel=kernel, version=version, params=params, prepare=prepare, check=check,
                       collect=collect, exclusive=exclusive, cool_down_s=cool_down_s, priority=priority, shared=shared,
                       options=options)
        if session is not None:
            spec.session_id = session.id if isinstance(session, Session) else session
        if baseline is not None:
            if "baseline" in spec.labels:
                raise UsageError("usage", "capture: baseline and labels['baseline'] are both given", "give one of the two")
            spec.labels["baseline"] = self.run(baseline).id  # "@last" is not the new run
        spec.attached = wait and self._starts_commands()
        run = self._submit(spec)
        if not wait:
            return run
        with self._cancelling_when_interrupted(run.id):
            return self._follow(run, spec.attached).wait(raise_errors=raise_errors)

    def _submit(self, spec: Any) -> Run:
        """Its key makes one run of it, however often it has to be sent."""
        request = runs_pb2.SubmitRunRequest(spec=spec, idempotency_key=str(uuid.uuid4()))

        def attempt() -> Run:
            call = self._stubs["runs"].SubmitRun.future(request, timeout=_SHORT_CALL_S)
            try:
                return Run(self, call.result().run)
            except (KeyboardInterrupt, SystemExit):
                with contextlib.suppress(grpc.RpcError, grpc.FutureTimeoutError, KprofError):
                    Run(self, call.result(timeout=_INTERRUPTED_S).run).cancel()
                raise

        return self._patiently(attempt, "submit a run")

    @contextlib.contextmanager
    def _cancelling_when_interrupted(self, run_id: str) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            with contextlib.suppress(KprofError):
                self._call("runs", "CancelRun", runs_pb2.CancelRunRequest(id=run_id), f"cancel run {run_id}", repeats=False)
            raise

    def _follow(self, run: Run, hold: bool) -> Run:
        """Until it has ended, however; `hold`: it lives while this does."""
        request = runs_pb2.WatchRunRequest(id=run.id, hold=hold)
        self._ask("runs", "WatchRun", request, f"follow run {run.id}", lambda changes: [None for _ in changes])
        return run

    # Runs.

    def run(self, run: AnyRun) -> Run:
        """The Run of that name. Raises NotFound."""
        name = _id_of(run)
        return Run(self, self._call("runs", "GetRun", runs_pb2.GetRunRequest(id=name), f"look up run {name}").run)

    def runs(self, limit: int = 50, labels: Optional[Mapping[str, str]] = None, tools: Sequence[str] = (),
             states: Sequence[str] = ()) -> list[Run]:
        """The newest runs that the caller may see, newest first. `states`: "done", "failed"..."""
        request = runs_pb2.ListRunsRequest(labels=labels or {}, tools=tools)
        for state in states:
            if f"RUN_STATE_{state.upper()}" not in run_pb2.RunState.keys():
                known = ", ".join(map(state_name, run_pb2.RunState.values()[1:]))
                raise UsageError("usage", f"list runs: '{state}' is no state", f"there are {known}")
            request.states.append(run_pb2.RunState.Value(f"RUN_STATE_{state.upper()}"))
        found: list[Run] = []
        while len(found) < limit:
            request.page_size = min(_PAGE, limit - len(found))
            page = self._call("runs", "ListRuns", request, "list runs")
            found += [Run(self, message) for message in page.runs]
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
        return found

    def _wait(self, run_id: str, timeout_s: Optional[float]) -> None:
        """Until it has ended, however."""
        what = f"wait for run {run_id}"

        def attempt() -> None:
            try:
                self._stubs["runs"].WaitRun(runs_pb2.WaitRunRequest(id=run_id), timeout=timeout_s)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and detail_of(error) is None:
                    raise TimedOut("timed_out", f"{what}: it has not ended within {timeout_s} s") from None
                if error.code() == grpc.StatusCode.UNAVAILABLE or not self.run(run_id).has_ended:
                    raise

        self._patiently(attempt, what)

    def import_(self, paths: Any, format: str = "auto", grouping: str = "job", labels: Optional[Mapping[str, str]] = None,
                rank: Optional[int] = None, keep_sources: bool = False, again: bool = False, shared: bool = False,
                wait: bool = True, timeout_s: Optional[float] = None) -> list[Run]:
        """Imports traces: a path or several, of files and folders. Returns the list of Runs that they became: one for each
        job (`grouping="job"`), one of all ("one"), or one for each file ("separate").

        `wait`: returns when all have ended, and raises the error of one that failed. `again`: also where the same was
        imported before; else that run is returned, its `existing` true. `rank`: of the one file.
        """
        if grouping not in _GROUPINGS:
            raise UsageError("usage", f"import: '{grouping}' is no grouping", f"there are {', '.join(_GROUPINGS)}")
        files = import_files.find_files(paths)
        if rank is not None and len(files) != 1:
            raise UsageError("usage", f"import: a rank for {len(files)} files", "import them one by one, or without")
        names = import_files.told_names([path for path, _ in files])
        request = runs_pb2.SubmitImportRequest(format=format, labels=labels or {}, keep_sources=keep_sources, again=again,
                                               shared=shared, grouping=_GROUPINGS[grouping])
        for (path, may_be_none), name in zip(files, names):
            with import_files.open_file(path) as file:
                messages = import_files.upload_messages(file, name, may_be_none)
                ticket = self._call("runs", "UploadSource", messages, f"send {path}", timeout_s=None, repeats=False).ticket
            source = request.sources.add(ticket=ticket, name=name, may_be_none=may_be_none)
            if rank is not None:
                source.rank = rank
        response = self._call("runs", "SubmitImport", request, "submit an import", timeout_s=None, repeats=False)
        runs = [Run(self, one.run, one.existing) for one in (response, *response.others)]
        return [run.wait(timeout_s) for run in runs] if wait else runs

    # Questions.

    def analyses(self) -> dict[str, Kind]:
        """The Kinds of analyses that kprofd offers, by name."""
        answer = self._call("analyses", "ListAnalyses", analyses_pb2.ListAnalysesRequest(), "list the analyses")
        return {message.name: Kind.of(message) for message in answer.kinds}

    def analyze(self, kind: str, runs: Union[AnyRun, Iterable[AnyRun]], timeout_s: float = 0, **options: Any) -> Answer:
        """Asks an analysis of the traces of runs; an Answer. Options as kprofctl has them, with underscores for dashes, and
        `from_` for `from`. None: not given. `timeout_s`: of kprofd's work; 0: what it allows."""
        kind = kind.replace("_", "-")
        given = {option_name(name): option_text(value) for name, value in options.items() if value is not None}
        request = analyses_pb2.AnalyzeRequest(kind=kind, runs=_ids_of(runs), options=given, timeout_ms=round(timeout_s * 1000))
        return self._ask("analyses", "Analyze", request, f"analyze {kind}", Answer)

    def compare(self, runs: Union[AnyRun, Iterable[AnyRun]], baseline: Union[AnyRun, Iterable[AnyRun]], **options: Any) -> Answer:
        """What changed since the baseline: the answer of the analysis `compare`, with `verdict` and `ratio`, the time of the runs by that
        of the baseline."""
        return self.analyze("compare", runs, baseline=",".join(self.run(run).id for run in _list_of(baseline)), **options)

    def _report_files(self, run: AnyRun, baseline: Optional[AnyRun], names: Sequence[str], timeout_s: float) -> list[tuple[str, bytes]]:
        """The files of a run's report: pairs of name and bytes. `names`: those asked for; empty: all."""
        what = f"report of run {_id_of(run)}"
        request = analyses_pb2.GetReportRequest(run=_id_of(run), baseline=_id_of(baseline) if baseline else "", files=names,
                                                timeout_ms=round(timeout_s * 1000))

        def read(messages: Any) -> list[tuple[str, bytearray, int]]:
            files: list[tuple[str, bytearray, int]] = []
            for message in messages:
                part = message.WhichOneof("part")
                if part == "file":
                    files.append((message.file.name, bytearray(), message.file.size_bytes))
                elif part == "data" and files:
                    files[-1][1].extend(message.data)
            return files

        files = self._ask("analyses", "GetReport", request, what, read)
        if not files or any(len(data) != size for _, data, size in files):
            raise InternalError("internal", f"{what}: kprofd ended it before its end")
        return [(name, bytes(data)) for name, data, _ in files]

    def report(self, run: AnyRun, format: str = "md", baseline: Optional[AnyRun] = None, timeout_s: float = 0) -> Any:
        """What bounds the run, and what to try: as text (`format="md"`, "devlog"), as a dict ("json"), or one of the report's
        files by its name, as text ("roofline.svg"). `baseline`: the run that it is compared with; None: the one that it was
        captured with. `timeout_s`: of kprofd's work; 0: 30."""
        if format not in _REPORT_FORMATS and "." not in format:
            raise UsageError("usage", f"report: '{format}' is no format", f"there are {', '.join(_REPORT_FORMATS)}, and names of files")
        [(_, data)] = self._report_files(run, baseline, [_REPORT_FORMATS.get(format, format)], timeout_s)
        text = data.decode(errors="backslashreplace")
        return json.loads(text) if format == "json" else text

    def save_report(self, run: AnyRun, folder: Union[str, os.PathLike], baseline: Optional[AnyRun] = None,
                    timeout_s: float = 0) -> list[str]:
        """Writes all files of the run's report into a folder, which is made where it is not there. Returns their paths."""
        files = self._report_files(run, baseline, [], timeout_s)
        os.makedirs(folder, exist_ok=True)
        paths = []
        for name, data in files:
            if os.path.basename(name) != name or name.startswith("."):
                raise InternalError("internal", f"report: kprofd calls a file '{name}'")
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "wb") as file:
                file.write(data)
        return paths

    def query(self, sql: str, runs: Union[AnyRun, Iterable[AnyRun]] = (), limit: int = 0, timeout_s: float = 0) -> QueryResult:
        """SQL; a QueryResult. `runs`: those whose traces are tables. At most `limit` rows (0: 10,000); `truncated` of the
        result says that there are more. `timeout_s`: of kprofd's work; 0: 30. iterate() keeps no rows."""
        request = queries_pb2.QueryRequest(sql=sql, runs=_ids_of(runs), row_limit=limit, timeout_ms=round(timeout_s * 1000))

        def read(messages: Any) -> QueryResult:
            result: Any = None
            for message in messages:
                part = message.WhichOneof("part")
                if part == "header":
                    result = QueryResult([Column(column.name) for column in message.header.columns])
                elif part == "batch":
                    result._add(message.batch.columns)
                elif part == "totals":
                    result.truncated = message.totals.truncated
                    result.elapsed_ms = message.totals.elapsed_ms
                    return result
            raise InternalError("internal", "query: kprofd ended the answer before its end")

        return self._ask("queries", "Query", request, "query", read)

    def iterate(self, sql: str, runs: Union[AnyRun, Iterable[AnyRun]] = (), limit: int = 10_000_000,
                timeout_s: float = 600) -> Iterator[dict[str, Any]]:
        """The rows of SQL as dicts, one by one as they come: for more than fit in memory. Leaving the loop ends the query."""
        request = queries_pb2.QueryRequest(sql=sql, runs=_ids_of(runs), row_limit=limit, timeout_ms=round(timeout_s * 1000))
        call = self._stubs["queries"].Query(request)
        names: list[str] = []
        try:
            for message in call:
                part = message.WhichOneof("part")
                if part == "header":
                    names = [column.name for column in message.header.columns]
                elif part == "batch":
                    for row in zip(*map(values_of, message.batch.columns)):
                        yield dict(zip(names, row))
        except grpc.RpcError as error:
            raise error_of_rpc(error, "query") from None
        finally:
            call.cancel()
