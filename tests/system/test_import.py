"""Traces read into runs: what is kept, what is said, and that nothing half-done is ever seen."""

import json
import os
import signal
import sqlite3
import subprocess
import unittest

from kprof_testing import EXIT, LIMIT_S, OwnDaemonTest, as_in_a_terminal, children_of, temporary_folder, wait_until


def chrome_trace(slices):
    """A small Chrome trace: so many slices on one thread, one instant, one value of a counter."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]
    events += [{"ph": "X", "name": f"step {i % 7}", "cat": "cpu_op", "pid": 1, "tid": 2, "ts": 10 * i, "dur": 5.25,
                "args": {"i": i}} for i in range(slices)]
    events += [{"ph": "i", "name": "mark", "pid": 1, "tid": 2, "ts": 1, "s": "t"},
               {"ph": "C", "name": "memory", "pid": 1, "ts": 2, "args": {"bytes": 7}}]
    return json.dumps({"schemaVersion": 1, "traceEvents": events}, separators=(",", ":")).encode()


def catches(pid, number):
    """Whether a process has a handler for a signal."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        [caught] = [int(line.split()[1], 16) for line in status if line.startswith("SigCgt")]
    return bool(caught >> (number - 1) & 1)


class ImportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def write(self, name, content):
        path = os.path.join(self.files, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def large(self, name="large.json"):
        """One that takes a while: a hundred megabytes."""
        path = os.path.join(self.files, name)
        event = b'{"ph":"X","name":"step","cat":"cpu_op","pid":1,"tid":2,"ts":%d,"dur":5,"args":{"i":%d}},\n'
        with open(path, "wb") as file:
            file.write(b'{"traceEvents":[\n')
            for begin in range(0, 1_200_000, 10_000):
                file.write(b"".join(event % (10 * i, i) for i in range(begin, begin + 10_000)))
            file.write(b'{"ph":"i","name":"end","pid":1,"tid":2,"ts":0}]}\n')
        return path

    def files_of(self, run):
        folder = os.path.join(self.daemon.state, "runs", run)
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def assert_nothing_is_left_of(self, run):
        shown = self.daemon.ctl.show(run)
        self.assertIsNone(shown["trace"])
        self.assertEqual(shown["artifacts"], [])
        wait_until(lambda: self.files_of(run) == [], "its folder to be gone")
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])
        self.assertEqual(self.daemon.ctl.json("query", f"SELECT count(*) FROM trace WHERE run = '{run}'")["rows"], [[0]])

    def test_a_trace_is_kept_and_shown(self):
        content = chrome_trace(100)
        run = self.daemon.ctl.json("import", self.write("a.json", content), "--label", "job=7")
        self.assertEqual((run["state"], run["tool"], run["device"], run["labels"]), ("done", "import", [], {"job": "7"}))
        self.assertEqual(run["command"], ["import", "a.json"])
        self.assertEqual(run["trace"]["slices"], 100)
        self.assertEqual(run["trace"]["source_bytes"], len(content))
        self.assertGreater(run["trace"]["bytes"], 0)
        self.assertEqual(self.daemon.ctl.show(run["id"])["trace"], run["trace"])
        self.assertEqual(self.files_of(run["id"]), ["trace.trace.db"])
        rows = self.daemon.ctl.json("query", "SELECT part, source, source_bytes, slices FROM trace")["rows"]
        self.assertEqual(rows, [["trace", "a.json", len(content), 100]])
        self.assertIsNone(self.daemon.ctl.capture("true")["trace"])
        self.daemon.ctl.run("delete", run["id"])
        self.assertEqual(self.files_of(run["id"]), [])

    def test_what_is_no_slice_instant_or_sample_can_be_asked_for(self):
        events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
                  {"ph": "X", "name": "launch", "pid": 1, "tid": 2, "ts": 0, "dur": 9},
                  {"ph": "E", "name": "lone", "cat": "op", "pid": 1, "tid": 3, "ts": 4, "args": {"i": 1}},
                  {"ph": "C", "name": "memory", "pid": 1, "ts": 5, "args": {"bytes": 7, "device": "cuda:0"}},
                  {"ph": "Q", "name": "odd", "pid": 1, "tid": 2, "ts": 6, "cname": "red"},
                  {"ph": "what", "name": "odder", "pid": 1, "tid": 2, "ts": 7},
                  {"ph": "s", "name": "arrow", "cat": "ac2g", "id": 5, "pid": 1, "tid": 2, "ts": 1},
                  {"ph": "f", "name": "arrow", "cat": "ac2g", "id": 6, "pid": 1, "tid": 3, "ts": 8, "bp": "e", "args": {"i": 2}}]
        run = self.daemon.ctl.json("import", self.write("a.json", json.dumps(events).encode()))["id"]

        def ask(sql):
            return self.daemon.ctl.json("query", "--run", run, sql)["rows"]

        self.assertEqual(ask("SELECT phase, ts_ns, name, category, args, beside FROM metadata ORDER BY ts_ns"), [
            ["M", 0, "process_name", None, '{"name":"python"}', None],
            ["E", 4000, "lone", "op", '{"i":1}', None],
            ["C", 5000, "memory", None, '{"device":"cuda:0"}', None],
            ["Q", 6000, "odd", None, None, '{"cname":"red"}'],
            [None, 7000, "odder", None, None, '{"ph":"what"}']])
        self.assertEqual(ask("SELECT p.phase, p.flow_id, p.ts_ns, s.name, p.args, p.beside FROM flow_point p"
                             " LEFT JOIN slice s ON s.id = p.slice ORDER BY p.ts_ns"), [
            ["s", "5", 1000, "launch", None, None], ["f", "6", 8000, None, '{"i":2}', '{"bp":"e"}']])
        self.assertEqual(ask("SELECT * FROM flow"), [])

    def test_the_short_report_says_what_came_of_it(self):
        said = self.daemon.ctl.run("import", self.write("a.json", chrome_trace(3))).text
        self.assertIn("3 slices", said)
        self.assertIn("a.json", said)

    def test_the_ranks_of_a_job_are_the_parts_of_one_run(self):
        for name in ("worker2.json", "worker0.json", "worker1.json"):
            self.write(name, chrome_trace(5))
        self.write("notes.txt", b"no trace")
        run = self.daemon.ctl.json("import", self.files)
        self.assertEqual(self.files_of(run["id"]), ["rank0.trace.db", "rank1.trace.db", "rank2.trace.db"])
        self.assertEqual(run["trace"]["slices"], 15)
        rows = self.daemon.ctl.json("query", "SELECT part, rank, source FROM trace ORDER BY rank")["rows"]
        self.assertEqual(rows, [[f"rank{i}", i, f"worker{i}.json"] for i in range(3)])
        part = sqlite3.connect(os.path.join(self.daemon.state, "runs", run["id"], "rank2.trace.db"))
        self.addCleanup(part.close)
        self.assertEqual(part.execute("SELECT value FROM fact WHERE name = 'rank'").fetchall(), [(2,)])
        one = self.daemon.ctl.json("import", self.write("x.json", chrome_trace(6)), "--rank", "34")
        self.assertEqual(self.files_of(one["id"]), ["rank34.trace.db"])

    def test_what_in_a_folder_is_no_trace_is_left_out_and_named(self):
        self.write("worker0.json", chrome_trace(5))
        self.write("worker1.json", chrome_trace(6))
        config = self.write("config.json", b'{"model": {"layers": 7}}')
        self.write("words.json", b'["a", "b"]')
        self.write("report.nsys-rep", b"\x02 bytes of a tool")
        run = self.daemon.ctl.json("import", self.files)
        self.assertEqual((run["state"], run["trace"]["slices"]), ("done", 11))
        self.assertEqual([reason["code"] for reason in run["trust"]], ["source_left_out"] * 3)
        said = self.daemon.ctl.run("show", run["id"]).text
        self.assertIn("config.json' is no trace: ", said)
        self.assertIn('it has no list "traceEvents"', said)
        for name in ("words.json", "report.nsys-rep"):
            self.assertIn(name + "' is no trace: ", said)
        self.daemon.ctl.run("import", os.path.join(self.files, "worker0.json"), config, expect="bad_input")
        self.daemon.ctl.run("import", config, expect="bad_input")
        self.write("worker1.json", b'{"traceEvents": [garbage]}')
        self.assertIn("worker1.json", self.daemon.ctl.run("import", self.files, expect="bad_input").err.decode())
        for name in ("worker0.json", "worker1.json"):
            os.remove(os.path.join(self.files, name))
        failed = self.daemon.ctl.run("--json", "import", self.files, expect="bad_input")
        self.assertIn("none of its 3 files is a trace", failed.err.decode())
        self.assertIn("config.json", failed.err.decode())
        self.assert_nothing_is_left_of(failed.json["id"])

    def test_a_file_given_twice_is_refused(self):
        path = self.write("a.json", chrome_trace(5))
        os.symlink(path, os.path.join(self.files, "b.json"))
        said = self.daemon.ctl.run("import", self.files, expect="usage").err.decode()
        self.assertIn("a.json and ", said)
        self.assertIn("b.json are the same file", said)
        copy = self.write("c.json", chrome_trace(5))
        said = self.daemon.ctl.run("import", path, copy, expect="bad_input").err.decode()
        self.assertIn("a.json' and '", said)
        self.assertIn("c.json' have the same bytes", said)

    def test_the_same_again_is_the_run_that_is_there(self):
        path = self.write("a.json", chrome_trace(10))
        first = self.daemon.ctl.json("import", path)["id"]
        again = self.daemon.ctl.run("--json", "import", self.write("copy.json", chrome_trace(10)))
        self.assertEqual(again.json["id"], first)
        self.assertIn("imported before", again.err.decode())
        self.daemon.ctl.capture("true")
        self.daemon.ctl.run("import", path)
        self.assertEqual(self.daemon.ctl.show("@last")["id"], first)
        self.daemon.ctl.run("import", self.write("bad.json", b"no trace"), expect="bad_input")
        self.assertEqual(self.daemon.ctl.show("@last")["state"], "failed")
        self.assertEqual(self.daemon.ctl.show("@last~1")["id"], first)
        self.assertNotEqual(self.daemon.ctl.json("import", path, "--again")["id"], first)
        self.assertNotEqual(self.daemon.ctl.json("import", path, "--rank", "3")["id"], first)
        self.assertNotEqual(self.daemon.ctl.json("import", self.write("a.json", chrome_trace(11)))["id"], first)

    def test_the_source_is_kept_where_that_is_wanted(self):
        content = chrome_trace(10)
        run = self.daemon.ctl.json("import", self.write("a.json", content), "--keep-source")
        self.assertEqual([artifact["name"] for artifact in run["artifacts"]], ["a.json"])
        self.assertEqual(self.daemon.ctl.run("artifacts", run["id"], "get", "a.json", "-o", "-").out, content)

    def test_standard_input_is_sent(self):
        ctl = self.daemon.ctl.start("--json", "import", "-", stdin=subprocess.PIPE)
        out, err = ctl.communicate(chrome_trace(4), timeout=LIMIT_S)
        self.assertEqual(ctl.returncode, 0, err)
        self.assertEqual(json.loads(out)["trace"]["slices"], 4)
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])

    def test_what_cannot_be_read_fails_and_is_named(self):
        good, bad = self.write("good.json", chrome_trace(5)), self.write("bad.json", b"\0no trace at all\n")
        ran = self.daemon.ctl.run("--json", "import", good, bad, expect="bad_input")
        self.assertIn("bad.json", ran.err.decode())
        self.assert_nothing_is_left_of(ran.json["id"])
        self.daemon.ctl.run("import", os.path.join(self.files, "absent.json"), expect="bad_input")
        self.daemon.ctl.run("import", good, bad, "--rank", "1", expect="usage")
        with temporary_folder("t-") as empty:
            self.daemon.ctl.run("import", empty, expect="usage")

    def start_large(self, *options):
        """A large one that is being read, and its id. Its reader stands still, so that it is not faster than we."""
        ctl = self.daemon.ctl.start("--json", "import", self.large(), *options, preexec_fn=as_in_a_terminal)
        self.addCleanup(ctl.communicate)
        self.addCleanup(ctl.kill)

        [reader] = wait_until(lambda: children_of(self.daemon.pid), "its reader", every_s=0.001)
        # kprofd itself stands still until it is another program.
        wait_until(lambda: "kprof-ingest" in os.readlink(f"/proc/{reader}/exe"), "that to begin", every_s=0.001)
        os.kill(reader, signal.SIGSTOP)
        [run] = self.daemon.ctl.json("runs")["runs"]
        self.assertIn(run["state"], ("preparing", "running"))
        return ctl, run["id"]

    def test_each_part_says_the_rank_that_the_run_gives_it(self):
        def of_rank(rank, step):
            return json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": [
                {"ph": "X", "name": f"step {step}", "pid": 1, "tid": 1, "ts": step, "dur": 1}]}).encode()
        paths = [self.write("a.json", of_rank(4, 1)), self.write("b.json", of_rank(4, 2)),
                 self.write("worker2.json", chrome_trace(3)), self.write("c.json", chrome_trace(4))]
        run = self.daemon.ctl.json("import", "--one-run", *paths)["id"]
        told = {}
        for name in self.files_of(run):
            with sqlite3.connect(os.path.join(self.daemon.run_folder(run), name)) as part:
                told[name] = part.execute("SELECT value FROM fact WHERE name = 'rank'").fetchall()
        self.assertEqual(told, {f"rank{part}.trace.db": [(int(part[0]),)] for part in ("0", "2", "4", "4_2")})
        rows = self.daemon.ctl.json("query", "SELECT rank, source, slices FROM trace ORDER BY rank, source")["rows"]
        self.assertEqual(rows, [[0, "c.json", 4], [2, "worker2.json", 3], [4, "a.json", 1], [4, "b.json", 1]])

    def test_a_cancelled_import_leaves_nothing(self):
        ctl, run = self.start_large()
        self.daemon.ctl.run("cancel", run)
        self.assertEqual(ctl.wait(timeout=LIMIT_S), EXIT["cancelled"])
        self.assert_nothing_is_left_of(run)

    def test_ctrl_c_cancels_it(self):
        ctl, run = self.start_large()
        ctl.send_signal(signal.SIGINT)
        self.assertEqual(ctl.wait(timeout=LIMIT_S), EXIT["cancelled"])
        self.assertEqual(self.daemon.ctl.show(run)["state"], "cancelled")
        self.assert_nothing_is_left_of(run)

    def test_a_pipe_is_waited_for_and_ctrl_c_ends_that(self):
        path = os.path.join(self.files, "pipe.json")
        os.mkfifo(path)
        silent, keep_open = os.pipe()
        self.addCleanup(os.close, keep_open)
        for source, stdin in ((path, subprocess.DEVNULL), ("-", silent)):
            ctl = self.daemon.ctl.start("import", source, stdin=stdin, preexec_fn=as_in_a_terminal)
            self.addCleanup(ctl.communicate)
            self.addCleanup(ctl.kill)
            wait_until(lambda ctl=ctl: catches(ctl.pid, signal.SIGINT), "kprofctl to mind signals")
            ctl.send_signal(signal.SIGINT)
            self.assertEqual(ctl.wait(timeout=LIMIT_S), EXIT["cancelled"])
        os.close(silent)
        self.assertEqual(self.daemon.ctl.json("runs")["runs"], [])
        ctl = self.daemon.ctl.start("--json", "import", path)
        with open(path, "wb") as pipe:  # once there is a reader
            pipe.write(chrome_trace(100_000))
        out, _ = ctl.communicate(timeout=LIMIT_S)
        self.assertEqual(json.loads(out)["trace"]["slices"], 100_000)

    def test_of_a_folder_pipes_are_passed_over(self):
        os.mkfifo(os.path.join(self.files, "pipe.json"))
        self.write("a.json", chrome_trace(3))
        ran = self.daemon.ctl.run("--json", "import", self.files)
        self.assertEqual(ran.json["trace"]["slices"], 3)
        self.assertIn("pipe.json: of a folder only regular files are read", str(ran.err))

    def test_a_killed_daemon_leaves_nothing_half_done(self):
        _, run = self.start_large("--detach")
        self.daemon.kill()
        self.daemon.start()
        shown = self.daemon.ctl.wait_for_state(run, "done", "failed")
        self.assertEqual(shown["error"]["code"], "lost_daemon")
        self.assert_nothing_is_left_of(run)

    def test_a_detached_import_goes_on_without_its_client(self):
        run = self.daemon.ctl.json("import", self.write("a.json", chrome_trace(10)), "--detach")["id"]
        self.assertEqual(self.daemon.ctl.wait(run)["trace"]["slices"], 10)

    def test_an_import_is_in_the_audit(self):
        run = self.daemon.ctl.json("import", self.write("a.json", chrome_trace(1)))["id"]
        actions = self.daemon.ctl.json("query", f"SELECT action FROM audit WHERE run = '{run}'")["rows"]
        self.assertEqual(actions, [["submit"]])


class StorageTest(OwnDaemonTest):
    def test_more_than_its_owner_may_store_is_not_kept(self):
        self.daemon.configure("[limits]\nstored_bytes_per_user = 20000\n")
        self.daemon.start()
        path = os.path.join(self.folder, "a.json")
        with open(path, "wb") as file:
            file.write(chrome_trace(2000))
        self.daemon.ctl.run("import", path, "--keep-source", expect="storage_full")  # it is known before
        self.assertEqual(self.daemon.ctl.json("runs")["runs"], [])
        self.daemon.configure("[limits]\nstored_bytes_per_user = 2000\n")
        self.daemon.stop()
        self.daemon.start()
        ran = self.daemon.ctl.run("--json", "import", path, expect="storage_full")
        self.assertIsNone(ran.json["trace"])
        self.assertFalse(os.path.isdir(self.daemon.run_folder(ran.json["id"])))


if __name__ == "__main__":
    unittest.main()
