"""`kprofctl query` over the catalog, in its four formats."""

import csv
import io
import json
import time
import unittest

import kprof_testing
from kprof_testing import DaemonTest


class QueryTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = cls.ctl.capture("sh", "-c", "echo a, b", options=("--label", "k=v"))
        cls.second = cls.ctl.capture("sh", "-c", "exit 2", expect="command_failed")

    SQL = "SELECT id, state, exit_code, error_code FROM run ORDER BY id"

    def test_json_is_one_object(self):
        answer = self.ctl.json("query", self.SQL)
        self.assertEqual(set(answer), {"schema", "columns", "rows", "truncated", "elapsed_ms"})
        self.assertEqual(answer["schema"], "kprof.rows.v1")
        self.assertEqual(answer["columns"], ["id", "state", "exit_code", "error_code"])
        self.assertEqual(answer["rows"], [[self.first["id"], "done", 0, None],
                                          [self.second["id"], "failed", 2, "command_failed"]])
        self.assertIs(answer["truncated"], False)
        self.assertEqual(self.ctl.run("query", "--format", "json", "SELECT 1 AS one").json["rows"], [[1]])

    def test_ndjson_is_an_object_per_row(self):
        lines = self.ctl.run("query", "--format", "ndjson", self.SQL).text.splitlines()
        self.assertEqual([json.loads(line)["state"] for line in lines], ["done", "failed"])

    def test_csv_can_be_read(self):
        ran = self.ctl.run("query", "--format", "csv", "SELECT command, exit_code FROM run ORDER BY id")
        rows = list(csv.reader(io.StringIO(ran.text)))
        self.assertEqual(rows[0], ["command", "exit_code"])
        self.assertIn("a, b", rows[1][0])
        self.assertEqual(rows[2][1], "2")

    def test_a_table_has_a_title(self):
        lines = self.ctl.run("query", self.SQL).text.splitlines()
        self.assertEqual(lines[0].split(), ["id", "state", "exit_code", "error_code"])
        self.assertEqual(len(lines), 3)

    def test_blobs_and_absent_values_are_told_from_text(self):
        sql = "SELECT x'00ff' AS b, NULL AS n, '' AS e, 'z' AS z"
        self.assertEqual(self.ctl.run("query", sql).text.splitlines()[1].split(), ["x'00ff'", "NULL", "z"])
        self.assertEqual(self.ctl.run("query", "--format", "csv", sql).text, "b,n,e,z\r\nx'00ff',,\"\",z\r\n")
        self.assertEqual(self.ctl.json("query", sql)["rows"], [["\0\\xff", None, "", "z"]])

    def test_json_that_breaks_off_is_still_one_object(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        ran = self.ctl.run("--json", "query", "--timeout", "200ms", "--limit", "10000000", endless, expect="timed_out")
        self.assertGreater(len(ran.json["rows"]), 0)
        self.assertEqual((ran.json["truncated"], ran.json["elapsed_ms"]), (True, None))
        self.assertEqual(ran.json["error"], {key: ran.error[key] for key in ("code", "message", "remedy")})

    def test_large_numbers_stay_exact(self):
        sql = f"SELECT started_ns, 9007199254740993 AS big, 1.5 AS real FROM run WHERE id = '{self.first['id']}'"
        answer = self.ctl.json("query", sql)
        self.assertEqual(answer["rows"], [[self.first["started_ns"], "9007199254740993", 1.5]])

    def test_what_hangs_on_a_run_is_there(self):
        rows = self.ctl.json("query", "SELECT key, value FROM label")["rows"]
        self.assertEqual(rows, [["k", "v"]])
        rows = self.ctl.json("query", f"SELECT name, size_bytes, sha256 FROM artifact WHERE run = '{self.first['id']}'")["rows"]
        keys = ("name", "size_bytes", "sha256")
        self.assertEqual(rows, [[artifact[key] for key in keys] for artifact in self.first["artifacts"]])
        rows = self.ctl.json("query", f"SELECT value FROM metric WHERE run = '{self.first['id']}' AND name = 'wall_ns'")["rows"]
        self.assertEqual(rows, [[self.first["metrics"]["wall_ns"]]])

    def test_sql_comes_from_a_file_or_a_pipe_too(self):
        path = self.write("q.sql", "SELECT 42 AS x")
        self.assertEqual(self.ctl.json("query", "@" + path)["rows"], [[42]])
        with open(path, "rb") as file:
            self.assertEqual(self.ctl.json("query", "-", stdin=file)["rows"], [[42]])

    def test_limits_are_told(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        ran = self.ctl.run("--json", "query", "--limit", "10", endless)
        self.assertEqual((len(ran.json["rows"]), ran.json["truncated"]), (10, True))
        self.assertIn(b"cut off after 10 rows", ran.err)
        ran = self.ctl.run("--json", "query", "--timeout", "200ms", endless.replace("SELECT i FROM", "SELECT count(*) FROM"),
                           expect="timed_out")
        self.assertEqual(ran.error["code"], "timed_out")
        ran = self.ctl.run("--json", "query", "--timeout", "11m", "SELECT 1", expect="usage")
        self.assertIn("600000", ran.error["message"])

    def test_a_short_query_answers_beside_long_ones(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        timeout = f"{8 * kprof_testing.SLOW}s"
        long = [self.ctl.start("--json", "query", "--timeout", timeout, endless) for _ in range(8)]
        time.sleep(1.5)  # two begin anew when six have places
        for _ in range(3):
            self.assertEqual(self.ctl.json("query", "SELECT 1")["rows"], [[1]])
        still_running = sum(process.poll() is None for process in long)
        ends = [json.loads(process.communicate()[1].splitlines()[-1])["code"] for process in long]
        self.assertGreaterEqual(still_running, 6)  # none that had a place has ended
        self.assertIn(ends.count("timed_out"), (6, 7, 8), ends)
        self.assertLessEqual(set(ends), {"timed_out", "queue_full"})

    def test_what_is_not_allowed_is_refused(self):
        for sql in ("DELETE FROM run", "UPDATE run SET state = 'done'", "SELECT * FROM runs", "SELECT * FROM facts",
                    "SELECT * FROM sqlite_schema", "ATTACH '/etc/passwd' AS x", "PRAGMA user_version", "SELECT load_extension('x')",
                    "SELECT readfile('/etc/passwd')", "VACUUM INTO '/tmp/x'", "SELECT 1; SELECT 2", "", "SELEC 1", "BEGIN"):
            with self.subTest(sql=sql):
                ran = self.ctl.run("--json", "query", sql, expect=None)
                self.assertIn(ran.error["code"], ("usage", "not_permitted"), ran)
                self.assertIn(ran.code, (2, 5))
        self.assertEqual(self.ctl.json("query", "SELECT count(*) FROM run")["rows"], [[2]])


if __name__ == "__main__":
    unittest.main()
