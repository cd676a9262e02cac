"""kprofd as a client sees it that is none of ours: Python's grpcio, stubs made by protoc here and now.

Needs the programs in KPROF_BIN, and Debian's python3-grpcio, python3-protobuf and protobuf-compiler-grpc.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import grpc
except ImportError as error:
    raise unittest.SkipTest("needs python3-grpcio") from error

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

import kprof_testing  # noqa: E402
from kprof_stubs import make_stubs  # noqa: E402
from kprof_testing import LIMIT_S, ROOT, running_daemon, wait_until  # noqa: E402

kprof_testing.need_programs()

STUBS = tempfile.TemporaryDirectory(prefix="stubs-")
make_stubs(STUBS.name)

from kprof.v1 import error_pb2, node_pb2, node_pb2_grpc, queries_pb2, queries_pb2_grpc  # noqa: E402
from kprof.v1 import run_pb2, runs_pb2, runs_pb2_grpc  # noqa: E402


def raw_fields(message):
    """(field number, value) of a message whose stubs we do not have: numbers and bytes, as they are on the wire."""
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    at, fields = 0, []
    while at < len(message):
        tag, at = varint(at)
        if tag & 7 == 0:
            value, at = varint(at)
        elif tag & 7 == 2:
            size, at = varint(at)
            value, at = message[at:at + size], at + size
        else:
            raise ValueError(f"wire type {tag & 7}")
        fields.append((tag >> 3, value))
    return fields


def detail_of(error):
    """The ErrorDetail in the trailer of a failed call."""
    status = error_pb2.RpcStatus.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    assert status.code == error.code().value[0] and status.message == error.details()
    detail = error_pb2.ErrorDetail()
    assert status.details[0].Unpack(detail)
    return detail


class KprofdTest(unittest.TestCase):
    """One daemon for all tests of a class."""

    CONFIG = ""

    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(running_daemon(cls.CONFIG))
        cls.folder = cls.daemon.folder
        cls.channel = grpc.insecure_channel("unix:" + cls.daemon.socket)
        cls.addClassCleanup(cls.channel.close)
        cls.runs = runs_pb2_grpc.RunsServiceStub(cls.channel)
        cls.node = node_pb2_grpc.NodeServiceStub(cls.channel)
        cls.queries = queries_pb2_grpc.QueriesServiceStub(cls.channel)

    def submit(self, *argv, labels=None, **rest):
        spec = runs_pb2.RunSpec(tool="command", argv=argv, cwd=os.fsencode(self.folder), labels=labels or {}, **rest)
        spec.environment.add(name=b"PATH", value=b"/usr/bin:/bin")
        return self.runs.SubmitRun(runs_pb2.SubmitRunRequest(spec=spec), timeout=LIMIT_S).run

    def upload(self, run, name, data, sha256):
        header = runs_pb2.UploadArtifactRequest.Header(id=run.id, name=name)
        messages = [runs_pb2.UploadArtifactRequest(header=header)]
        messages += [runs_pb2.UploadArtifactRequest(data=data[at:at + 100000]) for at in range(0, len(data), 100000)]
        if sha256 is not None:
            messages.append(runs_pb2.UploadArtifactRequest(sha256=sha256))
        return self.runs.UploadArtifact(iter(messages), timeout=LIMIT_S).artifact

    def temporary_files(self):
        return os.listdir(os.path.join(self.daemon.state, "tmp"))

    def follow(self, run):
        """All that WatchRun says, until the run has ended."""
        return list(self.runs.WatchRun(runs_pb2.WatchRunRequest(id=run.id), timeout=LIMIT_S))

    def finished(self, *argv, **rest):
        return self.follow(self.submit(*argv, **rest))[-1].run

    def read_log(self, run, **rest):
        request = runs_pb2.ReadLogRequest(id=run.id, **rest)
        return b"".join(piece.data for piece in self.runs.ReadLog(request, timeout=LIMIT_S))

    def query(self, sql, **rest):
        """(column names, rows, totals) of a query, put together from its batches."""
        names, rows, totals = None, [], None
        for message in self.queries.Query(queries_pb2.QueryRequest(sql=sql, **rest), timeout=LIMIT_S):
            part = message.WhichOneof("part")
            if part == "header":
                self.assertIsNone(names)
                names = [column.name for column in message.header.columns]
            elif part == "batch":
                self.assertIsNone(totals)
                columns = [self.column_values(column) for column in message.batch.columns]
                self.assertTrue(all(len(column) == message.batch.rows for column in columns))
                rows += zip(*columns)
            else:
                totals = message.totals
        return names, rows, totals

    @staticmethod
    def column_values(column):
        kind = queries_pb2.ColumnData
        sources = {
            kind.KIND_INTEGER: iter(column.integers), kind.KIND_REAL: iter(column.reals),
            kind.KIND_TEXT: (text.decode() for text in column.texts), kind.KIND_BYTES: iter(column.blobs),
        }
        return [next(sources[k]) if k in sources else None for k in column.kinds]

    def failure_of(self, call):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        return caught.exception


class NodeTest(KprofdTest):
    def test_status_says_who_asks(self):
        status = self.node.GetStatus(node_pb2.GetStatusRequest(), timeout=LIMIT_S)
        self.assertEqual(status.caller_uid, os.getuid())
        self.assertEqual(status.pid, self.daemon.pid)
        self.assertEqual(status.mode, "user")
        self.assertEqual(status.socket_path, os.fsencode(self.daemon.socket))
        self.assertLessEqual(status.started_unix_ns, status.now_unix_ns)

    def test_the_host_is_a_device(self):
        devices = self.node.ListDevices(node_pb2.ListDevicesRequest(), timeout=LIMIT_S).devices
        self.assertIn("cpu", [device.id for device in devices])

    def test_diagnose_has_a_remedy_for_each_problem(self):
        diagnoses = self.node.Diagnose(node_pb2.DiagnoseRequest(), timeout=LIMIT_S).diagnoses
        self.assertTrue(diagnoses)
        for diagnosis in diagnoses:
            if diagnosis.level == node_pb2.Diagnosis.LEVEL_PROBLEM:
                self.assertTrue(diagnosis.remedy, diagnosis.check)

    def test_backup_is_a_database_with_its_sum(self):
        run = self.finished(b"true")
        data, sha256 = b"", None
        for message in self.node.BackUpCatalog(node_pb2.BackUpCatalogRequest(), timeout=LIMIT_S):
            self.assertIsNone(sha256)
            if message.WhichOneof("part") == "data":
                data += message.data
            else:
                sha256 = message.sha256
        self.assertEqual(hashlib.sha256(data).hexdigest(), sha256)
        path = os.path.join(self.folder, "copy.db")
        with open(path, "wb") as file:
            file.write(data)
        copy = sqlite3.connect(path)
        self.assertEqual(copy.execute("PRAGMA quick_check").fetchall(), [("ok",)])
        self.assertIn((run.id,), copy.execute("SELECT id FROM runs").fetchall())
        copy.close()

    def test_health_answers_for_daemon_and_services(self):
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check")  # bytes in, bytes out
        for service in (b"", b"kprof.v1.NodeService", b"kprof.v1.RunsService", b"kprof.v1.QueriesService"):
            request = b"\x0a" + bytes([len(service)]) + service
            self.assertEqual(raw_fields(check(request, timeout=LIMIT_S)), [(1, 1)], service)  # SERVING
        failure = self.failure_of(lambda: check(b"\x0a\x04nope", timeout=LIMIT_S))
        self.assertEqual(failure.code(), grpc.StatusCode.NOT_FOUND)

    def test_reflection_lists_services_and_gives_descriptors(self):
        for version in ("v1", "v1alpha"):
            reflect = self.channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
            symbol = b"kprof.v1.RunsService"
            requests = [b"\x3a\x01*", b"\x22" + bytes([len(symbol)]) + symbol]
            listing, descriptors = reflect(iter(requests), timeout=LIMIT_S)
            services = dict(raw_fields(listing))[6]
            names = [raw_fields(service)[0][1] for number, service in raw_fields(services) if number == 1]
            for name in (b"kprof.v1.NodeService", symbol, b"kprof.v1.QueriesService", b"grpc.health.v1.Health"):
                self.assertIn(name, names)
            files = [dict(raw_fields(file))[1] for number, file in raw_fields(dict(raw_fields(descriptors))[4]) if number == 1]
            self.assertIn(b"kprof/v1/runs.proto", files)


class RunsTest(KprofdTest):
    def test_arguments_and_output_are_bytes(self):
        odd = b"\xff\xfe \x80\n'"
        run = self.finished(b"printf", b"%s", odd)
        self.assertEqual(run.state, run_pb2.RUN_STATE_DONE)
        stored = self.runs.GetRun(runs_pb2.GetRunRequest(id=run.id), timeout=LIMIT_S).run
        self.assertEqual(list(stored.argv), [b"printf", b"%s", odd])
        self.assertEqual(self.read_log(run), odd)

    def test_watch_tells_states_in_order_and_ends_with_the_run(self):
        changes = self.follow(self.submit(b"true"))
        states = [change.run.state for change in changes]
        self.assertEqual(states, sorted(states))
        self.assertEqual(states[-1], run_pb2.RUN_STATE_DONE)
        self.assertEqual([list(change.run.argv) for change in changes], [[b"true"]] + [[]] * (len(changes) - 1))
        self.assertEqual(changes[-1].run.exit_code, 0)
        self.assertGreaterEqual(changes[-1].run.ended_unix_ns, changes[-1].run.started_unix_ns)

    def test_watching_an_ended_run_tells_it_once(self):
        run = self.finished(b"true")
        self.assertEqual([change.run.state for change in self.follow(run)], [run_pb2.RUN_STATE_DONE])

    def test_list_pages_newest_first_and_misses_none(self):
        submitted = [self.submit(b"true", labels={"set": "paging"}).id for _ in range(5)]
        listed, token, pages = [], "", 0
        while True:
            request = runs_pb2.ListRunsRequest(page_size=2, page_token=token, labels={"set": "paging"})
            page = self.runs.ListRuns(request, timeout=LIMIT_S)
            self.assertLessEqual(len(page.runs), 2)
            listed += [run.id for run in page.runs]
            token, pages = page.next_page_token, pages + 1
            if not token:
                break
        self.assertEqual(listed, submitted[::-1])
        self.assertGreaterEqual(pages, 3)

    def test_list_refuses_a_made_up_token(self):
        failure = self.failure_of(
            lambda: self.runs.ListRuns(runs_pb2.ListRunsRequest(page_token="../etc"), timeout=LIMIT_S))
        self.assertEqual(failure.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(detail_of(failure).code, "usage")

    def test_download_sends_what_the_sum_says(self):
        run = self.finished(b"sh", b"-c", b"head -c 1000000 /dev/urandom")
        artifact = next(artifact for artifact in run.artifacts if artifact.name == "stdout.log")
        messages = list(self.runs.DownloadArtifact(
            runs_pb2.DownloadArtifactRequest(id=run.id, name=artifact.name), timeout=LIMIT_S))
        self.assertEqual(messages[0].artifact, artifact)
        data = b"".join(message.data for message in messages[1:-1])
        self.assertTrue(all(len(message.data) <= 256 << 10 for message in messages[1:-1]))
        self.assertEqual(len(data), 1000000)
        self.assertEqual(messages[-1].sha256, hashlib.sha256(data).hexdigest())
        self.assertEqual(messages[-1].sha256, artifact.sha256)

    def test_upload_comes_back_as_it_was(self):
        run, data = self.finished(b"true"), os.urandom(300001)
        artifact = self.upload(run, "notes.bin", data, hashlib.sha256(data).hexdigest())
        self.assertEqual((artifact.name, artifact.size_bytes), ("notes.bin", len(data)))
        messages = list(self.runs.DownloadArtifact(
            runs_pb2.DownloadArtifactRequest(id=run.id, name="notes.bin"), timeout=LIMIT_S))
        self.assertEqual(b"".join(message.data for message in messages), data)

    def test_upload_with_a_wrong_sum_keeps_nothing(self):
        run = self.finished(b"true")
        failure = self.failure_of(lambda: self.upload(run, "notes.bin", b"abc", "0" * 64))
        self.assertEqual(failure.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(detail_of(failure).code, "bad_input")
        listed = self.runs.ListArtifacts(runs_pb2.ListArtifactsRequest(id=run.id), timeout=LIMIT_S)
        self.assertNotIn("notes.bin", [artifact.name for artifact in listed.artifacts])

    def test_upload_that_breaks_off_keeps_nothing(self):
        run = self.finished(b"true")
        failure = self.failure_of(lambda: self.upload(run, "notes.bin", b"abc", None))
        self.assertEqual(detail_of(failure).code, "bad_input")
        listed = self.runs.ListArtifacts(runs_pb2.ListArtifactsRequest(id=run.id), timeout=LIMIT_S)
        self.assertNotIn("notes.bin", [artifact.name for artifact in listed.artifacts])

    def test_uploads_beyond_a_users_share_are_refused_and_a_broken_one_makes_room(self):
        run, calls, more = self.finished(b"true"), [], threading.Event()
        self.addCleanup(more.set)

        def messages(number):
            header = runs_pb2.UploadArtifactRequest.Header(id=run.id, name=f"part{number}")
            yield runs_pb2.UploadArtifactRequest(header=header)
            more.wait()

        for number in range(16):
            calls.append(self.runs.UploadArtifact.future(messages(number), timeout=LIMIT_S))
        wait_until(lambda: len(self.temporary_files()) == 16, "all uploads to be under way")
        failure = self.failure_of(lambda: self.upload(run, "more", b"abc", hashlib.sha256(b"abc").hexdigest()))
        self.assertEqual(failure.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        detail = detail_of(failure)
        self.assertEqual(detail.code, "queue_full")
        self.assertIn("uploads of uid", detail.why)
        self.assertTrue(detail.remedy)
        for call in calls:
            call.cancel()
        wait_until(lambda: not self.temporary_files(), "what was uploaded to go")
        self.upload(run, "more", b"abc", hashlib.sha256(b"abc").hexdigest())

    def test_watches_and_waits_that_are_cancelled_at_once_harm_nobody(self):
        run = self.submit(b"sleep", b"20")
        for _ in range(5):
            calls = [self.runs.WatchRun(runs_pb2.WatchRunRequest(id=run.id)) for _ in range(100)]
            calls += [self.runs.WaitRun.future(runs_pb2.WaitRunRequest(id=run.id)) for _ in range(100)]
            for call in calls:
                call.cancel()
        self.assertEqual(self.runs.GetRun(runs_pb2.GetRunRequest(id=run.id), timeout=LIMIT_S).run.id, run.id)
        self.runs.CancelRun(runs_pb2.CancelRunRequest(id=run.id, grace_ms=0), timeout=LIMIT_S)

    def test_a_long_list_comes_in_pages_that_any_client_takes(self):
        ids = [self.submit(b"true", *[b"x" * 100000] * 15).id for _ in range(6)]
        listed, token = [], ""
        while True:
            page = self.runs.ListRuns(runs_pb2.ListRunsRequest(page_token=token), timeout=LIMIT_S)
            listed += [run.id for run in page.runs]
            token = page.next_page_token
            if not token:
                break
        self.assertLessEqual(set(ids), set(listed))
        self.assertEqual(len(listed), len(set(listed)))

    def test_log_can_be_followed_while_it_is_written(self):
        run = self.submit(b"sh", b"-c", b"echo one; sleep 0.5; echo two; echo three >&2")
        self.assertEqual(self.read_log(run, follow=True), b"one\ntwo\n")
        self.assertEqual(self.read_log(run, stream=runs_pb2.OUTPUT_STREAM_STDERR), b"three\n")

    def test_submitting_again_with_the_same_key_starts_nothing(self):
        spec = runs_pb2.RunSpec(tool="command", argv=[b"true"], cwd=b"/")
        request = runs_pb2.SubmitRunRequest(spec=spec, idempotency_key="once")
        first = self.runs.SubmitRun(request, timeout=LIMIT_S).run
        second = self.runs.SubmitRun(request, timeout=LIMIT_S).run
        self.assertEqual(first.id, second.id)

    def test_an_unknown_run_is_not_found_with_a_remedy(self):
        failure = self.failure_of(lambda: self.runs.GetRun(runs_pb2.GetRunRequest(id="zzzz"), timeout=LIMIT_S))
        self.assertEqual(failure.code(), grpc.StatusCode.NOT_FOUND)
        detail = detail_of(failure)
        self.assertEqual(detail.code, "not_found")
        self.assertIn("zzzz", detail.what)
        self.assertTrue(detail.why and detail.remedy)

    def test_a_request_over_a_limit_names_it(self):
        failure = self.failure_of(lambda: self.submit(b"true", *[b"x" * 100] * 20000))
        self.assertEqual(failure.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(detail_of(failure).code, "usage")

    def test_wait_answers_with_the_error_of_the_run(self):
        run = self.submit(b"sh", b"-c", b"exit 3")
        failure = self.failure_of(lambda: self.runs.WaitRun(runs_pb2.WaitRunRequest(id=run.id), timeout=LIMIT_S))
        self.assertEqual(failure.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertEqual(detail_of(failure).code, "command_failed")
        self.assertEqual(self.runs.GetRun(runs_pb2.GetRunRequest(id=run.id), timeout=LIMIT_S).run.exit_code, 3)

    def test_cancelled_run_ends_cancelled(self):
        run = self.submit(b"sleep", b"1000")
        self.runs.CancelRun(runs_pb2.CancelRunRequest(id=run.id), timeout=LIMIT_S)
        failure = self.failure_of(lambda: self.runs.WaitRun(runs_pb2.WaitRunRequest(id=run.id), timeout=LIMIT_S))
        self.assertEqual(failure.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(detail_of(failure).code, "cancelled")

    def test_a_cancelled_watch_ends_and_leaves_a_run_alone(self):
        run = self.submit(b"sleep", b"1000")
        watch = self.runs.WatchRun(runs_pb2.WatchRunRequest(id=run.id), timeout=LIMIT_S)
        next(watch)
        watch.cancel()
        self.assertEqual(self.failure_of(lambda: list(watch)).code(), grpc.StatusCode.CANCELLED)
        again = self.runs.GetRun(runs_pb2.GetRunRequest(id=run.id), timeout=LIMIT_S).run
        self.assertLess(again.state, run_pb2.RUN_STATE_COLLECTING)
        self.runs.CancelRun(runs_pb2.CancelRunRequest(id=run.id, grace_ms=0), timeout=LIMIT_S)
        self.follow(run)

    def test_a_deadline_ends_a_wait_and_leaves_a_run_alone(self):
        run = self.submit(b"sleep", b"1000")
        failure = self.failure_of(lambda: self.runs.WaitRun(runs_pb2.WaitRunRequest(id=run.id), timeout=0.3))
        self.assertEqual(failure.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        again = self.runs.GetRun(runs_pb2.GetRunRequest(id=run.id), timeout=LIMIT_S).run
        self.assertLess(again.state, run_pb2.RUN_STATE_COLLECTING)
        self.runs.CancelRun(runs_pb2.CancelRunRequest(id=run.id, grace_ms=0), timeout=LIMIT_S)
        self.follow(run)


class QuotaTest(KprofdTest):
    CONFIG = "[retention]\nmax_artifact_bytes = 1000000\n"

    def test_an_upload_that_cannot_stay_is_refused_before_it_fills_the_disk(self):
        run, data = self.finished(b"true"), os.urandom(600000)
        self.upload(run, "first", data, hashlib.sha256(data).hexdigest())
        failure = self.failure_of(lambda: self.upload(run, "second", data, hashlib.sha256(data).hexdigest()))
        self.assertEqual(failure.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        detail = detail_of(failure)
        self.assertEqual(detail.code, "storage_full")
        self.assertIn("1000000 bytes", detail.why)
        self.assertIn("max_artifact_bytes", detail.remedy)
        self.assertEqual(self.temporary_files(), [])
        # Of another run it may stay: retention can remove the first one.
        other = self.finished(b"true")
        self.upload(other, "second", data, hashlib.sha256(data).hexdigest())


class QueriesTest(KprofdTest):
    def test_values_keep_their_kinds(self):
        names, rows, totals = self.query("SELECT 9007199254740993 AS i, 2.5 AS r, 'text' AS t, x'ff00' AS b, NULL AS n")
        self.assertEqual(names, ["i", "r", "t", "b", "n"])
        self.assertEqual(rows, [(9007199254740993, 2.5, "text", b"\xff\x00", None)])
        self.assertEqual((totals.rows, totals.truncated), (1, False))

    def test_many_rows_come_in_batches_and_in_order(self):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n"
        _, rows, totals = self.query(sql)
        self.assertEqual(rows, [(i,) for i in range(1, 5001)])
        self.assertEqual((totals.rows, totals.truncated), (5000, False))

    def test_the_row_limit_is_told(self):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n"
        _, rows, totals = self.query(sql, row_limit=10)
        self.assertEqual(len(rows), 10)
        self.assertTrue(totals.truncated)

    def test_the_catalog_is_there(self):
        run = self.finished(b"true", labels={"k": "v"})
        _, rows, _ = self.query(f"SELECT id, state FROM run WHERE id = '{run.id}'")
        self.assertEqual(rows, [(run.id, "done")])

    def test_sql_that_does_not_parse_is_usage(self):
        failure = self.failure_of(lambda: self.query("SELEC 1"))
        self.assertEqual(failure.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(detail_of(failure).code, "usage")

    def test_writing_is_not_permitted(self):
        for sql in ("DELETE FROM run", "CREATE TABLE t (x)", "ATTACH 'x' AS y", "PRAGMA user_version = 7"):
            with self.subTest(sql=sql):
                failure = self.failure_of(lambda: self.query(sql))  # noqa: B023 (called at once)
                self.assertIn(detail_of(failure).code, ("not_permitted", "usage"))

    def cpu_ticks(self):
        with open(f"/proc/{self.daemon.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def test_a_cancelled_query_stops_working(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        stream = self.queries.Query(queries_pb2.QueryRequest(sql=endless, timeout_ms=600000), timeout=LIMIT_S)
        next(stream)  # the columns
        time.sleep(0.3)
        stream.cancel()
        self.assertEqual(self.failure_of(lambda: list(stream)).code(), grpc.StatusCode.CANCELLED)
        quiet_ticks = os.sysconf("SC_CLK_TCK") // 5
        for _ in range(20):
            before = self.cpu_ticks()
            time.sleep(0.5)
            if self.cpu_ticks() - before < quiet_ticks:
                return
        self.fail("the daemon is still busy 10 s after its query was cancelled")


class RestartingRuns(runs_pb2_grpc.RunsServiceServicer):
    def __init__(self):
        self.reads = self.submissions = 0

    def GetRun(self, request, context):
        self.reads += 1
        if self.reads < 3:
            context.abort(grpc.StatusCode.UNAVAILABLE, "it is stopping")
        return runs_pb2.GetRunResponse(run=run_pb2.Run(id=request.id))

    def SubmitRun(self, request, context):
        self.submissions += 1
        context.abort(grpc.StatusCode.UNAVAILABLE, "it is stopping")


class DocsTest(KprofdTest):
    def test_the_example_of_the_docs_works(self):
        with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as file:
            example = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL)[1]
        done = subprocess.run(
            [sys.executable, "-c", example], capture_output=True, text=True, timeout=LIMIT_S, check=False,
            env=dict(os.environ, PYTHONPATH=STUBS.name, KPROF_SOCKET=self.daemon.socket))
        self.assertEqual(done.returncode, 0, done.stderr)
        for expected in ("RUN_STATE_DONE", "from Python\n", "runs so far: 1\n", "NOT_FOUND - not_found - "):
            self.assertIn(expected, done.stdout)

    def test_what_reads_is_asked_again_as_the_docs_say_and_nothing_else(self):
        """Of a server that is away for its first two calls."""
        with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as file:
            config = re.search(r"```json\n(.*?)```", file.read(), re.DOTALL)[1]
        service = RestartingRuns()
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=2))
        runs_pb2_grpc.add_RunsServiceServicer_to_server(service, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.service_config", config)]) as channel:
            runs = runs_pb2_grpc.RunsServiceStub(channel)
            self.assertEqual(runs.GetRun(runs_pb2.GetRunRequest(id="a"), timeout=LIMIT_S).run.id, "a")
            self.assertEqual(service.reads, 3)
            failure = self.failure_of(lambda: runs.SubmitRun(runs_pb2.SubmitRunRequest(), timeout=LIMIT_S))
            self.assertEqual((failure.code(), service.submissions), (grpc.StatusCode.UNAVAILABLE, 1))

    def test_the_docs_ask_again_for_calls_that_there_are(self):
        with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as file:
            config = json.loads(re.search(r"```json\n(.*?)```", file.read(), re.DOTALL)[1])
        for name in config["methodConfig"][0]["name"]:
            proto = name["service"].rpartition(".")[2].removesuffix("Service").lower() + ".proto"
            with open(os.path.join(ROOT, "proto", "kprof", "v1", proto), encoding="utf-8") as file:
                self.assertRegex(file.read(), rf"rpc {name['method']}\(\w+\) returns \(\w+\);")


if __name__ == "__main__":
    unittest.main()
