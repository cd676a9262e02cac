"""The client: a connection to one kprofd. Any thread may use it; each call waits for its answer."""

import contextlib
import json
import os

import grpc

from kprof import find_daemon, import_files
from kprof.analysis import Answer, Kind, option_name, option_text
from kprof.errors import InternalError, TimedOut, UsageError, error_of_rpc
from kprof.run import Run
from kprof.table import Column, QueryResult, values_of
from kprof.v1 import (analyses_pb2, analyses_pb2_grpc, node_pb2, node_pb2_grpc, queries_pb2, queries_pb2_grpc, run_pb2, runs_pb2,
                      runs_pb2_grpc)

_GROUPINGS = {"job": runs_pb2.IMPORT_GROUPING_BY_JOB, "one": runs_pb2.IMPORT_GROUPING_ONE_RUN,
              "separate": runs_pb2.IMPORT_GROUPING_SEPARATE}
_REPORT_FORMATS = {"md": "report.md", "json": "report.json", "devlog": "devlog.md"}
_PAGE = 1000
_CHANNEL_OPTIONS = (("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 64 << 20))
_SHORT_CALL_S = 60  # of calls that kprofd answers at once


def connect(socket=None):
    """A Client of the kprofd at `socket`; without one, where kprofctl looks: $KPROF_SOCKET, the user's own, the system's.

    Raises NoDaemon and NotPermitted.
    """
    return Client(find_daemon.find_socket(socket))


def _id_of(run):
    return run.id if isinstance(run, Run) else run


def _ids_of(runs):
    return [_id_of(run) for run in ([runs] if isinstance(runs, (str, Run)) else runs)]


class Client:
    """A connection to the kprofd at `socket`. A context manager: leaving it closes it.

    Where a run is asked for, a Run, an id, a unique beginning of one, "@last" or "@last~N" will do; analyses and queries
    take "label:K=V", too, for all runs with a label.
    """

    def __init__(self, socket):
        self.socket = os.fspath(socket)
        self._channel = grpc.insecure_channel(find_daemon.target_of(self.socket), options=_CHANNEL_OPTIONS)
        self._stubs = {"runs": runs_pb2_grpc.RunsServiceStub(self._channel),
                       "queries": queries_pb2_grpc.QueriesServiceStub(self._channel),
                       "analyses": analyses_pb2_grpc.AnalysisServiceStub(self._channel),
                       "node": node_pb2_grpc.NodeServiceStub(self._channel)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<Client of kprofd at {self.socket}>"

    def close(self):
        self._channel.close()

    def _call(self, service, method, request, what, timeout_s=_SHORT_CALL_S):
        try:
            return getattr(self._stubs[service], method)(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise error_of_rpc(error, what) from None

    @contextlib.contextmanager
    def _stream(self, service, method, request, what):
        """The messages of a call. Leaving it early ends the call."""
        call = getattr(self._stubs[service], method)(request)
        try:
            yield call
        except grpc.RpcError as error:
            raise error_of_rpc(error, what) from None
        finally:
            call.cancel()

    def version(self):
        """kprofd's."""
        return self._call("node", "GetStatus", node_pb2.GetStatusRequest(), "ask for its version").version

    # Runs.

    def run(self, run):
        """The Run of that name. Raises NotFound."""
        name = _id_of(run)
        return Run(self, self._call("runs", "GetRun", runs_pb2.GetRunRequest(id=name), f"look up run {name}").run)

    def runs(self, limit=50, labels=None, tools=(), states=()):
        """The newest runs that the caller may see, newest first. `states`: "done", "failed"..."""
        request = runs_pb2.ListRunsRequest(labels=labels or {}, tools=tools)
        for state in states:
            if f"RUN_STATE_{state.upper()}" not in run_pb2.RunState.keys():
                known = ", ".join(name.removeprefix("RUN_STATE_").lower() for name in run_pb2.RunState.keys()[1:])
                raise UsageError("usage", f"list runs: '{state}' is no state", f"there are {known}")
            request.states.append(run_pb2.RunState.Value(f"RUN_STATE_{state.upper()}"))
        found = []
        while len(found) < limit:
            request.page_size = min(_PAGE, limit - len(found))
            page = self._call("runs", "ListRuns", request, "list runs")
            found += [Run(self, message) for message in page.runs]
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
        return found

    def _wait(self, run_id, timeout_s):
        try:
            self._stubs["runs"].WaitRun(runs_pb2.WaitRunRequest(id=run_id), timeout=timeout_s)
        except grpc.RpcError as error:
            failure = error_of_rpc(error, f"wait for run {run_id}")
            if failure.code == "no_daemon" and error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                failure = TimedOut("timed_out", f"wait for run {run_id}: it has not ended within {timeout_s} s")
            raise failure from None

    def import_(self, paths, format="auto", grouping="job", labels=None, rank=None, keep_sources=False, again=False, shared=False,
                wait=True, timeout_s=None):
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
                ticket = self._call("runs", "UploadSource", messages, f"send {path}", timeout_s=None).ticket
            source = request.sources.add(ticket=ticket, name=name, may_be_none=may_be_none)
            if rank is not None:
                source.rank = rank
        response = self._call("runs", "SubmitImport", request, "submit an import", timeout_s=None)
        runs = [Run(self, one.run, one.existing) for one in (response, *response.others)]
        return [run.wait(timeout_s) for run in runs] if wait else runs

    # Questions.

    def analyses(self):
        """The Kinds of analyses that kprofd offers, by name."""
        answer = self._call("analyses", "ListAnalyses", analyses_pb2.ListAnalysesRequest(), "list the analyses")
        return {message.name: Kind.of(message) for message in answer.kinds}

    def analyze(self, kind, runs, timeout_s=0, **options):
        """Asks an analysis of the traces of runs; an Answer. Options as kprofctl has them, with underscores for dashes, and
        `from_` for `from`. None: not given. `timeout_s`: of kprofd's work; 0: what it allows."""
        kind = kind.replace("_", "-")
        given = {option_name(name): option_text(value) for name, value in options.items() if value is not None}
        request = analyses_pb2.AnalyzeRequest(kind=kind, runs=_ids_of(runs), options=given, timeout_ms=round(timeout_s * 1000))
        with self._stream("analyses", "Analyze", request, f"analyze {kind}") as messages:
            return Answer(messages)

    def _report_files(self, run, baseline, names, timeout_s):
        """The files of a run's report: pairs of name and bytes. `names`: those asked for; empty: all."""
        what = f"report of run {_id_of(run)}"
        request = analyses_pb2.GetReportRequest(run=_id_of(run), baseline=_id_of(baseline) if baseline else "", files=names,
                                                timeout_ms=round(timeout_s * 1000))
        files = []
        with self._stream("analyses", "GetReport", request, what) as messages:
            for message in messages:
                part = message.WhichOneof("part")
                if part == "file":
                    files.append((message.file.name, bytearray(), message.file.size_bytes))
                elif part == "data" and files:
                    files[-1][1].extend(message.data)
        if not files or any(len(data) != size for _, data, size in files):
            raise InternalError("internal", f"{what}: kprofd ended it before its end")
        return [(name, bytes(data)) for name, data, _ in files]

    def report(self, run, format="md", baseline=None, timeout_s=0):
        """What bounds the run, and what to try: as text (`format="md"`, "devlog"), as a dict ("json"), or one of the report's
        files by its name, as text ("roofline.svg"). `baseline`: the run that it is compared with; None: the one that it was
        captured with. `timeout_s`: of kprofd's work; 0: 30."""
        if format not in _REPORT_FORMATS and "." not in format:
            raise UsageError("usage", f"report: '{format}' is no format", f"there are {', '.join(_REPORT_FORMATS)}, and names of files")
        [(_, data)] = self._report_files(run, baseline, [_REPORT_FORMATS.get(format, format)], timeout_s)
        text = data.decode(errors="backslashreplace")
        return json.loads(text) if format == "json" else text

    def save_report(self, run, folder, baseline=None, timeout_s=0):
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

    def query(self, sql, runs=(), limit=0, timeout_s=0):
        """SQL; a QueryResult. `runs`: those whose traces are tables. At most `limit` rows (0: 10,000); `truncated` of the
        result says that there are more. `timeout_s`: of kprofd's work; 0: 30. iterate() keeps no rows."""
        request = queries_pb2.QueryRequest(sql=sql, runs=_ids_of(runs), row_limit=limit, timeout_ms=round(timeout_s * 1000))
        result = None
        with self._stream("queries", "Query", request, "query") as messages:
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

    def iterate(self, sql, runs=(), limit=10_000_000, timeout_s=600):
        """The rows of SQL as dicts, one by one as they come: for more than fit in memory. Leaving the loop ends the query."""
        request = queries_pb2.QueryRequest(sql=sql, runs=_ids_of(runs), row_limit=limit, timeout_ms=round(timeout_s * 1000))
        with self._stream("queries", "Query", request, "query") as messages:
            names = []
            for message in messages:
                part = message.WhichOneof("part")
                if part == "header":
                    names = [column.name for column in message.header.columns]
                elif part == "batch":
                    for row in zip(*map(values_of, message.batch.columns)):
                        yield dict(zip(names, row))
