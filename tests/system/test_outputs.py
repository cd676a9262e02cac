"""Files that a command leaves: kept as artifacts of its run, traces among them its trace, all under one id."""

import hashlib
import os
import signal
import subprocess
import sys
import unittest

import kprof_testing
from kprof_node import ALICE, AsAlice, OnANode
from kprof_testing import DaemonTest, distrust, unique_seconds, wait_until

# As torch.profiler writes one.
SCRIPT = """
import gzip, json, os, sys
os.makedirs("out", exist_ok=True)
events = [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.5 * i, "dur": 5,
           "args": {"device": 0, "stream": 7, "correlation": i}} for i in range(int(sys.argv[1]))]
with gzip.open(sys.argv[2] if len(sys.argv) > 2 else "out/host_1.pt.trace.json.gz", "wt") as file:
    json.dump({"schemaVersion": 1, "traceEvents": events}, file)
print("wrote it")
"""


def names_of(run):
    return [artifact["name"] for artifact in run["artifacts"]]


def left_out(run):
    return [reason["message"] for reason in run["trust"] if reason["code"] == "output_left_out"]


class OutputsTest(DaemonTest):
    """In user mode: the daemon's user is its caller."""

    def capture(self, *command, collect=(), options=(), **rest):
        globs = [word for glob in collect for word in ("--collect", glob)]
        return self.ctl.capture(*command, options=[*globs, *options], cwd=self.folder, **rest)

    def slices(self, run):
        rows = self.ctl.json("query", "--run", run["id"], "SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY name")
        return rows["rows"]

    def test_a_trace_that_a_script_writes_is_its_runs(self):
        self.write("train.py", SCRIPT)
        run = self.capture("python3", "train.py", "100", collect=["out/*.json.gz"])
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), ["host_1.pt.trace.json.gz", "stdout.log"])
        self.assertEqual(run["artifacts"][0]["sha256"], hashlib.sha256(self.read("out/host_1.pt.trace.json.gz")).hexdigest())
        self.assertEqual(run["trace"]["slices"], 100)
        self.assertEqual(distrust(run), [])
        self.assertEqual(self.slices(run), [["gemm", 100, 500_000]])
        self.assertEqual(self.ctl.run("logs", run["id"]).text, "wrote it\n")
        shown = self.ctl.show(run["id"])
        self.assertEqual((shown["artifacts"], shown["trace"]), (run["artifacts"], run["trace"]))
        self.assertIn("host_1.pt.trace.json.gz", self.ctl.run("show", run["id"]).text)
        self.assertEqual(self.ctl.json("query", "--run", run["id"], "SELECT part, source FROM trace")["rows"][0][0], "trace")
        target = self.path("again.gz")
        self.ctl.run("artifacts", run["id"], "get", "host_1.pt.trace.json.gz", "-o", target)
        self.assertEqual(kprof_testing.read_file(target), self.read("out/host_1.pt.trace.json.gz"))

    def test_a_detached_run_keeps_it_too(self):
        self.write("train.py", SCRIPT)
        run = self.ctl.wait(self.ctl.detach("python3", "train.py", "7", options=["--collect", "out/*"], cwd=self.folder))
        self.assertEqual(run["trace"]["slices"], 7)

    def test_the_folder_for_outputs_is_there_and_goes(self):
        run = self.capture("sh", "-c", 'echo "$KPROF_OUTPUT_DIR"; stat -c %a "$KPROF_OUTPUT_DIR"; mkdir "$KPROF_OUTPUT_DIR/a"; '
                                       'echo kept > "$KPROF_OUTPUT_DIR/a/notes.txt"')
        self.assertEqual(names_of(run), ["notes.txt", "stdout.log"])
        path, mode = self.ctl.run("logs", run["id"]).text.split()
        self.assertEqual(mode, "700")
        wait_until(lambda: not os.path.exists(path), "the folder to go")

    def test_absolute_globs_and_any_folder(self):
        run = self.capture("sh", "-c", f"mkdir -p x/y; echo 1 > x/y/a.bin; echo 2 > b.bin; echo 3 > {self.path('c.cache')}",
                           collect=["**/*.bin", self.path("*.cache")])
        self.assertEqual(names_of(run), ["a.bin", "b.bin", "c.cache"])

    def test_a_folder_is_all_that_is_in_it(self):
        run = self.capture("sh", "-c", "mkdir -p out/deep; echo 1 > out/a; echo 2 > out/deep/b; echo 3 > out/.c; echo 4 > d; "
                                       'echo 5 > "$KPROF_OUTPUT_DIR/e"', collect=["out", self.path("d")])
        self.assertEqual([(artifact["name"], artifact["path"]) for artifact in run["artifacts"]],
                         [("a", "out/a"), ("b", "out/deep/b"), ("d", "d"), ("e", None)])

    def test_a_failed_run_keeps_what_it_left(self):
        run = self.capture("sh", "-c", "echo why > why.txt; exit 3", collect=["*.txt"], expect="command_failed")
        self.assertEqual(names_of(run), ["why.txt"])

    def test_what_a_timeout_costs_is_said(self):
        run = self.capture("sh", "-c", 'echo precious > "$KPROF_OUTPUT_DIR/f"; exec sleep 60', options=["--timeout", "500ms"],
                           expect="timed_out")
        self.assertEqual((names_of(run), left_out(run)), ([], ["what the command left: it was stopped, by a timeout or a cancel"]))

    def test_what_nobody_left_is_said(self):
        run = self.capture("true", collect=["out/*.json"])
        self.assertEqual(left_out(run), ["no file matches 'out/*.json'"])
        self.assertEqual(run["state"], "done")

    def test_hostile_outputs(self):
        self.write("old.out", "old")
        os.utime(self.path("old.out"), (100, 100))
        run = self.capture("sh", "-c", "ln -s /etc/passwd link.out; mkfifo pipe.out; mkdir folder.out; echo 1 > good.out; "
                                       "ln good.out hard.out; python3 -c 'import socket; "
                                       "socket.socket(socket.AF_UNIX).bind(\"socket.out\")'", collect=["*.out", "/dev/null"])
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), ["good.out"])
        self.assertEqual(sorted(left_out(run)),
                         ["'/dev/null': it is a device", "'link.out': it is a symbolic link", "'old.out': it is older than the run",
                          "'pipe.out': it is a pipe", "'socket.out': it is a socket"])

    def test_names_that_are_not_utf8(self):
        run = self.capture("python3", "-c", r"open(b'\xff\xfe.out', 'w').write('x'); open('a\nb.out', 'w').write('y')",
                           collect=["*.out"])
        self.assertEqual(len(run["artifacts"]), 2)
        for artifact in run["artifacts"]:
            self.ctl.run("artifacts", run["id"], "get", artifact["name"], "-o", "-")

    def test_more_files_than_a_run_keeps(self):
        run = self.capture("python3", "-c", "for i in range(1500): open(f'{i:04}.out', 'w').write(str(i))", collect=["*.out"])
        self.assertEqual(run["state"], "done")
        self.assertIn("a run keeps 1000 files at most", left_out(run)[0])
        self.assertIn("484 more files", left_out(run)[-1])
        self.assertEqual(self.ctl.json("query", "SELECT count(*) FROM artifact WHERE run = '" + run["id"] + "'")["rows"], [[1000]])

    def test_a_large_sparse_file(self):
        run = self.capture("truncate", "-s", "2G", "big.out", collect=["*.out"], limit_s=120)
        self.assertEqual(run["artifacts"][0]["size_bytes"], 2 << 30)
        kept = os.path.join(self.daemon.run_folder(run["id"]), "big.out")
        self.assertLess(os.stat(kept).st_blocks * 512, 1 << 20)

    def test_one_over_the_limit_is_left_out(self):
        run = self.capture("truncate", "-s", "100G", "big.out", collect=["*.out"])
        self.assertEqual(run["artifacts"], [])
        self.assertIn("big.out", left_out(run)[0])

    def test_one_that_is_still_being_written_is_said_so(self):
        # Another process of the caller's own, which is none of the run's.
        self.write("grow.py", """
import sys, time
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        file.write(b"x" * 65536)
        time.sleep(0.0001)
""")
        self.write("big.out", b"")
        writer = subprocess.Popen([sys.executable, self.path("grow.py"), self.path("big.out")])
        try:
            wait_until(lambda: os.path.getsize(self.path("big.out")) > 4 << 20, "it to grow")
            run = self.capture("true", collect=["*.out"])
        finally:
            writer.kill()
            writer.wait()
        self.assertEqual(run["state"], "done")
        self.assertIn("output_incomplete", [reason["code"] for reason in distrust(run)])
        kept = kprof_testing.read_file(os.path.join(self.daemon.run_folder(run["id"]), "big.out"))
        self.assertEqual(run["artifacts"][0]["sha256"], hashlib.sha256(kept).hexdigest())
        self.assertEqual(kept, b"x" * run["artifacts"][0]["size_bytes"])

    @kprof_testing.long("a million files")
    def test_a_million_files(self):
        run = self.capture("python3", "-c", "import os\nfor i in range(1000):\n os.mkdir(f'd{i}')\n"
                                            "for i in range(1000000): open(f'd{i % 1000}/{i}.out', 'w').close()",
                           collect=["**/*.out"], limit_s=600)
        self.assertEqual(run["state"], "done")
        self.assertTrue(any("names were to be looked at" in message for message in left_out(run)), left_out(run))
        self.assertEqual(self.ctl.json("query", "SELECT count(*) FROM artifact WHERE run = '" + run["id"] + "'")["rows"], [[1000]])

    def test_a_broken_trace_is_kept_and_named(self):
        run = self.capture("sh", "-c", 'echo "{\\"traceEvents\\": [{]}" > bad.json; echo "{\\"a\\": 1}" > none.json',
                           collect=["*.json"])
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), ["bad.json", "none.json"])
        codes = {reason["code"] for reason in distrust(run)}
        self.assertLessEqual(codes, {"output_not_imported", "source_incomplete"})
        self.assertEqual(len([reason for reason in distrust(run) if "bad.json" in reason["message"]]), len(distrust(run)))
        self.assertNotEqual(distrust(run), [])

    def test_a_run_that_is_cancelled_or_killed_leaves_nothing(self):
        for end in ("cancel", "kill"):
            seconds = unique_seconds()
            run = self.ctl.detach("sh", "-c", f'echo x > "$KPROF_OUTPUT_DIR/f"; echo "$KPROF_OUTPUT_DIR"; exec sleep {seconds}',
                                  options=["--collect", "*"], cwd=self.folder)
            path = wait_until(lambda: self.ctl.run("logs", run).text.strip(), "the folder")
            wait_until(lambda: kprof_testing.processes_with(f"sleep\0{seconds}"), "the command")
            if end == "cancel":
                self.ctl.run("cancel", run)
            else:
                for pid in kprof_testing.supervisors_of(run):
                    kprof_testing.kill_if_there(pid)
            self.ctl.wait(run)
            wait_until(lambda: not os.path.exists(path), "the folder to go")
            self.assert_nothing_runs(seconds, run=run)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OutputsOfCallersTest(AsAlice, unittest.TestCase):
    """In system mode: kprofd may not read what its caller wrote, nor may the caller read what kprofd keeps."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = os.path.join(cls.folder, "alice")
        os.mkdir(cls.home, 0o700)
        os.chown(cls.home, ALICE, ALICE)

    def check(self, run):
        self.assertEqual(run["state"], "done", run)
        self.assertEqual(names_of(run), ["host_1.pt.trace.json.gz", "notes.txt", "stdout.log"])
        self.assertEqual(run["trace"]["slices"], 11)
        rows = self.alice.json("query", "--run", run["id"], "SELECT count(*) FROM slice")["rows"]
        self.assertEqual(rows, [[11]])
        folder = self.daemon.run_folder(run["id"])
        self.assertEqual({os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in os.listdir(folder)}, {0o600})
        path = self.alice.run("logs", run["id"]).text.split()[-1]
        wait_until(lambda: not os.path.exists(path), "the folder to go")

    def command(self):
        script = SCRIPT + 'print(open(os.environ["KPROF_OUTPUT_DIR"] + "/notes.txt", "w").write("x"), os.environ["KPROF_OUTPUT_DIR"])'
        return ["--collect", "out/*", "--cwd", self.home, "--", "python3", "-c", script, "11"]

    def test_in_the_foreground(self):
        self.check(self.alice.json("capture", "command", *self.command()))

    def test_files_of_others_and_of_kprofd_are_left_out(self):
        theirs = os.path.join(self.folder, "theirs.out")
        with open(theirs, "w", encoding="ascii") as file:
            file.write("x")
        run = self.alice.json("capture", "command", "--collect", theirs, "--collect", self.daemon.catalog(), "--cwd", "/",
                              "--", "true")
        self.assertEqual(names_of(run), [])
        self.assertIn("another user (uid 0)", left_out(run)[0])

    def test_a_killed_supervisor_leaves_no_folder(self):
        seconds = unique_seconds()
        process = self.alice.start("--json", "capture", "command", "--cwd", self.home, "--", "sh", "-c",
                                   f'echo x > "$KPROF_OUTPUT_DIR/f"; echo "$KPROF_OUTPUT_DIR"; sleep {seconds}')
        run = wait_until(lambda: [run["id"] for run in self.alice.json("runs", "--state", "running")["runs"]], "the run")[0]
        path = wait_until(lambda: self.alice.run("logs", run, expect=None).text.strip(), "the folder")
        self.assertTrue(os.path.isdir(path))
        keeper = kprof_testing.children_of(process.pid)[0]
        os.kill(kprof_testing.children_of(keeper)[0], signal.SIGKILL)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        wait_until(lambda: not os.path.exists(path), "the folder to go")


class OutputsOnANodeTest(OnANode, OutputsOfCallersTest):
    """The same with the helper, which starts what is detached."""

    def test_detached(self):
        run = self.alice.json("capture", "command", "--detach", *self.command())["id"]
        self.check(self.alice.wait(run))


if __name__ == "__main__":
    unittest.main(verbosity=2)
