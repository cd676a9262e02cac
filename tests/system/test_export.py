"""Traces written for other readers: what a file of each format holds, and that nothing half-done is left."""

import csv
import io
import json
import os
import subprocess

import ncu_report_writer as ncu
from kprof_testing import LIMIT_S, OwnDaemonTest, temporary_folder
from test_import import chrome_trace


class ExportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def import_files(self, *contents):
        paths = []
        for number, content in enumerate(contents):
            paths.append(os.path.join(self.files, f"worker{5 + number}.json"))
            with open(paths[-1], "wb") as file:
                file.write(content)
        return self.daemon.ctl.json("import", *paths)["id"]

    def export(self, run, kind, to, *options):
        return self.daemon.ctl.json("export", run, "--format", kind, "-o", to, *options)

    def rows(self, run):
        """All that SQL says of a run's trace, without its id."""
        tables = {"slice": "track_id, ts_ns, dur_ns, name, category, depth, args", "counter": "track_id, ts_ns, value",
                  "instant": "track_id, ts_ns, name, args", "track": "id, kind, name, pid, tid, rank"}
        return {table: self.daemon.ctl.json("query", "--run", run, f"SELECT {columns} FROM {table} ORDER BY 1, 2")["rows"]
                for table, columns in tables.items()}

    def test_chrome_reads_back_as_the_same_rows(self):
        run = self.import_files(chrome_trace(500))
        path = os.path.join(self.files, "out.json")
        said = self.export(run, "chrome", path)
        self.assertEqual(said["files"][0]["size_bytes"], os.path.getsize(path))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(len([event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]), 500)
        again = self.daemon.ctl.json("import", path)["id"]
        self.assertNotEqual(again, run)
        self.assertEqual(self.rows(again), self.rows(run))

    def test_a_folder_that_is_not_there_is_made(self):
        run = self.import_files(chrome_trace(3), chrome_trace(4))
        out = os.path.join(self.files, "ranks", "")
        self.export(run, "csv", out)
        self.assertEqual(sorted(os.listdir(out)), [f"{run}-rank5.csv", f"{run}-rank6.csv"])

    def test_a_folder_gets_a_file_for_each_rank(self):
        run = self.import_files(chrome_trace(3), chrome_trace(4))
        out = os.path.join(self.files, "out")
        os.mkdir(out)
        said = self.export(run, "csv", out)
        self.assertEqual(sorted(os.listdir(out)), [f"{run}-rank5.csv", f"{run}-rank6.csv"])
        self.assertEqual([file["rows"] for file in said["files"]], [5, 6])
        with open(os.path.join(out, f"{run}-rank6.csv"), encoding="utf-8") as file:
            self.assertEqual([row["name"] for row in csv.DictReader(file)], [f"step {i}" for i in range(4)])
        both = list(csv.DictReader(io.StringIO(self.daemon.ctl.run(
            "export", run, "--format", "csv", "-o", "-").out.decode())))
        self.assertEqual(sorted(row["rank"] for row in both), ["5"] * 3 + ["6"] * 4)
        one = self.daemon.ctl.run("export", run, "--format", "csv", "--rank", "6", "-o", "-").out.decode()
        self.assertEqual({row["rank"] for row in csv.DictReader(io.StringIO(one))}, {"6"})

    def test_perfetto_is_written(self):
        run = self.import_files(chrome_trace(50))
        content = self.daemon.ctl.run("export", run, "--format", "perfetto", "-o", "-").out
        self.assertEqual(content[:1], b"\x0a")  # field 1 of a Trace: a packet
        self.assertIn(b"step 3", content)

    def test_the_environment_of_who_was_profiled_stays_here(self):
        trace = json.loads(chrome_trace(2))
        trace["env"] = {"CUDA_HOME": "/opt/secret", "SECRET_TOKEN": "hush"}
        trace["traceEvents"][1]["args"]["env"] = {"PASSWORD": "hush"}
        run = self.import_files(json.dumps(trace).encode())
        for kind in ("chrome", "perfetto", "csv"):
            self.assertNotIn(b"hush", self.daemon.ctl.run("export", run, "--format", kind, "-o", "-").out)

    def test_what_is_not_there_is_said(self):
        run = self.import_files(chrome_trace(2))
        out = os.path.join(self.files, "out.json")
        said = self.daemon.ctl.run("export", run, "--format", "xml", "-o", out, expect="usage").err.decode()
        self.assertIn("chrome, perfetto, csv", said)
        self.daemon.ctl.run("export", run, "--format", "csv", "--rank", "9", "-o", out, expect="usage")
        bare = self.daemon.ctl.capture("true")["id"]
        self.daemon.ctl.run("export", bare, "--format", "csv", "-o", out, expect="usage")
        self.daemon.ctl.run("export", "01nothing", "--format", "csv", "-o", out, expect="not_found")
        self.daemon.ctl.run("export", run, "--format", "csv", "-o", "/nonexistent/x", expect="usage")
        self.assertFalse(os.path.exists(out))

    def test_a_report_of_kernels_has_no_timeline_and_that_is_said(self):
        path = os.path.join(self.files, "report.ncu-rep")
        with open(path, "wb") as file:
            file.write(ncu.report([ncu.launch("copy", {"gpu__time_duration.sum": 2500.0})]))
        run = self.daemon.ctl.json("import", path)["id"]
        written = self.daemon.ctl.run("export", run, "--format", "csv", "-o", os.path.join(self.files, "out.csv"))
        self.assertIn(f"kprofctl analyze kernels {run} --format csv", written.err.decode())
        self.assertIn('"copy"', json.dumps(self.daemon.ctl.json("analyze", "kernels", run)))

    def test_a_run_that_is_deleted_meanwhile_is_whole_or_not_there(self):
        run = self.import_files(chrome_trace(200_000))
        ctl = self.daemon.ctl.start("export", run, "--format", "chrome", "-o", "-", stdout=subprocess.PIPE)
        begin = ctl.stdout.read(100)
        self.assertTrue(begin.startswith(b"{"))
        self.daemon.ctl.run("delete", run)
        rest = ctl.stdout.read()
        self.assertEqual(ctl.wait(timeout=LIMIT_S), 0)
        self.assertEqual(len([e for e in json.loads(begin + rest)["traceEvents"] if e["ph"] == "X"]), 200_000)
