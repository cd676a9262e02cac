"""Sources of imports that come over the wire: what is taken of them, and what is left when they do not come whole."""

import gzip
import json
import os
import random
import sqlite3
import subprocess
import threading
import unittest

from kprof_testing import EXIT, LIMIT_S, OwnDaemonTest, children_of, wait_until


def long_trace(events, number=0):
    """So many slices; no two of the same number are alike."""
    event = '{"ph":"X","name":"step","cat":"cpu_op","pid":1,"tid":2,"ts":%d,"dur":5,"args":{"i":%d,"number":%d}}'
    lines = ",\n".join(event % (10 * i, i * i % 1_000_003, number) for i in range(events))
    return ('{"traceEvents":[\n' + lines + "]}").encode()


class SentSourceTest(OwnDaemonTest):
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

    def send(self, ctl, content):
        """All of it; nobody need read."""
        ctl.stdin.write(content)
        ctl.stdin.flush()

    def send_endlessly(self, ctl, first, more):
        """Until nobody takes it. How many bytes were written."""
        sent = 0
        piece = first
        try:
            while True:
                sent += os.write(ctl.stdin.fileno(), piece)
                piece = more
        except BrokenPipeError:
            return sent

    def ended(self, ctl):
        """Its run, of which all has been sent."""
        ctl.stdin.close()
        ctl.stdin = None
        out, err = ctl.communicate(timeout=LIMIT_S)
        self.assertEqual(ctl.returncode, 0, err)
        return json.loads(out), err.decode()

    def runs(self):
        return self.daemon.ctl.json("runs")["runs"]

    def spooled_bytes(self):
        """Of the sources that kprofd holds: their files have no names."""
        folder = f"/proc/{self.daemon.pid}/fd"
        spools = os.path.join(self.daemon.state, "tmp") + "/"
        total = 0
        for name in os.listdir(folder):
            fd = os.path.join(folder, name)
            try:
                if os.readlink(fd).startswith(spools):
                    total += os.stat(fd).st_size
            except FileNotFoundError:
                pass  # it was closed just now
        return total

    def assert_refused(self, ctl, error, *says):
        """What was sent was, before any run was made of it."""
        err = ctl.communicate(timeout=LIMIT_S)[1].decode()
        self.assertEqual(ctl.returncode, EXIT[error], err)
        for text in says:
            self.assertIn(text, err)
        self.assertEqual(self.runs(), [])
        self.assert_nothing_is_left()

    def assert_nothing_is_left(self):
        wait_until(lambda: self.spooled_bytes() == 0, "its bytes to be gone")
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])
        wait_until(lambda: children_of(self.daemon.pid) == [], "its reader to be gone")

    def test_zeros_are_refused_within_the_first_megabytes(self):
        ctl = self.start_sending()
        self.assertLess(self.send_endlessly(ctl, bytes(4096), bytes(64 << 10)), 64 << 20)
        self.assert_refused(ctl, "bad_input", "it is of no format that is known here", "stdin")

    def test_a_trace_without_an_end_is_stopped_by_the_limit(self):
        ctl = self.start_sending()
        sent = self.send_endlessly(ctl, b'{"traceEvents":[\n', b"\n" * (1 << 20))
        self.assertGreater(sent, 1 << 30)
        self.assert_refused(ctl, "bad_input", "more than 1073741824 bytes", "[import] max_source_gigabytes")

    def test_packed_noise_is_refused_by_its_reader(self):
        ctl = self.start_sending()
        self.send(ctl, gzip.compress(random.Random(1).randbytes(8 << 20), 0))
        err = ctl.communicate(timeout=LIMIT_S)[1].decode()
        self.assertEqual(ctl.returncode, EXIT["bad_input"], err)
        self.assertIn("it is of no format that is known here", err)
        self.assert_nothing_is_left()

    def test_it_is_read_when_all_of_it_is_there(self):
        trace = long_trace(50_000)
        for content in (trace, gzip.compress(trace, 0)):
            ctl = self.start_sending("--again")
            self.send(ctl, content[:-1])
            wait_until(lambda: self.spooled_bytes() > len(content) - (1 << 20), "most of it to be there")
            self.assertEqual(children_of(self.daemon.pid), [])
            self.send(ctl, content[-1:])
            run, _ = self.ended(ctl)
            self.assertEqual(run["trace"]["slices"], 50_000)
            self.assertEqual(run["trace"]["source_bytes"], len(content))
            self.assert_nothing_is_left()

    def test_of_a_client_that_vanishes_nothing_is_left(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(100_000)[:-1])
        wait_until(self.spooled_bytes, "some of it to be there")
        ctl.kill()
        self.assert_nothing_is_left()
        self.assertEqual(self.runs(), [])

    def test_a_killed_daemon_leaves_nothing(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(100_000)[:-1])
        wait_until(self.spooled_bytes, "some of it to be there")
        self.daemon.kill()
        self.daemon.start()
        self.assert_nothing_is_left()
        self.assertEqual(self.runs(), [])

    def test_a_daemon_that_stops_does_not_wait_for_more_of_it(self):
        ctl = self.start_sending()
        self.send(ctl, long_trace(100_000)[:-1])
        wait_until(self.spooled_bytes, "some of it to be there")
        self.daemon.stop()
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])

    def test_the_same_bytes_again_are_the_run_that_is_there(self):
        trace = long_trace(50_000)
        first, again = self.start_sending(), self.start_sending()
        self.send(first, trace)
        run, _ = self.ended(first)
        self.send(again, trace)
        same, said = self.ended(again)
        self.assertEqual(same["id"], run["id"])
        self.assertIn("imported before", said)
        path = os.path.join(self.folder, "stdin")
        with open(path, "wb") as file:
            file.write(trace)
        self.assertEqual(self.daemon.ctl.json("import", path)["id"], run["id"])
        self.assert_nothing_is_left()

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

    def test_a_database_that_is_none_is_refused_by_its_reader(self):
        path = os.path.join(self.folder, "a.sqlite")
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE filler (x)")
            database.execute("INSERT INTO filler VALUES (zeroblob(5000000))")
        with open(path, "rb") as file:
            content = file.read()
        for options in ((), ("--format", "nsys-sqlite")):
            ctl = self.start_sending(*options)
            self.send(ctl, content)
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
