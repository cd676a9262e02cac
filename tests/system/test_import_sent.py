"""Sources of imports that come over the wire: what is taken of them, and what is left when they do not come whole."""

import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from kprof_testing import EXIT, LIMIT_S, OwnDaemonTest, children_of, wait_until


def long_trace(events, number=0):
    """So many slices; no two of the same number are alike."""
    event = '{"ph":"X","name":"step","cat":"cpu_op","pid":1,"tid":2,"ts":%d,"dur":5,"args":{"i":%d,"number":%d}}'
    lines = ",\n".join(event % (10 * i, i * i % 1_000_003, number) for i in range(events))
    return ('{"traceEvents":[\n' + lines + "]}").encode()


def random_trace(events):
    """Of which a part is so large that it does not stay in memory while it is made: megabytes beside what is cached."""
    event = '{"ph":"X","name":"step","cat":"cpu_op","pid":1,"tid":2,"ts":%d,"dur":5,"args":{"a":%d,"b":%d,"c":%d}}'
    number = random.Random(7).getrandbits
    lines = ",\n".join(event % (10 * i, number(60), number(60), number(60)) for i in range(events))
    return ('{"traceEvents":[\n' + lines + "]}").encode()


class SendingTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.configure("[import]\nmax_source_gigabytes = 1\n")
        self.daemon.start()

    def start_sending(self, *options):
        """kprofctl that imports what is written to its standard input."""
        ctl = self.daemon.ctl.start("--json", "import", "-", *options, stdin=subprocess.PIPE)
        self.addCleanup(ctl.communicate)
        self.addCleanup(ctl.kill)
        return ctl

    def temporary_files(self):
        return os.listdir(os.path.join(self.daemon.state, "tmp"))

    def assert_refused(self, ctl, error, *says):
        """What was sent was, before any run was made of it."""
        err = ctl.communicate(timeout=LIMIT_S)[1].decode()
        self.assertEqual(ctl.returncode, EXIT[error], err)
        for text in says:
            self.assertIn(text, err)
        self.assertEqual(self.daemon.ctl.json("runs")["runs"], [])
        self.assert_nothing_is_left()

    def assert_nothing_is_left(self):
        """Whoever hears that it was refused need not wait until its reader is gone."""
        wait_until(lambda: self.temporary_files() == [], "its part to be gone")
        wait_until(lambda: children_of(self.daemon.pid) == [], "its reader to be gone")

    def send_endlessly(self, ctl, first, more, every_s=0):
        """Until nobody takes it. How many bytes were written."""
        sent = 0
        piece = first
        try:
            while True:
                sent += os.write(ctl.stdin.fileno(), piece)
                piece = more
                time.sleep(every_s)
        except BrokenPipeError:
            return sent


class SentSourceTest(SendingTest):
    """What is not taken."""

    def test_zeros_are_refused_within_the_first_megabytes(self):
        ctl = self.start_sending()
        self.assertLess(self.send_endlessly(ctl, bytes(4096), bytes(64 << 10)), 64 << 20)
        self.assert_refused(ctl, "bad_input", "it is of no format that is known here", "stdin")

    def test_a_trace_without_an_end_is_stopped_by_the_limit(self):
        ctl = self.start_sending()
        sent = self.send_endlessly(ctl, b'{"traceEvents":[\n', b"\n" * (1 << 20))
        self.assertGreater(sent, 1 << 30)
        self.assert_refused(ctl, "bad_input", "more than 1073741824 bytes", "[import] max_source_gigabytes")

    def test_what_is_seen_to_be_no_trace_ends_its_upload(self):
        ctl = self.start_sending()
        packed = gzip.compress(random.Random(1).randbytes(8 << 20), 0)
        # So slowly that the limit of its size is minutes away.
        self.assertLess(self.send_endlessly(ctl, packed, bytes(64 << 10), every_s=0.01), 1 << 30)
        self.assert_refused(ctl, "bad_input", "it is of no format that is known here", "stdin")


class ReadAheadTest(SendingTest):
    """What is read of a source while it comes."""

    def reader(self):
        """The one process that reads. It has been started whole: its part is begun after that."""
        wait_until(self.temporary_files, "its part", every_s=0.001)
        [reader] = children_of(self.daemon.pid)
        return reader

    def part_bytes(self):
        """Of the part that is being made of it."""
        folder = os.path.join(self.daemon.state, "tmp")
        return sum(os.stat(os.path.join(folder, name)).st_size for name in self.temporary_files())

    def send(self, ctl, content):
        """All of it; nobody need read."""
        ctl.stdin.write(content)
        ctl.stdin.flush()

    def ended(self, ctl):
        """Its run, of which all has been sent."""
        ctl.stdin.close()
        ctl.stdin = None
        out, err = ctl.communicate(timeout=LIMIT_S)
        self.assertEqual(ctl.returncode, 0, err)
        return json.loads(out), err.decode()

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_most_of_it_is_read_before_its_end_is_sent(self):
        trace = random_trace(600_000)
        whole = self.daemon.ctl.json("import", self.write("a.json", trace))
        for content in (trace, gzip.compress(trace, 0)):
            ctl = self.start_sending("--again")
            self.send(ctl, content[:-1])
            wait_until(lambda: self.part_bytes() > whole["trace"]["bytes"] / 2, "most of it to be read")
            self.assertEqual(len(self.daemon.ctl.json("runs", "--state", "done")["runs"]), len(self.runs()))
            self.send(ctl, content[-1:])
            run, _ = self.ended(ctl)
            for count in ("slices", "instants", "counters", "tracks", "bytes"):
                self.assertEqual(run["trace"][count], whole["trace"][count], count)
            self.assertEqual(run["trace"]["source_bytes"], len(content))
            self.assert_nothing_is_left()

    def runs(self):
        return self.daemon.ctl.json("runs")["runs"]

    def test_of_a_client_that_vanishes_nothing_is_left(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(100_000)[:-1])
        self.reader()
        ctl.kill()
        self.assert_nothing_is_left()
        self.assertEqual(self.runs(), [])

    def test_a_killed_reader_is_not_the_sources_fault(self):
        trace = long_trace(100_000)
        ctl = self.start_sending()
        self.send(ctl, trace[:-1])
        os.kill(self.reader(), signal.SIGKILL)
        wait_until(lambda: children_of(self.daemon.pid) == [], "its reader to be gone")
        self.send(ctl, trace[-1:])
        run, _ = self.ended(ctl)
        self.assertEqual(run["trace"]["slices"], 100_000)
        self.assert_nothing_is_left()

    def test_a_killed_daemon_leaves_nothing(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(100_000)[:-1])
        reader = self.reader()
        self.daemon.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{reader}"), "its reader to be gone")
        self.daemon.start()
        self.assertEqual(self.temporary_files(), [])
        self.assertEqual(self.runs(), [])

    def test_a_daemon_that_stops_does_not_wait_for_more_of_it(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(100_000)[:-1])
        reader = self.reader()
        self.daemon.stop()
        self.assertFalse(os.path.exists(f"/proc/{reader}"))
        self.assertEqual(self.temporary_files(), [])

    def test_the_same_bytes_again_are_the_run_that_is_there(self):
        trace = long_trace(50_000)
        first, again = self.start_sending(), self.start_sending()
        self.send(first, trace)
        run, _ = self.ended(first)
        self.send(again, trace)
        same, said = self.ended(again)
        self.assertEqual(same["id"], run["id"])
        self.assertIn("imported before", said)
        self.assertEqual(self.daemon.ctl.json("import", self.write("stdin", trace))["id"], run["id"])
        self.assert_nothing_is_left()

    def test_an_import_that_waits_for_it_is_cancelled(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(200_000))
        os.kill(self.reader(), signal.SIGSTOP)
        ctl.stdin.close()
        ctl.stdin = None
        [run] = wait_until(self.runs, "its run")
        self.daemon.ctl.wait_for_state(run["id"], "running")
        self.daemon.ctl.run("cancel", run["id"])
        self.assertEqual(ctl.wait(timeout=LIMIT_S), EXIT["cancelled"])
        self.assert_nothing_is_left()
        self.assertFalse(os.path.isdir(self.daemon.run_folder(run["id"])))

    def test_ranks_that_are_sent_are_parts_of_one_run(self):
        paths = [os.path.join(self.folder, name) for name in ("rank3.json", "rank5.json")]
        for path in paths:
            os.mkfifo(path)
        ctl = self.daemon.ctl.start("--json", "import", *paths)
        self.addCleanup(ctl.kill)

        def write(path, number):
            with open(path, "wb") as pipe:
                pipe.write(long_trace(100_000 + number, number))

        writers = [threading.Thread(target=write, args=(path, i)) for i, path in enumerate(paths)]
        for writer in writers:
            writer.start()
        out, err = ctl.communicate(timeout=LIMIT_S)
        for writer in writers:
            writer.join()
        self.assertEqual(ctl.returncode, 0, err)
        run = json.loads(out)["id"]
        rows = self.daemon.ctl.json("query", "SELECT part, rank, source, slices FROM trace ORDER BY rank")["rows"]
        self.assertEqual(rows, [["rank3", 3, "rank3.json", 100_000], ["rank5", 5, "rank5.json", 100_001]])
        for rank in (3, 5):
            with sqlite3.connect(os.path.join(self.daemon.run_folder(run), f"rank{rank}.trace.db")) as part:
                self.assertEqual(part.execute("SELECT value FROM fact WHERE name = 'rank'").fetchall(), [(rank,)])
        self.assert_nothing_is_left()

    def test_the_rank_that_is_said_is_that_of_its_part(self):
        ctl = self.start_sending("--rank", "34")
        self.send(ctl, long_trace(50_000))
        run, _ = self.ended(ctl)
        with sqlite3.connect(os.path.join(self.daemon.run_folder(run["id"]), "rank34.trace.db")) as part:
            self.assertEqual(part.execute("SELECT value FROM fact WHERE name = 'rank'").fetchall(), [(34,)])

    def test_a_database_is_read_when_it_is_whole(self):
        path = os.path.join(self.folder, "a.sqlite")
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE filler (x)")
            database.execute("INSERT INTO filler VALUES (zeroblob(5000000))")
        with open(path, "rb") as file:
            content = file.read()
        for options in ((), ("--format", "nsys-sqlite")):
            ctl = self.start_sending(*options)
            self.send(ctl, content[:-1])
            for _ in range(50):
                self.assertEqual(children_of(self.daemon.pid), [])
                time.sleep(0.01)
            self.send(ctl, content[-1:])
            err = ctl.communicate(timeout=LIMIT_S)[1].decode()
            self.assertEqual(ctl.returncode, EXIT["bad_input"], err)
            self.assertIn("stdin", err)

    def test_what_is_asked_to_be_read_as_something_else_is(self):
        ctl = self.start_sending("--format", "nsys-sqlite")
        self.send(ctl, long_trace(50_000))
        err = ctl.communicate(timeout=LIMIT_S)[1].decode()
        self.assertEqual(ctl.returncode, EXIT["bad_input"], err)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
