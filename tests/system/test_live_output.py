"""What the command of a foreground capture prints, passed on as `time` would: whole, as it comes, to a reader that is slow or
goes away. In user mode kprofd starts the supervisor, in system mode kprofctl does."""

import fcntl
import os
import signal
import struct
import termios
import unittest

import kprof_node
import kprof_testing
from kprof_testing import DaemonTest, OwnDaemonTest, read_line, wait_until

NUMBERS = b"".join(b"%d\n" % (i + 1) for i in range(3_000_000))  # 23 MB: the log keeps 8 MiB of it
GONE = b"nobody reads the command's output any more"


def bytes_in(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


class LiveOutput:
    """The tests; `self.ctl` is the caller's kprofctl, `self.folder` a folder that the caller can look into."""

    def start(self, *command, options=(), **settings):
        process = self.ctl.start("capture", "command", "--device", "none", *options, "--", *command, **settings)
        self.addCleanup(kprof_testing.kill_if_there, process.pid)
        return process

    def end(self, process, expect=0):
        """The rest of its output, and what it wrote to standard error."""
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, kprof_testing.EXIT[expect] if isinstance(expect, str) else expect, err)
        return out, err

    def run_of(self, err):
        """The run that a report is about."""
        line = next(line for line in err.decode().splitlines() if line.startswith("run  "))
        return self.ctl.show(line.split()[1])

    def until_gate(self):
        return f"until [ -e '{self.folder}/gate' ]; do sleep 0.02; done"

    def open_gate(self):
        with open(os.path.join(self.folder, "gate"), "w", encoding="utf-8"):
            pass

    def test_all_of_it_arrives_though_the_log_keeps_head_and_tail(self):
        out, err = self.end(self.start("seq", "3000000"))
        self.assertTrue(out == NUMBERS, (len(out), err))
        self.assertNotIn(b"kprofctl: ", err)
        kept = self.ctl.run("logs", self.run_of(err)["id"]).out
        self.assertRegex(kept, rb"bytes dropped here\]")
        self.assertLess(len(kept), 9 << 20)
        out, err = self.end(self.start("sh", "-c", "seq 3000000 >&2"))
        self.assertTrue(err.startswith(NUMBERS), len(err))

    def test_with_json_all_of_it_arrives_on_standard_error(self):
        ran = self.ctl.run("--json", "capture", "command", "--device", "none", "--", "seq", "3000000")
        self.assertEqual(ran.json["state"], "done")
        self.assertTrue(ran.err == NUMBERS, len(ran.err))

    def test_a_slow_reader_makes_the_command_wait_and_loses_nothing(self):
        process = self.start("sh", "-c", f"seq 3000000; touch '{self.folder}/printed'")
        os.chmod(self.folder, 0o777)
        wait_until(lambda: bytes_in(process.stdout) >= 65536, "the pipe to be full")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "printed")))
        out, _ = self.end(process)
        self.assertTrue(out == NUMBERS, len(out))

    def test_what_prepare_prints_is_shown_while_it_runs(self):
        process = self.start("echo", "it", options=("--prepare", "echo before; " + self.until_gate(), "--check", "echo after"))
        self.assertEqual(read_line(process.stdout), b"before\n")
        self.open_gate()
        self.assertEqual(self.end(process)[0], b"it\nafter\n")

    def test_what_is_printed_needs_no_daemon_to_arrive(self):
        process = self.start("sh", "-c", f"echo early; {self.until_gate()}; echo late")
        self.assertEqual(read_line(process.stdout), b"early\n")
        os.kill(self.daemon.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.daemon.pid, signal.SIGCONT)
        self.open_gate()
        self.assertEqual(read_line(process.stdout), b"late\n")
        os.kill(self.daemon.pid, signal.SIGCONT)
        self.end(process)

    def test_a_command_whose_reader_goes_gets_a_broken_pipe(self):
        process = self.start("yes")
        self.assertEqual(read_line(process.stdout), b"y\n")
        process.stdout.close()
        err = process.stderr.read()
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT["command_failed"], err)
        self.assertIn(GONE, err)
        run = self.run_of(err)
        self.assertEqual((run["state"], run["signal"]), ("failed", signal.SIGPIPE))

    def test_the_same_where_both_streams_have_one_reader(self):
        reading, writing = os.pipe()
        process = self.start("yes", stdout=writing, stderr=writing)
        os.close(writing)
        self.assertEqual(os.read(reading, 2), b"y\n")
        os.close(reading)
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT["command_failed"])

    def test_a_command_that_prints_no_more_does_not_mind_nor_does_a_check(self):
        process = self.start("sh", "-c", f"echo a; {self.until_gate()}", options=("--check", "echo checked; echo again"))
        self.assertEqual(read_line(process.stdout), b"a\n")
        process.stdout.close()
        self.open_gate()
        err = process.stderr.read()
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), 0, err)
        self.assertNotIn(GONE, err)
        self.assertEqual(self.ctl.run("logs", self.run_of(err)["id"]).out, b"a\nchecked\nagain\n")

    def test_a_full_disk_is_said_and_the_capture_goes_on(self):
        with open("/dev/full", "wb") as full:
            process = self.start("sh", "-c", "seq 100000; exit 0", stdout=full)
            err = process.stderr.read()
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT["internal"], err)
        self.assertIn(b"write standard output: No space left on device", err)
        run = self.run_of(err)
        self.assertEqual(run["state"], "done")
        self.assertEqual(len(self.ctl.run("logs", run["id"]).out.splitlines()), 100000)

    def test_with_standard_output_closed_what_is_printed_is_a_failure_and_nothing_is_none(self):
        for script, code in (("echo a", "internal"), ("echo b >&2", 0)):
            process = self.start("sh", "-c", script, stdout=None, preexec_fn=lambda: os.close(1))
            err = process.stderr.read()
            self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT.get(code, code), err)
            self.assertEqual(self.run_of(err)["state"], "done")

    def test_what_a_command_leaves_running_holds_nothing_up(self):
        process = self.start("sh", "-c", "echo a; sleep 1000 & echo b")
        self.assertEqual(self.end(process)[0], b"a\nb\n")

    def test_ctrl_c_ends_a_capture_that_nobody_reads(self):
        process = self.start("yes")
        wait_until(lambda: bytes_in(process.stdout) >= 65536, "the pipe to be full")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=kprof_testing.LIMIT_S)
        _, err = self.end(process, "cancelled")
        self.assertIn(b"of what it printed were passed over; kprofctl logs", err)

    def test_a_pipe_that_does_not_wait_gets_all_of_it(self):
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        process = self.start("seq", "3000000", stdout=writing)
        os.close(writing)
        with open(reading, "rb") as pipe:
            wait_until(lambda: bytes_in(pipe) >= 65536, "the pipe to be full")
            out = pipe.read()
        self.end(process)
        self.assertTrue(out == NUMBERS, len(out))


class InUserMode(LiveOutput, DaemonTest):
    @kprof_testing.long("waits for the 10 s after which a client counts as gone")
    def test_a_killed_kprofctl_is_a_client_that_is_gone(self):
        process = self.start("sh", "-c", "while :; do echo x; sleep 0.02; done")
        read_line(process.stdout)
        run = self.ctl.json("runs", "--limit", "1")["runs"][0]["id"]
        process.kill()
        process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(self.ctl.wait(run)["error"]["code"], "client_gone")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class InSystemMode(LiveOutput, kprof_node.AsAlice, unittest.TestCase):
    def setUp(self):
        self.ctl = self.alice
        self.folder = self.enterContext(kprof_testing.temporary_folder("t-"))
        os.chmod(self.folder, 0o755)


class AfterARestart(OwnDaemonTest):
    def test_a_run_that_waited_meanwhile_is_shown_out_of_its_log(self):
        self.daemon.start()
        ctl = self.daemon.ctl
        first = ctl.start("capture", "command", "--device", "cpu", "--", "sleep", "1000")
        self.addCleanup(first.communicate)
        self.addCleanup(first.kill)
        wait_until(lambda: [run for run in ctl.json("runs")["runs"] if run["state"] == "running"], "the first to run")
        second = ctl.start("capture", "command", "--device", "cpu", "--", "sh", "-c", "echo here; echo there >&2")
        wait_until(lambda: [run for run in ctl.json("runs")["runs"] if run["state"] == "queued"], "the second to wait")
        self.daemon.stop()
        self.daemon.start()
        out, err = second.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual((second.returncode, out), (0, b"here\n"), err)
        self.assertIn(b"there\n", err)
        self.assertNotIn(b"were passed over", err)


if __name__ == "__main__":
    unittest.main()
