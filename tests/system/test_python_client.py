"""The Python package, client/python, against a real kprofd: with pandas where it is installed, and as if it were not."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import unittest
from unittest import mock

try:
    import grpc  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("needs python3-grpcio") from error
try:
    import pandas
except ImportError:
    pandas = None

import kprof_testing
from kprof_testing import DaemonTest, OwnDaemonTest

PACKAGE = os.path.join(os.path.dirname(kprof_testing.BIN), "python")
if not os.path.isdir(os.path.join(PACKAGE, "kprof", "v1")):
    raise unittest.SkipTest(f"no package kprof in {PACKAGE}; build kprof_python")
sys.path.insert(0, PACKAGE)

import kprof  # noqa: E402

TRACES = os.path.join(kprof_testing.ROOT, "tests", "golden", "traces")
NO_PANDAS = mock.patch.dict(sys.modules, {"pandas": None})
NEEDS_PANDAS = unittest.skipIf(pandas is None, "needs python3-pandas")


class PythonClientTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.enterClassContext(kprof.connect(cls.daemon.socket))
        [cls.run_of_two] = cls.client.import_(os.path.join(TRACES, "two_ranks"), labels={"model": "small"})

    def fails(self, error_class, code, call):
        with self.assertRaises(error_class) as caught:
            call()
        self.assertIsInstance(caught.exception, kprof.KprofError)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(caught.exception.message, str(caught.exception))
        return caught.exception

    # Runs.

    def test_an_import_is_a_run_with_its_ranks(self):
        run = self.run_of_two
        shown = self.ctl.show(run.id)
        self.assertEqual((run.state, run.tool, run.labels, run.uid), ("done", "import", {"model": "small"}, os.getuid()))
        self.assertEqual(run.trace, {key: shown["trace"][key] for key in run.trace})
        self.assertEqual(run.queued_ns, int(shown["queued_ns"]))
        self.assertIsNone(run.error)
        self.assertEqual(run.query("SELECT rank FROM trace ORDER BY rank").rows(), [{"rank": 0}, {"rank": 1}])

    def test_the_same_import_again_is_the_same_run(self):
        paths = [os.path.join(TRACES, "two_ranks", name) for name in sorted(os.listdir(os.path.join(TRACES, "two_ranks")))]
        [run] = self.client.import_(paths)
        self.assertEqual((run, run.existing), (self.run_of_two, True))
        [anew] = self.client.import_(paths, again=True)
        self.assertEqual((anew == run, anew.existing), (False, False))
        anew.delete()
        self.fails(kprof.NotFound, "not_found", lambda: self.client.run(anew))

    def test_files_of_several_jobs_are_several_runs(self):
        for name in ("one.json", "two.json"):
            shutil.copy(os.path.join(TRACES, "host_only.json"), self.path(name))
        runs = self.client.import_(self.folder, grouping="separate", again=True)
        self.assertEqual([run.state for run in runs], ["done", "done"])
        [run] = self.client.import_(self.path("one.json"), rank=7, again=True)
        self.assertEqual(run.query("SELECT rank FROM trace").rows(), [{"rank": 7}])
        self.assertEqual(run.query("SELECT 1 AS a, 2 AS a, 3 AS b, 4 AS a").rows(), [{"a": 1, "a_2": 2, "b": 3, "a_3": 4}])

    def test_runs_are_listed_newest_first(self):
        runs = self.client.runs(labels={"model": "small"}, tools=["import"], states=["done"])
        self.assertEqual(runs, [self.run_of_two])
        self.assertEqual(self.client.run(self.run_of_two.id[:12]), self.run_of_two)
        self.assertEqual(len(self.client.runs(limit=1)), 1)
        self.fails(kprof.UsageError, "usage", lambda: self.client.runs(states=["finished"]))

    def test_a_run_that_failed_raises_its_error(self):
        with open(self.path("cut.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents": [{"ph": "X", "name": "a", "ts": "nonsense"')
        failure = self.fails(kprof.KprofError, "bad_input", lambda: self.client.import_(self.path("cut.json")))
        self.assertIsInstance(failure, kprof.BadInput)
        run = self.client.run(self.ctl.detach("sh", "-c", "exit 3"))
        failure = self.fails(kprof.ToolError, "command_failed", run.wait)
        self.assertIn("3", failure.message)
        self.assertEqual((run.refresh().exit_code, run.error.code, run.command), (3, "command_failed", ["sh", "-c", "exit 3"]))

    def test_waiting_has_an_end_and_cancelling_as_well(self):
        run = self.client.run(self.ctl.detach("sleep", kprof_testing.unique_seconds()))
        self.fails(kprof.TimedOut, "timed_out", lambda: run.wait(timeout_s=0.2))
        run.cancel()
        self.fails(kprof.Cancelled, "cancelled", run.wait)

    # Analyses.

    def test_every_kind_answers_as_kprofctl_has_it(self):
        kinds = self.client.analyses()
        listed = self.ctl.json("analyze", "--list")["analyses"]
        self.assertEqual([kind["name"] for kind in listed], list(kinds))
        for name, kind in kinds.items():
            with self.subTest(name):
                ran = self.ctl.run("--json", "analyze", name, self.run_of_two.id, expect=None)
                if ran.code != 0:  # compare, for one, needs another run
                    self.fails(kprof.KprofError, ran.error["code"], lambda: self.run_of_two.analyze(name))
                    continue
                answer = self.run_of_two.analyze(name)
                self.assertEqual((answer.kind, answer.version, answer.run_ids), (name, kind.version, [self.run_of_two.id]))
                tables = {table: rows for table, rows in ran.json["result"].items() if isinstance(rows, list) and table in answer.tables}
                self.assertEqual({table: found.rows() for table, found in answer.tables.items()}, tables)
                self.assertEqual(answer.facts, {fact: ran.json["result"][fact] for fact in answer.facts})
                self.assertEqual(answer.notes, ran.json["notes"])
                self.assertEqual([vars(reason) for reason in answer.trust], ran.json["trust"])

    def test_options_are_those_of_kprofctl(self):
        answer = self.run_of_two.analyze("temporal_breakdown", rank=1, from_=0, to=1_000_000, window=None)
        self.assertEqual([row["rank"] for row in answer.tables["ranks"]], [1])
        self.assertEqual(answer.tables["ranks"].rows()[0]["total_ns"], 1_000_000)
        self.assertEqual(answer.tables["ranks"].columns[0].meaning[:8], "The rank")
        failure = self.fails(kprof.UsageError, "usage", lambda: self.run_of_two.analyze("temporal-breakdown", rank=9))
        self.assertNotEqual(failure.remedy, "")
        self.fails(kprof.UsageError, "usage", lambda: self.run_of_two.analyze("no-such-kind"))
        self.fails(kprof.UsageError, "usage", lambda: answer.table("no_such_table"))

    def test_of_several_runs_rows_say_whose_they_are(self):
        [other] = self.client.import_(os.path.join(TRACES, "host_only.json"))
        answer = self.client.analyze("temporal-breakdown", [self.run_of_two, other.id])
        self.assertEqual(answer.run_ids, [self.run_of_two.id, other.id])
        self.assertIn("run", answer.tables["ranks"].rows()[0])

    # Reports.

    def test_a_report_is_what_kprofctl_prints(self):
        run = self.run_of_two
        self.assertEqual(run.report(), self.ctl.run("report", run.id).text)
        self.assertEqual(run.report("json"), json.loads(self.ctl.run("report", run.id, "--format", "json").text))
        self.assertEqual(self.client.report(run.id, "devlog"), self.ctl.run("report", run.id, "--devlog").text)
        self.assertTrue(run.report("timeline.svg").startswith("<svg "))
        [other] = self.client.import_(os.path.join(TRACES, "host_only.json"))
        self.assertEqual(run.report("json", baseline=other)["baseline"], other.id)
        self.fails(kprof.UsageError, "usage", lambda: run.report("pdf"))
        self.fails(kprof.NotFound, "not_found", lambda: run.report("report.pdf"))
        self.fails(kprof.NotFound, "not_found", lambda: run.report(baseline="nothing"))

    def test_a_report_goes_into_a_folder(self):
        paths = self.run_of_two.save_report(self.path("of/two"))
        self.assertEqual(sorted(os.listdir(self.path("of/two"))), sorted(os.path.basename(path) for path in paths))
        with open(self.path("of/two/report.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.run_of_two.report())
        self.fails(kprof.NotFound, "not_found", lambda: self.client.save_report("nothing", self.path("none")))
        self.assertFalse(os.path.exists(self.path("none")))

    # SQL.

    def test_sql_gives_values_as_they_are(self):
        result = self.client.query("SELECT 9007199254740993 AS i, 0.5 AS r, 'ü' AS t, x'00ff' AS b, NULL AS n")
        self.assertEqual(result.rows(), [{"i": 9007199254740993, "r": 0.5, "t": "ü", "b": b"\x00\xff", "n": None}])
        self.assertEqual((len(result), result.truncated), (1, False))

    def test_more_rows_than_asked_for_are_said_to_be_there(self):
        result = self.run_of_two.query("SELECT name FROM slice", limit=3)
        self.assertEqual((len(result), result.truncated), (3, True))
        self.fails(kprof.UsageError, "usage", lambda: self.client.query("SELECT name FROM slice"))
        self.fails(kprof.UsageError, "usage", lambda: self.client.query("SELECT 1", limit=1 << 40))
        self.fails(kprof.NotPermitted, "not_permitted", lambda: self.client.query("DELETE FROM run"))

    def test_rows_come_one_by_one_and_the_rest_may_stay(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        with contextlib.closing(self.client.iterate(endless)) as rows:
            self.assertEqual([next(rows)["i"] for _ in range(5000)], list(range(1, 5001)))
        self.assertEqual(sum(row["i"] for row in self.client.iterate(endless, limit=100)), 5050)
        self.fails(kprof.UsageError, "usage", lambda: list(self.client.iterate("SELECT nothing")))

    def test_threads_share_a_client(self):
        found = []

        def ask():
            found.append(self.client.query("SELECT count(*) AS n FROM slice", runs=self.run_of_two).rows()[0]["n"])
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [self.run_of_two.trace["slices"]] * 8)

    # Tables.

    def test_without_pandas_tables_are_lists_of_dicts(self):
        with NO_PANDAS:
            answer = self.run_of_two.analyze("temporal-breakdown")
            self.assertEqual(answer.table(), answer.tables["ranks"].rows())
            self.assertEqual(answer.table("ranks")[1]["rank"], 1)
            self.assertEqual(self.run_of_two.query("SELECT 1 AS one").table(), [{"one": 1}])
            failure = self.fails(kprof.UsageError, "usage", answer.tables["ranks"].frame)
            self.assertIn("python3-pandas", failure.remedy)

    @NEEDS_PANDAS
    def test_with_pandas_tables_are_frames_of_typed_columns(self):
        answer = self.run_of_two.analyze("temporal-breakdown")
        frame = answer.table()
        self.assertEqual(frame.to_dict("records"), answer.tables["ranks"].rows())
        self.assertEqual((str(frame["idle_ns"].dtype), str(frame["idle_percent"].dtype)), ("int64", "float64"))
        self.assertEqual(frame.attrs["columns"]["idle_ns"]["unit"], "ns")

    @NEEDS_PANDAS
    def test_frames_keep_what_floats_would_lose(self):
        result = self.client.query("SELECT 9007199254740993 AS big, 'a' AS same, 1 AS mixed, 'b' AS same "
                                   "UNION ALL SELECT NULL, 'c', 0.5, NULL", limit=2)
        frame = result.table()
        self.assertEqual([str(kind) for kind in frame.dtypes], ["Int64", "object", "object", "object"])
        self.assertEqual(list(frame.columns), ["big", "same", "mixed", "same"])
        self.assertEqual((int(frame["big"][0]), frame["mixed"][1], frame.attrs["truncated"]), (9007199254740993, 0.5, False))
        self.assertIn("<table", result._repr_html_())
        self.assertEqual(len(self.client.query("SELECT id FROM run WHERE 0").table()), 0)


class FindingKprofdTest(OwnDaemonTest):
    def ask(self, **environment):
        """What a program says that connects without naming a socket."""
        clean = {name: value for name, value in os.environ.items() if name not in ("KPROF_SOCKET", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")}
        program = """
import json, kprof
try:
    with kprof.connect() as client:
        print(json.dumps({"socket": client.socket, "version": client.version()}))
except kprof.KprofError as error:
    print(json.dumps({"class": type(error).__name__, "code": error.code, "message": error.message, "remedy": error.remedy}))
"""
        ran = subprocess.run([sys.executable, "-c", program], env={**clean, "PYTHONPATH": PACKAGE, "HOME": self.folder, **environment},
                             capture_output=True, text=True, timeout=kprof_testing.LIMIT_S, check=True)
        return json.loads(ran.stdout)

    def test_it_looks_where_kprofctl_looks(self):
        self.daemon.start()
        version = kprof.connect(self.daemon.socket).version()
        self.assertEqual(self.ask(KPROF_SOCKET=self.daemon.socket), {"socket": self.daemon.socket, "version": version})
        os.makedirs(os.path.join(self.folder, "run", "kprof"))
        own = os.path.join(self.folder, "run", "kprof", "kprofd.sock")
        os.symlink(self.daemon.socket, own)
        self.assertEqual(self.ask(XDG_RUNTIME_DIR=os.path.join(self.folder, "run")), {"socket": own, "version": version})

    def test_where_there_is_none_it_says_how_to_start_one(self):
        said = self.ask(KPROF_SOCKET=os.path.join(self.folder, "none.sock"))
        self.assertEqual((said["class"], said["code"]), ("NoDaemon", "no_daemon"))
        self.assertIn("none.sock", said["message"])
        self.assertIn("kprofd --user", said["remedy"])

    def test_a_daemon_that_dies_is_told(self):
        self.daemon.start()
        client = kprof.connect(self.daemon.socket, patience_s=0)
        self.assertEqual(client.runs(), [])
        self.daemon.kill()
        with self.assertRaises(kprof.NoDaemon):
            client.runs()


if __name__ == "__main__":
    unittest.main()
