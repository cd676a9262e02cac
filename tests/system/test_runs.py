"""What is kept of runs: lists, names, pins, deletes, logs, artifacts."""

import contextlib
import hashlib
import itertools
import os
import signal
import subprocess
import time
import unittest

import kprof_testing
from kprof_testing import DaemonTest, wait_until


class RunsTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = []
        for i in range(7):
            labels = ("--label", f"n={i}", "--label", f"parity={'odd' if i % 2 else 'even'}")
            cls.ids.append(cls.ctl.detach("sh", "-c", f"exit {i % 3}", options=labels))
        for run in cls.ids:
            cls.ctl.wait(run)

    def listed(self, *options):
        answer = self.ctl.json("runs", *options)
        self.assertEqual(answer["schema"], "kprof.runs.v1")
        return [run["id"] for run in answer["runs"] if run["id"] in self.ids]

    def test_newest_come_first(self):
        self.assertEqual(self.listed("--limit", "100"), self.ids[::-1])
        self.assertEqual(sorted(self.ids), self.ids, "ids sort by time")

    def test_a_limit_beyond_a_page_is_filled_from_several(self):
        # 7 runs and a limit of 3, and one run a page through the wire: tests/interop has that.
        self.assertEqual(self.listed("--label", "n=3", "--limit", "3"), [self.ids[3]])
        self.assertEqual(len(self.listed("--limit", "3", "--label", "parity=even")), 3)

    def test_filters_must_all_match(self):
        self.assertEqual(self.listed("--label", "parity=odd"), [self.ids[i] for i in (5, 3, 1)])
        self.assertEqual(self.listed("--label", "parity=odd", "--label", "n=3"), [self.ids[3]])
        self.assertEqual(self.listed("--state", "done"), [self.ids[i] for i in (6, 3, 0)])
        self.assertEqual(self.listed("--state", "done", "--state", "failed", "--limit", "50"), self.ids[::-1])
        self.assertEqual(self.listed("--tool", "command", "--label", "parity=even", "--state", "done"),
                         [self.ids[6], self.ids[0]])
        self.assertEqual(self.listed("--tool", "ncu"), [])
        self.assertEqual(self.listed("--label", "parity=neither"), [])
        self.ctl.run("runs", "--state", "sleepy", expect="usage")

    def test_the_table_has_a_line_per_run(self):
        lines = self.ctl.run("runs", "--label", "parity=odd").text.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertTrue(lines[0].startswith("ID "), lines[0])
        self.assertIn(self.ids[5], lines[1])

    def test_runs_have_short_names(self):
        newest = self.ctl.json("runs", "--limit", "3")["runs"]
        self.assertEqual(self.ctl.show("@last")["id"], newest[0]["id"])
        self.assertEqual(self.ctl.show("@last~2")["id"], newest[2]["id"])
        run = self.ids[2]
        prefix = next(run[:n] for n in range(1, 17) if sum(other.startswith(run[:n]) for other in self.every_id()) == 1)
        self.assertEqual(self.ctl.show(prefix)["id"], run)
        self.assertEqual(self.ctl.show(prefix.upper())["id"], run)

    def every_id(self):
        return [run["id"] for run in self.ctl.json("runs", "--limit", "1000")["runs"]]

    def test_names_that_fit_no_run_or_many_are_refused(self):
        self.assertEqual(self.ctl.run("--json", "show", "zzzz", expect="not_found").error["code"], "not_found")
        self.ctl.run("show", "z" * 16, expect="not_found")
        self.ctl.run("show", "@last~100000", expect="not_found")
        ran = self.ctl.run("--json", "show", self.ids[0][:2], expect="usage")
        self.assertIn("more than one", ran.error["message"])
        for name in ("", "@first", "@last~", "@last~-1", "@last~x", "../etc", "u", "0" * 17, "a\nb"):
            with self.subTest(name=name):
                self.assertIn(self.ctl.run("--json", "show", name, expect=None).code, (2, 4))
        ran = self.ctl.run(b"--json", b"show", b"\xff\xfe", expect="usage")
        self.assertEqual(ran.error["code"], "usage")

    def test_an_error_names_what_was_asked_for(self):
        for verb, act in (("show", "show run"), ("wait", "wait for run"), ("cancel", "cancel run"), ("delete", "delete run"),
                          ("pin", "pin run"), ("unpin", "unpin run"), ("logs", "read log of run"),
                          ("artifacts", "list artifacts of run")):
            for name, expect in (("zzzz", "not_found"), ("z" * 16, "not_found"), ("@last~100000", "not_found"), ("@x", "usage"),
                                 (self.ids[0][:2], "usage")):
                with self.subTest(verb=verb, name=name):
                    ran = self.ctl.run(verb, name, expect=expect)
                    self.assertTrue(ran.err.decode().startswith(f"kprofctl: {act} {name}: "), ran)
                    error = self.ctl.run("--json", verb, name, expect=expect).error
                    self.assertTrue(error["message"].startswith(f"{act} {name}: "), error)

    def test_show_is_for_people_too(self):
        text = self.ctl.run("show", self.ids[1]).text
        for word in (self.ids[1], "failed", "exit 1", "parity=odd", "command_failed"):
            self.assertIn(word, text)

    def test_a_pinned_run_is_not_deleted(self):
        run = self.ctl.capture("echo", "x")["id"]
        self.assertTrue(self.ctl.json("pin", run)["pinned"])
        self.assertEqual(self.ctl.run("--json", "delete", run, expect="usage").error["code"], "usage")
        self.assertTrue(self.ctl.show(run)["pinned"])
        self.assertFalse(self.ctl.json("unpin", run)["pinned"])
        self.assertEqual(self.ctl.json("delete", run)["deleted"], [run])

    def test_a_deleted_run_is_gone_with_its_files(self):
        runs = [self.ctl.capture("echo", "x")["id"] for _ in range(2)]
        self.assertTrue(os.path.isdir(self.daemon.run_folder(runs[0])))
        self.assertEqual(self.ctl.json("delete", "@last~1", "@last")["deleted"], runs)
        for run in runs:
            self.ctl.run("show", run, expect="not_found")
            self.assertFalse(os.path.exists(self.daemon.run_folder(run)))

    def test_a_run_that_is_named_twice_is_deleted_once(self):
        run = self.ctl.capture("true")["id"]
        self.assertEqual(self.ctl.json("delete", run, "@last", run)["deleted"], [run])

    def test_delete_goes_on_after_a_name_that_is_none(self):
        run = self.ctl.capture("true")["id"]
        ran = self.ctl.run("--json", "delete", "zzzz", run, expect="not_found")
        self.assertEqual(ran.json["deleted"], [run])

    def test_an_open_run_is_not_deleted(self):
        run = self.ctl.detach("sh", "-c", self.gate())
        waiting = self.ctl.detach("true")
        self.ctl.run("delete", run, expect="usage")
        self.ctl.run("delete", waiting, expect="usage")
        self.open_gate()
        self.ctl.wait(run, expect=0)
        self.ctl.wait(waiting, expect=0)


class ClosedDescriptorsTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_id = cls.ctl.capture("echo", "hello")["id"]

    def run_without(self, descriptors, *args, expect):
        def close():
            for number in descriptors:
                os.close(number)
        return self.ctl.run(*args, expect=expect, preexec_fn=close)

    def test_results_that_cannot_be_printed_are_a_failure(self):
        for words in (("runs",), ("runs", "--json"), ("query", "SELECT 1"), ("artifacts", self.run_id, "get", "stdout.log", "-o", "-")):
            ran = self.run_without([1], *words, expect="internal")
            self.assertEqual(ran.err.splitlines()[0], b"kprofctl: write standard output: Bad file descriptor")
        self.run_without([0, 1, 2], "runs", expect="internal")

    def test_a_file_that_was_written_is_none(self):
        for options in ((), ("--json",)):
            ran = self.run_without([0, 1], "artifacts", self.run_id, "get", "stdout.log", "-o", self.path("f"), *options, expect=0)
            self.assertEqual((self.read("f"), ran.err), (b"hello\n", b""))
            ran = self.run_without([0, 1], "backup", self.path("b"), *options, expect=0)
            self.assertEqual((self.read("b")[:15], ran.err), (b"SQLite format 3", b""))

    def test_standard_input_that_is_closed_cannot_be_read(self):
        ran = self.run_without([0], "query", "-", expect="internal")
        self.assertEqual(ran.err, b"kprofctl: read standard input: Bad file descriptor\n")
        self.run_without([0], "capture", "command", "--", "true", expect=0)


class LogsTest(DaemonTest):
    CONFIG = "[output]\nhead_bytes = 10000\ntail_bytes = 8192\n"

    def test_a_log_is_followed_while_it_is_written(self):
        run = self.ctl.detach("sh", "-c", f"echo first; {self.gate('a')}; echo second; {self.gate('b')}; echo third")
        follower = self.ctl.start("logs", run, "-f")
        self.assertEqual(kprof_testing.read_line(follower.stdout), b"first\n")
        self.open_gate("a")
        self.assertEqual(kprof_testing.read_line(follower.stdout), b"second\n")
        self.assertIsNone(follower.poll())
        self.assertEqual(self.log_of(run), b"first\nsecond\n", "without -f it ends with what is there")
        self.open_gate("b")
        out, err = follower.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual((follower.returncode, out, err), (0, b"third\n", b""))

    def test_following_begins_before_the_run_does(self):
        blocker = self.ctl.detach("sh", "-c", self.gate())
        run = self.ctl.detach("echo", "at last")
        follower = self.ctl.start("logs", run, "--follow")
        self.open_gate()
        out, _ = follower.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual((follower.returncode, out), (0, b"at last\n"))
        self.ctl.wait(blocker, expect=0)

    def test_head_and_tail_of_a_long_log_are_kept(self):
        run = self.ctl.capture("/usr/bin/python3", "-c", "for i in range(20000): print(f'{i:08}')")
        out = self.log_of(run["id"])
        everything = b"".join(b"%08d\n" % i for i in range(20000))
        self.assertTrue(out.startswith(everything[:10000]))
        self.assertTrue(out.endswith(everything[-8192:]))
        self.assertEqual(run["stdout_bytes"], len(everything))
        self.assertEqual(run["stdout_dropped_bytes"], len(everything) - 10000 - 8192)
        self.assertIn(b"%d bytes dropped here" % run["stdout_dropped_bytes"], out)
        artifact = run["artifacts"][0]
        self.assertEqual((artifact["size_bytes"], artifact["sha256"]), (len(out), hashlib.sha256(out).hexdigest()))

    def test_bytes_come_back_as_they_were(self):
        content = bytes(range(256)) * 4
        run = self.ctl.capture("cat", self.write("bytes", content))
        self.assertEqual(self.log_of(run["id"]), content)
        pieces = [line for line in self.ctl.run("--json", "logs", run["id"]).text.splitlines()]
        self.assertTrue(pieces and all('"schema":"kprof.log.v1"' in piece for piece in pieces))

    def test_json_names_the_run_by_its_id(self):
        run = self.ctl.capture("echo", "x")["id"]
        self.assertEqual(self.ctl.json("logs", "@last")["run"], run)
        for verb in (("wait",), ("pin",), ("unpin",), ("show",)):
            self.assertEqual(self.ctl.json(*verb, "@last")["id"], run, verb)
        self.assertEqual(self.ctl.json("delete", "@last")["deleted"], [run])
        run = self.ctl.detach("sleep", "100")
        self.assertEqual(self.ctl.json("cancel", "@last")["id"], run)
        self.ctl.wait(run, expect="cancelled")

    def test_a_follower_that_misses_much_hears_of_it_seldom(self):
        # Each burst is more than is kept, so nearly each leaves a gap.
        burst = "import sys, time\nfor _ in range(150):\n  sys.stdout.write('x' * 50000); sys.stdout.flush(); time.sleep(0.01)"
        began = time.monotonic()
        run = self.ctl.detach("/usr/bin/python3", "-c", burst)
        ran = self.ctl.run("logs", run, "-f")
        notes = ran.err.decode().splitlines()
        self.assertGreater(len(notes), 0)
        self.assertLess(len(notes), time.monotonic() - began + 3)
        self.assertTrue(all(note.endswith("were not kept") for note in notes), notes)
        self.assertIn("in all" if len(notes) > 1 else "in between", notes[-1])

    def test_a_reader_that_goes_away_ends_nothing_else(self):
        run = self.ctl.detach("sh", "-c", f"yes | head -c 5000; {self.gate()}")
        follower = self.ctl.start("logs", run, "-f")
        kprof_testing.read_line(follower.stdout)
        follower.kill()
        follower.communicate()
        self.open_gate()
        self.assertEqual(self.ctl.wait(run, expect=0)["state"], "done")

    def test_logs_of_no_run_are_not_found(self):
        self.ctl.run("logs", "zzzz", expect="not_found")


class ArtifactsTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_id = cls.ctl.capture("echo", "hello")["id"]

    def put(self, path, *options, **rest):
        return self.ctl.json("artifacts", self.run_id, "put", path, *options, **rest)

    def listed(self):
        answer = self.ctl.json("artifacts", self.run_id)
        self.assertEqual(answer["schema"], "kprof.artifacts.v1")
        return {artifact["name"]: artifact for artifact in answer["artifacts"]}

    def test_what_is_put_comes_back(self):
        content = os.urandom(3_000_001)
        put = self.put(self.write("trace.bin", content))
        self.assertEqual((put["schema"], put["name"], put["size_bytes"]), ("kprof.artifact.v1", "trace.bin", len(content)))
        self.assertEqual(put["sha256"], hashlib.sha256(content).hexdigest())
        self.assertEqual(self.listed()["trace.bin"]["sha256"], put["sha256"])
        got = self.ctl.json("artifacts", self.run_id, "get", "trace.bin", "-o", self.path("back"))
        self.assertEqual(got["sha256"], put["sha256"])
        self.assertEqual(self.read("back"), content)
        self.assertEqual(os.listdir(self.folder).count("back"), 1)
        # The same through pipes.
        name = self.path("trace.bin")
        put_piped = " ".join(self.ctl.command("artifacts", self.run_id, "put", "-", "--name", "piped"))
        piped = subprocess.run(["sh", "-c", f"cat {name} | {put_piped}"], env=self.ctl.environment, capture_output=True,
                               timeout=kprof_testing.LIMIT_S, check=True)
        self.assertIn(b"stored piped", piped.stdout)
        self.assertEqual(self.ctl.run("artifacts", self.run_id, "get", "piped", "-o", "-").out, content)

    def test_show_has_all_artifacts_and_lists_the_first_hundred(self):
        run_id = self.ctl.capture("echo", "many")["id"]
        path = self.write("small", b"x")
        for i in range(105):
            self.ctl.run("artifacts", run_id, "put", path, "--name", f"small{i}")
        self.assertEqual(len(self.ctl.json("artifacts", run_id)["artifacts"]), 106)
        shown = self.ctl.show(run_id)
        self.assertEqual((len(shown["artifacts"]), shown["artifact_count"]), (106, 106))
        listed = next(run for run in self.ctl.json("runs")["runs"] if run["id"] == run_id)
        self.assertEqual((len(listed["artifacts"]), listed["artifact_count"]), (100, 106))

    def test_logs_are_artifacts(self):
        self.assertEqual(self.ctl.run("artifacts", self.run_id, "get", "stdout.log", "-o", "-").out, b"hello\n")

    def test_an_empty_file_is_one_too(self):
        self.put(self.write("empty", b""))
        self.assertEqual(self.ctl.run("artifacts", self.run_id, "get", "empty", "-o", "-").out, b"")

    def test_a_name_is_taken_once(self):
        self.put(self.write("once", b"1"))
        ran = self.ctl.run("--json", "artifacts", self.run_id, "put", self.path("once"), expect="usage")
        self.assertIn("of that name", ran.error["message"])
        self.assertEqual(self.ctl.run("artifacts", self.run_id, "get", "once", "-o", "-").out, b"1")

    def test_names_that_are_paths_or_reserved_are_refused(self):
        before = self.daemon.files()
        source = self.write("source", b"content")
        for name in ("../up", "../../catalog.db", "/etc/passwd", "a/b", ".", "..", ".hidden", "stdout.log", "output.progress",
                     "x.partial", "a\nb", "a\x1bb", "x" * 201, "naïve", "a\\b", "*"):
            with self.subTest(name=name):
                ran = self.ctl.run("--json", "artifacts", self.run_id, "put", source, "--name", name, expect="usage")
                self.assertEqual(ran.error["code"], "usage")
                if name != "stdout.log":
                    ran = self.ctl.run("--json", "artifacts", self.run_id, "get", name, "-o", self.path("out"),
                                       expect="not_found")
                    self.assertEqual(ran.error["code"], "not_found")
                    self.assertFalse(os.path.exists(self.path("out")))
        ran = self.ctl.run("--json", "artifacts", self.run_id, "put", source, "--name", b"\xff", expect="usage")
        self.assertEqual(ran.error["code"], "usage")
        self.assertEqual(self.daemon.files(), before)

    def test_an_open_run_takes_none(self):
        run = self.ctl.detach("sh", "-c", self.gate())
        self.ctl.run("artifacts", run, "put", self.write("x", b"x"), expect="usage")
        self.open_gate()
        self.ctl.wait(run, expect=0)

    def test_a_link_planted_in_a_runs_folder_is_not_followed(self):
        run = self.ctl.capture("echo", "honest")["id"]
        secret = self.write("secret", b"do not read")
        folder = self.daemon.run_folder(run)
        # One that the catalog does not know, and one in place of a file that it knows.
        os.symlink(secret, os.path.join(folder, "planted"))
        self.ctl.run("artifacts", run, "get", "planted", "-o", self.path("out"), expect="not_found")
        os.unlink(os.path.join(folder, "stdout.log"))
        os.symlink(secret, os.path.join(folder, "stdout.log"))
        for verb in (("artifacts", run, "get", "stdout.log", "-o", self.path("out")), ("logs", run)):
            ran = self.ctl.run("--json", *verb, expect=None)
            self.assertNotEqual(ran.code, 0)
            self.assertNotIn(b"do not read", ran.out + ran.err)
        self.assertFalse(os.path.exists(self.path("out")))
        # Delete removes the links, not what they point to.
        outside = self.path("outside")
        os.mkdir(outside)
        self.write("outside/kept", b"kept")
        os.symlink(outside, os.path.join(folder, "folder"))
        self.ctl.run("delete", run)
        self.assertEqual(self.read("secret"), b"do not read")
        self.assertEqual(self.read("outside/kept"), b"kept")
        self.assertFalse(os.path.lexists(folder))

    def test_a_folder_that_is_not_there_is_the_callers_mistake(self):
        for path in (self.path("none/f"), self.path("none/")):
            ran = self.ctl.run("--json", "artifacts", self.run_id, "get", "stdout.log", "-o", path, expect="usage")
            self.assertIn("there is no folder " + self.path("none/"), ran.error["message"])

    def test_a_link_in_place_of_the_target_is_written_through(self):
        os.symlink(self.path("real"), self.path("link"))
        self.write("real", b"old")
        self.ctl.run("artifacts", self.run_id, "get", "stdout.log", "-o", self.path("link"))
        self.assertEqual(self.read("real"), b"hello\n")
        self.assertTrue(os.path.islink(self.path("link")))

    def get_until(self, number, delay_s):
        """Begins to fetch a large file, and sends the signal after the delay. How kprofctl ended, and what is there: {name: bytes}."""
        def prepare():  # what the tests themselves were started under may ignore it
            for name in (signal.SIGINT, signal.SIGTERM):
                signal.signal(name, signal.SIG_DFL)
        target = self.path("target")
        os.makedirs(target, exist_ok=True)
        process = self.ctl.start("artifacts", self.run_id, "get", "large", "-o", target, preexec_fn=prepare)
        time.sleep(delay_s)
        process.send_signal(number)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        left = {name: kprof_testing.read_file(os.path.join(target, name)) for name in os.listdir(target)}
        for name in left:
            os.unlink(os.path.join(target, name))
        return process.returncode, left

    def test_a_get_that_is_ended_at_any_moment_leaves_the_whole_file_or_nothing(self):
        content = os.urandom(40_000_000)
        self.put(self.write("large", content))
        signals = [signal.SIGINT, signal.SIGTERM]
        with contextlib.suppress(OSError):  # where a file has a name from the first, a kill leaves it
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_WRONLY))
            signals.append(signal.SIGKILL)
        for number in signals:
            for step in itertools.count(1):  # as far as this machine's pace takes it: until it is done before the signal
                code, left = self.get_until(number, 0.01 * step * kprof_testing.SLOW)
                # A signal that comes when the file is in its place may still be in time for the exit code.
                self.assertTrue(left == {"large": content} or (not left and code != 0), (number, step, code, list(left)))
                self.assertIn(code, (0, -number, kprof_testing.EXIT["cancelled"]))
                if code == 0:
                    break

    def test_a_file_that_was_damaged_is_told(self):
        run = self.ctl.capture("echo", "honest")["id"]
        with open(os.path.join(self.daemon.run_folder(run), "stdout.log"), "r+b") as file:
            file.write(b"H")
        ran = self.ctl.run("--json", "artifacts", run, "get", "stdout.log", "-o", self.path("out"), expect="storage_broken")
        self.assertIn("damaged", ran.error["message"])
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_client_that_dies_in_the_middle_leaves_nothing(self):
        before = [name for name in self.daemon.files() if not name.startswith("catalog")]
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        process = self.ctl.start("artifacts", self.run_id, "put", fifo, "--name", "half")
        with open(fifo, "wb") as pipe:
            pipe.write(os.urandom(1 << 20))
            pipe.flush()
            tmp = os.path.join(self.daemon.state, "tmp")
            wait_until(lambda: any(os.path.getsize(os.path.join(tmp, name)) > 0 for name in os.listdir(tmp)), "bytes to arrive")
            process.kill()
        process.communicate()
        wait_until(lambda: [name for name in self.daemon.files() if not name.startswith("catalog")] == before, "the half to go")
        self.assertNotIn("half", self.listed())


if __name__ == "__main__":
    unittest.main()
