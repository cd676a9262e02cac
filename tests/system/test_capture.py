"""`kprofctl capture command`: how it ends, what it prints, what reaches the command."""

import fcntl
import itertools
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import termios
import time
import unittest

import kprof_testing
from kprof_testing import DaemonTest, wait_until

RUN_KEYS = {"schema", "id", "state", "tool", "labels", "device", "command", "uid", "queued_ns", "started_ns", "ended_ns",
            "exit_code", "signal", "error", "trust", "trace", "metrics", "artifacts"}
METRICS = {"wall_ns", "user_cpu_ns", "system_cpu_ns", "max_rss_bytes", "voluntary_switches", "involuntary_switches"}


class CaptureTest(DaemonTest):
    def assert_is_run(self, run):
        """The shape of docs/cli.md."""
        self.assertLessEqual(RUN_KEYS, set(run))
        self.assertEqual(run["schema"], "kprof.run.v1")
        self.assertRegex(run["id"], r"^[0-9a-hjkmnp-tv-z]{16}$")
        self.assertEqual(run["tool"], "command")
        self.assertEqual(run["uid"], os.getuid())
        for name in ("queued_ns", "started_ns", "ended_ns"):
            self.assertTrue(run[name] is None or re.fullmatch(r"[0-9]{19}", run[name]), run[name])
        self.assertIsNone(run["trace"])
        for artifact in run["artifacts"]:
            self.assertEqual(set(artifact), {"name", "size_bytes", "sha256", "path"})
            self.assertRegex(artifact["sha256"], r"^[0-9a-f]{64}$")
        for reason in run["trust"]:
            self.assertEqual(set(reason), {"code", "message"})

    def test_a_command_that_succeeds_is_done(self):
        run = self.ctl.capture("sh", "-c", "echo hello; echo oops >&2")
        self.assert_is_run(run)
        self.assertEqual((run["state"], run["exit_code"], run["signal"], run["error"]), ("done", 0, None, None))
        self.assertEqual(run["command"], ["sh", "-c", "echo hello; echo oops >&2"])
        self.assertEqual(run["device"], ["cpu"])
        self.assertEqual(kprof_testing.distrust(run), [])
        self.assertEqual([artifact["name"] for artifact in run["artifacts"]], ["stderr.log", "stdout.log"])
        self.assertLessEqual(int(run["queued_ns"]), int(run["started_ns"]))
        self.assertLessEqual(int(run["started_ns"]), int(run["ended_ns"]))
        self.assertEqual(set(run["metrics"]), METRICS)
        self.assertGreater(run["metrics"]["wall_ns"], 0)
        self.assertGreater(run["metrics"]["max_rss_bytes"], 0)
        self.assertEqual(self.ctl.show(run["id"]), run)
        self.assertEqual(self.log_of(run["id"]), b"hello\n")
        self.assertEqual(self.log_of(run["id"], "--stderr"), b"oops\n")

    def test_a_busy_host_is_told_with_numbers(self):
        if not any(int(field) for field in kprof_testing.read_file("/proc/stat").split(b"\n")[0].split()[1:]):
            self.skipTest("this kernel does not tell")
        neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                      for _ in range(len(os.sched_getaffinity(0)))]
        try:
            run = self.ctl.capture("sleep", "0.7")
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()
        self.assertEqual(run["state"], "done")
        self.assertEqual([reason["code"] for reason in run["trust"]], ["host_busy"])
        self.assertRegex(run["trust"][0]["message"], r"^others used \d+\.\d\d of \d+ CPUs while it ran; ")

    def test_a_command_that_fails_is_told(self):
        ran = self.ctl.run("--json", "capture", "command", "--", "sh", "-c", "exit 3", expect="command_failed")
        self.assert_is_run(ran.json)
        self.assertEqual((ran.json["state"], ran.json["exit_code"]), ("failed", 3))
        self.assertEqual(ran.json["error"]["code"], "command_failed")
        self.assertIn("exit code 3", ran.json["error"]["message"])
        self.assertEqual(ran.error["schema"], "kprof.error.v1")
        self.assertEqual(ran.error["code"], "command_failed")
        self.assertEqual(set(ran.error), {"schema", "code", "message", "remedy"})

    def test_a_command_that_dies_of_a_signal_is_told(self):
        run = self.ctl.capture("sh", "-c", "kill -SEGV $$", expect="command_failed")
        self.assertEqual((run["state"], run["exit_code"], run["signal"]), ("failed", None, signal.SIGSEGV))
        self.assertIn("SIGSEGV", run["error"]["message"])

    def test_without_json_a_report_for_people_is_printed(self):
        ran = self.ctl.run("capture", "command", "--", "echo", "hello")
        self.assertEqual(ran.out, b"hello\n")
        self.assertIn(b"done", ran.err)
        self.assertIn(b"kprofctl logs", ran.err)
        ran = self.ctl.run("capture", "command", "--", "sh", "-c", "echo the reason >&2; exit 1", expect="command_failed")
        self.assertTrue(ran.err.startswith(b"the reason\n"), ran)
        self.assertNotIn(b"\x1b", ran.out + ran.err, "colour where there is no terminal")

    def test_detached_it_prints_the_id_at_once(self):
        ran = self.ctl.run("capture", "command", "--detach", "--", "sh", "-c", self.gate())
        run_id = ran.text.strip()
        self.assertRegex(run_id, r"^[0-9a-hjkmnp-tv-z]{16}$")
        self.ctl.wait_for_state(run_id, "running")
        self.open_gate()
        self.assertEqual(self.ctl.wait(run_id, expect=0)["state"], "done")

    def test_wait_exits_as_the_capture_would(self):
        run_id = self.ctl.detach("sh", "-c", "exit 1")
        self.assertEqual(self.ctl.wait(run_id, expect="command_failed")["error"]["code"], "command_failed")
        # Also for one that ended long ago.
        self.assertEqual(self.ctl.wait(run_id, expect="command_failed")["id"], run_id)

    def test_cancel_ends_a_running_command(self):
        seconds = kprof_testing.unique_seconds()
        run_id = self.ctl.detach("sleep", seconds)
        self.ctl.wait_for_state(run_id, "running")
        self.ctl.run("cancel", run_id)
        run = self.ctl.wait(run_id, expect="cancelled")
        self.assertEqual((run["state"], run["error"]["code"], run["signal"]), ("cancelled", "cancelled", signal.SIGTERM))
        self.assert_nothing_runs(seconds, run=run_id)
        self.assertEqual(self.ctl.run("cancel", run_id, "--json", expect="usage").error["code"], "usage")

    def test_timeout_fails_a_run(self):
        run = self.ctl.capture("sleep", kprof_testing.unique_seconds(), options=("--timeout", "200ms"), expect="timed_out")
        self.assertEqual((run["state"], run["error"]["code"]), ("failed", "timed_out"))
        self.assertIn("--timeout", run["error"]["remedy"])
        self.assertGreaterEqual(run["metrics"]["wall_ns"], 200e6)

    def test_an_empty_output_leaves_no_artifact(self):
        run = self.ctl.capture("true")
        self.assertEqual(run["artifacts"], [])
        self.assertEqual(self.log_of(run["id"]), b"")
        self.assertFalse(os.path.exists(self.daemon.run_folder(run["id"])))

    def test_standard_input_is_empty(self):
        with open("/dev/zero", "rb") as endless:
            run = self.ctl.capture("sh", "-c", "wc -c", stdin=endless)
        self.assertEqual(self.log_of(run["id"]).split(), [b"0"])

    def test_cwd_umask_and_limits_are_the_callers(self):
        def prepare():
            os.umask(0o027)
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        run = self.ctl.capture("sh", "-c", "pwd; umask; ulimit -Sn; ulimit -Hn; ulimit -c; touch made",
                               cwd=self.folder, preexec_fn=prepare)
        self.assertEqual(self.log_of(run["id"]).decode().split(), [self.folder, "0027", "200", "300", "0"])
        self.assertEqual(stat.S_IMODE(os.stat(self.path("made")).st_mode), 0o640)

    def test_cwd_can_be_chosen(self):
        os.mkdir(self.path("inside"))
        run = self.ctl.capture("pwd", options=("--cwd", "inside"), cwd=self.folder)
        self.assertEqual(self.log_of(run["id"]).decode().strip(), self.path("inside"))

    def test_nothing_but_standard_descriptors_and_the_pipe_for_metrics_reaches_the_command(self):
        run = self.ctl.capture("/usr/bin/python3", "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")
        self.assertEqual(self.log_of(run["id"]), b"[0, 1, 2, 3, 100]\n")  # 3: the folder that is being listed

    def test_it_starts_in_a_group_of_its_own_with_standard_signals(self):
        code = ("import os, signal\n"
                "print(os.getpgid(0) == os.getpid(), signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(),\n"
                "      signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)")
        run = self.ctl.capture("/usr/bin/python3", "-c", code)
        self.assertEqual(self.log_of(run["id"]), b"True True True\n")

    def test_labels_are_kept(self):
        run = self.ctl.capture("true", options=("--label", "model=llama", "--label", "try=3", "--label", "empty="))
        self.assertEqual(run["labels"], {"empty": "", "model": "llama", "try": "3"})

    def test_wrong_options_are_usage_and_queue_nothing(self):
        before = len(self.ctl.json("runs", "--limit", "1000")["runs"])
        for options in (("--timeout", "soon"), ("--label", "nokey"), ("--device", "7"), ("--device", "all"), ("--clocks", "fast"),
                        ("--env", "=x"), ("--env", "KPROF_TEST_NOT_SET"), ("--nonsense",), ("--label", "bad key=1"),
                        ("--label", "k=" + 2000 * "x"), ("--label", "k=1", "--label", "k=2"), ("--device", ""), ("--device=",),
                        ("--cwd", ""), ("--socket", "")):
            with self.subTest(options=options):
                ran = self.ctl.run("--json", "capture", "command", *options, "--", "true", expect="usage")
                self.assertEqual(ran.error["code"], "usage")
                self.assertEqual(ran.out, b"")
        self.ctl.run("capture", "command", expect="usage")
        self.ctl.run("capture", "command", "--", expect="usage")
        ran = self.ctl.run("capture", "command", "sleep", "5", expect="usage")
        self.assertTrue(ran.err.endswith(b" capture command -- sleep 5\n"), ran)
        self.ctl.run("capture", "nosuchtool", "--", "true", expect="usage")
        self.assertEqual(len(self.ctl.json("runs", "--limit", "1000")["runs"]), before)

    def test_what_later_versions_have_is_told_apart_from_a_typo(self):
        for words in (("open", "@last"),):
            with self.subTest(words=words):
                error = self.ctl.run("--json", *words, expect="usage").error
                self.assertIn("is not part of this version of kprofctl", error["message"])
                self.assertTrue(error["remedy"])
        out = self.ctl.run("capture", "command", "--clocks", "none", "--", "echo", "--priority", "--clocks", "lock")
        self.assertEqual(self.log_of("@last"), b"--priority --clocks lock\n", out)

    def test_global_options_stand_before_or_after_the_verb(self):
        process = self.ctl.start("status", "--json")
        out, _ = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(json.loads(out)["schema"], "kprof.status.v1")
        self.assertEqual(self.ctl.json("status")["pid"], self.daemon.pid)

    def test_a_queue_that_is_watched_shows_progress_on_a_terminal(self):
        master, slave = os.openpty()
        environment = dict(self.ctl.environment, TERM="xterm")
        process = self.ctl.start("capture", "command", "--", "sh", "-c", self.gate(), stderr=slave, env=environment)
        os.close(slave)
        os.set_blocking(master, False)
        seen = b""

        def look():
            nonlocal seen
            try:
                seen += os.read(master, 65536)
            except BlockingIOError:
                pass
            return b"running" in seen and b" on cpu" in seen
        wait_until(look, "the progress line")
        self.open_gate()
        process.communicate(timeout=kprof_testing.LIMIT_S)
        os.close(master)
        self.assertEqual(process.returncode, 0)


class EnvironmentTest(DaemonTest):
    def test_the_whole_environment_arrives(self):
        environment = dict(self.ctl.environment, EMPTY="", WITH_EQUALS="a=b=c", LINES="1\n2")
        environment["BYTES"] = os.fsdecode(b"\xff\xfe\x01")
        run = self.ctl.capture("env", "-0", env=environment)
        got = dict(entry.split(b"=", 1) for entry in self.log_of(run["id"]).split(b"\0") if entry)
        self.assertEqual(got.pop(b"KPROF_RUN_ID"), run["id"].encode())
        self.assertRegex(got.pop(b"KPROF_STATE"), rb"^\d+-\d+$")
        self.assertRegex(got.pop(b"KPROF_METRICS"), rb"^/proc/\d+/fd/\d+$")
        self.assertTrue(got.pop(b"KPROF_OUTPUT_DIR").endswith(b"/outputs-" + run["id"].encode()))
        self.assertEqual(got, {os.fsencode(name): os.fsencode(value) for name, value in environment.items()})

    def test_env_options_add_and_override(self):
        environment = dict(self.ctl.environment, KEPT="from here", CHANGED="before")
        run = self.ctl.capture("sh", "-c", 'echo "$KEPT,$CHANGED,$ADDED"',
                               options=("--env", "CHANGED=after", "--env", "ADDED=a=b", "--env", "KEPT"), env=environment)
        self.assertEqual(self.log_of(run["id"]), b"from here,after,a=b\n")

    def test_nothing_of_the_daemons_own_environment_arrives(self):
        # A sanitizer's options are the client's, then. The daemon's own differ by one that changes nothing.
        options = kprof_testing.SANITIZER_ENVIRONMENT
        environment = {"ONLY_OF_THE_DAEMON": "1", **{name: value + ":verbosity=0" for name, value in options.items()}}
        with kprof_testing.running_daemon(environment=environment) as daemon:
            own = {"PATH": os.environ["PATH"], **options}
            run = daemon.ctl.capture("env", env=own)
            out = daemon.ctl.run("logs", run["id"]).out.decode().splitlines()
            out = [line for line in out if not line.startswith(("KPROF_STATE=", "KPROF_METRICS=", "KPROF_OUTPUT_DIR="))]
            expected = [f"{name}={value}" for name, value in own.items()] + [f"KPROF_RUN_ID={run['id']}"]
            self.assertEqual(sorted(out), sorted(expected))

    def stored_bytes(self, daemon):
        return {name: kprof_testing.read_file(os.path.join(daemon.state, name)) for name in daemon.files()}

    def test_secrets_reach_the_command_and_no_file_that_stays(self):
        secret = "s3cr3t-" + kprof_testing.unique_seconds()
        environment = dict(self.ctl.environment, MY_API_TOKEN=secret, CUDA_SECRET=secret, HF_HOME=secret, OMP_NUM_THREADS="5",
                           CUDA_db_pass=secret, TORCH_HUB=f"https://me:{secret}@host/x")
        run = self.ctl.capture("sh", "-c", f'test "$MY_API_TOKEN" = "{secret[:3]}""{secret[3:]}" && echo "$HF_HOME" | wc -c',
                               env=environment)
        self.assertEqual(run["state"], "done")
        self.assertEqual(run["environment"]["OMP_NUM_THREADS"], "5")
        self.assertTrue({"MY_API_TOKEN", "CUDA_SECRET", "HF_HOME", "CUDA_db_pass", "TORCH_HUB"}.isdisjoint(run["environment"]))
        # What waits keeps its environment in the spool, and nowhere else; what has started keeps it nowhere.
        blocker = self.ctl.detach("sh", "-c", self.gate())
        waiting = self.ctl.detach("true", env=environment)
        unstartable = [self.ctl.detach("/nonexistent/program", env=environment), self.ctl.detach("true", env=environment)]
        self.ctl.run("cancel", unstartable[1])
        holders = [name for name, content in self.stored_bytes(self.daemon).items() if secret.encode() in content]
        self.assertIn(f"spool/{waiting}", holders)
        self.assertTrue(all(name.startswith("spool/") for name in holders), holders)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.daemon.state, "spool", waiting)).st_mode), 0o600)
        self.open_gate()
        self.ctl.wait(blocker, expect=0)
        self.ctl.wait(waiting, expect=0)
        self.ctl.wait(unstartable[0], expect="spawn_failed")
        wait_until(lambda: not os.listdir(os.path.join(self.daemon.state, "spool")), "the spool to be empty")
        for name, content in self.stored_bytes(self.daemon).items():
            # The first run's own command line holds it in two halves.
            self.assertNotIn(secret.encode(), content, name)
        # Words of the shell, of course, are stored as the user wrote them.
        self.assertIn(secret[3:].encode(), b"".join(self.stored_bytes(self.daemon).values()))


def as_under_nohup():
    kprof_testing.as_in_a_terminal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


class InterruptTest(DaemonTest):
    def begin_foreground(self, *command, prepare=kprof_testing.as_in_a_terminal, options=()):
        process = self.ctl.start("--json", "capture", "command", "--label", "set=interrupt", *options, "--", *command,
                                 preexec_fn=prepare)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)  # one that a failed test left would be waited for without end
        return process

    def start_foreground(self, *command, prepare=kprof_testing.as_in_a_terminal):
        process = self.begin_foreground(*command, prepare=prepare)
        runs = wait_until(lambda: self.ctl.json("runs", "--label", "set=interrupt", "--state", "running")["runs"], "the run")
        return process, runs[0]["id"]

    def open_runs(self):
        states = [word for state in ("queued", "preparing", "running", "collecting") for word in ("--state", state)]
        return self.ctl.json("runs", "--label", "set=interrupt", *states)["runs"]

    def test_ctrl_c_cancels_the_run(self):
        seconds = kprof_testing.unique_seconds()
        process, run_id = self.start_foreground("sleep", seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, kprof_testing.EXIT["cancelled"], err)
        self.assertEqual(json.loads(out)["state"], "cancelled")
        self.assert_nothing_runs(seconds, run=run_id)

    @unittest.skipIf(kprof_testing.SANITIZER == "tsan",
                     "ThreadSanitizer keeps a signal that comes right before a wait until that is over")
    def test_ctrl_c_at_any_moment_leaves_no_run(self):
        cancelled = 0
        for step in itertools.count():  # as far as this machine's pace takes it: beyond the start, and into the run
            if cancelled == 20:
                break
            process = self.begin_foreground("sleep", kprof_testing.unique_seconds(), options=("--label", "at=any"))
            time.sleep(0.002 * step * kprof_testing.SLOW)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
            # Before it has installed its handler it ends by the signal itself, with nothing submitted.
            self.assertIn(process.returncode, (kprof_testing.EXIT["cancelled"], -signal.SIGINT), (step, out, err))
            self.assertEqual(self.open_runs(), [], (step, process.returncode))
            cancelled += process.returncode == kprof_testing.EXIT["cancelled"]
        runs = self.ctl.json("runs", "--label", "at=any", "--limit", "1000")["runs"]
        self.assertLessEqual({run["error"]["code"] for run in runs}, {"cancelled"})

    def test_a_terminal_that_closes_cancels_the_run(self):
        seconds = kprof_testing.unique_seconds()
        master, slave = os.openpty()
        environment = dict(self.ctl.environment, TERM="xterm")

        def prepare():
            kprof_testing.as_in_a_terminal()
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = self.ctl.start("capture", "command", "--label", "set=interrupt", "--", "sleep", seconds, stdin=slave,
                                 stdout=slave, stderr=slave, env=environment, preexec_fn=prepare)
        os.close(slave)
        seen = b""
        while b"running" not in seen:  # a word may come in pieces
            seen += os.read(master, 65536)
        os.close(master)
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT["cancelled"])
        self.assertEqual(self.open_runs(), [])
        self.assertEqual(self.ctl.show("@last")["error"]["code"], "cancelled")
        self.assert_nothing_runs(seconds)

    def test_under_nohup_a_terminal_that_closes_changes_nothing(self):
        process, run_id = self.start_foreground("sh", "-c", self.gate(), prepare=as_under_nohup)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.ctl.show(run_id)["state"], "running")
        self.open_gate()
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json.loads(out)["state"], "done")

    def test_a_second_ctrl_c_leaves_at_once(self):
        # It goes on when it is told to end, so that the run takes the whole grace. Both of its steps are waited for: TERM
        # before its trap would end it and kprofctl with it, and a second Ctrl-C before the daemon has heard of the first
        # would leave the run to be ended as one without a client.
        seconds = kprof_testing.unique_seconds()
        command = (f"trap ': >'{self.path('told')}'' TERM; : >'{self.path('ready')}'; "
                   f"while :; do sleep {seconds} & wait $!; done")
        process, run_id = self.start_foreground("sh", "-c", command)
        wait_until(lambda: os.path.exists(self.path("ready")), "the command's trap")
        process.send_signal(signal.SIGINT)
        wait_until(lambda: os.path.exists(self.path("told")), "the command to be told")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        left = time.time()
        self.assertEqual(process.returncode, kprof_testing.EXIT["cancelled"])
        run = self.ctl.wait(run_id, expect="cancelled")
        self.assertEqual(run["error"]["code"], "cancelled")
        self.assertGreater(int(run["ended_ns"]) / 1e9, left)
        self.assert_nothing_runs(seconds, run=run_id)

    def test_ctrl_c_while_waiting_leaves_the_run_alone(self):
        run_id = self.ctl.detach("sh", "-c", self.gate())
        process = self.ctl.start("wait", run_id, preexec_fn=kprof_testing.as_in_a_terminal)
        self.ctl.wait_for_state(run_id, "running")
        # It may not have installed its handler yet: then it ends by the signal itself.
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertIn(process.returncode, (kprof_testing.EXIT["cancelled"], -signal.SIGINT))
        self.assertEqual(self.ctl.show(run_id)["state"], "running")
        self.open_gate()
        self.ctl.wait(run_id, expect=0)

    @kprof_testing.long("waits for the 10 s after which a client counts as gone")
    def test_a_client_that_dies_takes_its_run_along(self):
        seconds = kprof_testing.unique_seconds()
        process, run_id = self.start_foreground("sleep", seconds)
        process.kill()
        run = self.ctl.wait(run_id, expect="client_gone", limit_s=60 * kprof_testing.SLOW)
        self.assertEqual((run["state"], run["error"]["code"]), ("cancelled", "client_gone"))
        self.assertGreater(run["metrics"]["wall_ns"], 9e9)
        self.assert_nothing_runs(seconds, run=run_id)

    @kprof_testing.long("waits for the 10 s after which a client counts as gone")
    def test_a_detached_run_outlives_its_client(self):
        run_id = self.ctl.detach("sh", "-c", self.gate())
        time.sleep(12)
        self.assertEqual(self.ctl.show(run_id)["state"], "running")
        self.open_gate()
        self.ctl.wait(run_id, expect=0)


if __name__ == "__main__":
    unittest.main()
