"""kprofd itself: starting, stopping, refusing; and a client that finds none."""

import fcntl
import os
import pty
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import termios
import unittest

import kprof_testing
from kprof_testing import Client, Daemon, DaemonTest, OwnDaemonTest, run_kprofd, temporary_folder, wait_until


def clean_stop(state):
    """Whether the last daemon ended in good order, as the catalog says it. Only where no daemon lives."""
    database = sqlite3.connect(os.path.join(state, "catalog.db"))
    try:
        return database.execute("SELECT value FROM facts WHERE name = 'clean_stop'").fetchone()[0]
    finally:
        database.close()


class NoDaemonTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(temporary_folder())

    def test_a_client_says_so_and_how_to_start_one(self):
        ctl = Client(os.path.join(self.folder, "none.sock"))
        for verb in (("status",), ("runs",), ("capture", "command", "--", "true"), ("query", "SELECT 1"), ("show", "@last"),
                     ("logs", "@last"), ("wait", "@last"), ("artifacts", "@last"), ("doctor",),
                     ("backup", os.path.join(self.folder, "b"))):
            with self.subTest(verb=verb):
                ran = ctl.run("--json", *verb, expect="no_daemon")
                self.assertEqual(ran.error["code"], "no_daemon")
                self.assertIn("kprofd --user", ran.error["remedy"])
                self.assertEqual(ran.out, b"")
        self.assertEqual(os.listdir(self.folder), [], "nothing is left by a verb that failed")

    def test_so_it_does_without_a_named_socket(self):
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "XDG_RUNTIME_DIR": self.folder,
                       **kprof_testing.SANITIZER_ENVIRONMENT}
        done = subprocess.run([kprof_testing.KPROFCTL, "status"], env=environment, capture_output=True, text=True,
                              timeout=kprof_testing.LIMIT_S, check=False)
        if os.path.exists("/run/kprofd/kprofd.sock"):
            self.skipTest("a system daemon runs on this machine")
        self.assertEqual(done.returncode, 3)
        self.assertIn("kprofd --user", done.stderr)

    def test_a_socket_that_nobody_listens_at_is_no_daemon(self):
        path = os.path.join(self.folder, "dead.sock")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        Client(path).run("status", expect="no_daemon")

    def test_a_path_that_can_be_no_socket_is_usage(self):
        Client("/tmp/" + "x" * 200).run("status", expect="usage")

    def test_an_option_that_is_empty_is_no_default(self):
        for option in ("--state-dir", "--socket", "--config", "--restore"):
            done = run_kprofd("--user", option, "")
            self.assertEqual(done.returncode, 2, option)
            self.assertIn(option, done.stderr)
            self.assertIn("empty", done.stderr)

    def test_system_mode_is_refused_clearly(self):
        done = run_kprofd("--state-dir", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--user", done.stderr)


class StartStopTest(OwnDaemonTest):
    def refused(self, *options):
        done = run_kprofd("--user", *options)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        return done

    def test_its_files_are_the_owners_alone(self):
        self.daemon.start()
        run = self.daemon.ctl.capture("echo", "x")["id"]
        for path in (self.daemon.state, self.daemon.run_folder(run), os.path.join(self.daemon.state, "spool")):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700, path)
        for path in (self.daemon.catalog(), self.daemon.catalog("catalog.db-wal"),
                     os.path.join(self.daemon.run_folder(run), "stdout.log")):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)
        self.assertEqual(stat.S_IMODE(os.stat(self.daemon.socket).st_mode), 0o600)

    def test_a_second_daemon_on_the_same_state_folder_is_refused(self):
        self.daemon.start()
        done = self.refused("--state-dir", self.daemon.state, "--socket", os.path.join(self.folder, "other.sock"))
        self.assertEqual(done.returncode, kprof_testing.EXIT["usage"])
        self.assertIn(f"pid {self.daemon.pid}", done.stderr)
        self.assertIn(self.daemon.state, done.stderr)
        self.assertEqual(self.daemon.ctl.json("status")["pid"], self.daemon.pid)

    def release_clocks(self):
        return run_kprofd("--user", "--release-clocks", "--state-dir", self.daemon.state)

    def test_a_standard_error_that_is_closed_is_not_taken_for_another_descriptor(self):
        process = subprocess.Popen(["sh", "-c", 'exec "$@" 2>&-', "sh", kprof_testing.KPROFD, "--user", "--state-dir",
                                    self.daemon.state, "--socket", self.daemon.socket], stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: os.path.exists(self.daemon.socket), "the socket")
            self.assertEqual(self.daemon.ctl.capture("true")["state"], "done")
            self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/2"), "/dev/null")
        finally:
            process.terminate()
            self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), 0)

    def test_release_clocks_finds_nothing_held(self):
        done = self.release_clocks()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(os.path.exists(self.daemon.state), "it makes no state folder")
        self.daemon.start()
        self.daemon.kill()
        before = self.daemon.files()
        done = self.release_clocks()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"kprofd: no clocks are held (state {self.daemon.state})\n")
        self.assertEqual(self.daemon.files(), before)
        self.daemon.start()

    def test_release_clocks_leaves_a_living_daemon_alone(self):
        self.daemon.start()
        done = self.release_clocks()
        self.assertEqual(done.returncode, kprof_testing.EXIT["usage"])
        self.assertTrue(done.stderr.startswith("kprofd: release clocks: "), done.stderr)
        self.assertIn(f"state folder {self.daemon.state} is held by kprofd, pid {self.daemon.pid} since", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.daemon.ctl.json("status")["pid"], self.daemon.pid)

    def test_other_ways_to_listen_may_be_off(self):
        command = self.daemon.command
        self.daemon.command = lambda: [*command(), "--http", "off", "--listen=off"]
        self.daemon.start()
        for value, why in (("127.0.0.1:8080", "there is no connection without TLS"), ("", "is given, but empty")):
            done = self.refused("--state-dir", os.path.join(self.folder, "other"), "--listen", value)
            self.assertEqual(done.returncode, kprof_testing.EXIT["usage"])
            self.assertIn(why, done.stderr)

    def test_a_second_daemon_on_the_same_socket_is_refused(self):
        self.daemon.start()
        done = self.refused("--state-dir", os.path.join(self.folder, "other"), "--socket", self.daemon.socket)
        self.assertIn(self.daemon.socket, done.stderr)
        self.assertEqual(self.daemon.ctl.json("status")["pid"], self.daemon.pid)

    def test_a_file_in_place_of_the_socket_is_left_alone(self):
        with open(self.daemon.socket, "w", encoding="utf-8") as file:
            file.write("precious")
        self.assertIn(self.daemon.socket, self.refused("--state-dir", self.daemon.state, "--socket", self.daemon.socket).stderr)
        with open(self.daemon.socket, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_a_state_folder_that_cannot_be_made_is_told(self):
        with open(os.path.join(self.folder, "file"), "wb"):
            pass
        done = self.refused("--state-dir", os.path.join(self.folder, "file", "state"))
        self.assertIn(os.path.join(self.folder, "file"), done.stderr)

    def test_a_catalog_that_is_none_is_refused_and_left_alone(self):
        os.mkdir(self.daemon.state)
        for content in (b"not a database at all" * 100, self.foreign_database()):
            with open(self.daemon.catalog(), "wb") as file:
                file.write(content)
            done = self.refused("--state-dir", self.daemon.state)
            self.assertIn("catalog", done.stderr)
            with open(self.daemon.catalog(), "rb") as file:
                self.assertEqual(file.read(), content)

    def foreign_database(self):
        path = os.path.join(self.folder, "foreign.db")
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE precious (x)")
        database.commit()
        database.close()
        with open(path, "rb") as file:
            return file.read()

    def test_a_catalog_of_a_newer_version_is_refused_and_left_alone(self):
        self.daemon.start()
        self.daemon.stop()
        database = sqlite3.connect(self.daemon.catalog())
        database.execute("PRAGMA user_version = 1000")
        database.close()
        with open(self.daemon.catalog(), "rb") as file:
            before = file.read()
        self.assertIn("1000", self.refused("--state-dir", self.daemon.state).stderr)
        with open(self.daemon.catalog(), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_it_stops_in_good_order(self):
        self.daemon.start()
        seconds = kprof_testing.unique_seconds()
        running = self.daemon.ctl.detach("sh", "-c", f"sleep {seconds}")
        queued = self.daemon.ctl.detach("echo", "I waited")
        self.daemon.ctl.wait_for_state(running, "running")
        self.assertEqual(self.daemon.stop(), 0)
        wait_until(lambda: not kprof_testing.processes_with(seconds), "the command to be gone")
        self.assertFalse(os.path.exists(self.daemon.socket))
        self.assertNotIn("catalog.db-wal", self.daemon.files())
        self.assertEqual(clean_stop(self.daemon.state), 1)
        self.daemon.start()
        run = self.daemon.ctl.wait(running, expect="lost_daemon")
        self.assertEqual((run["state"], run["error"]["code"]), ("failed", "lost_daemon"))
        self.assertEqual(self.daemon.ctl.wait(queued, expect=0)["state"], "done")

    def test_a_kill_is_no_clean_stop(self):
        self.daemon.start()
        self.daemon.kill()
        self.assertEqual(clean_stop(self.daemon.state), 0)
        self.daemon.start()
        wait_until(lambda: self.daemon.ctl.json("status")["storage"]["health"] == "ok", "the catalog to be checked")

    def test_each_of_its_signals_stops_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.daemon.start()
            self.daemon.process.send_signal(number)
            self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), 0)

    def test_a_hang_up_reads_its_settings_again(self):
        self.daemon.configure("log_level = \"info\"\n")
        self.daemon.start()
        run = self.daemon.ctl.detach("sleep", kprof_testing.unique_seconds())
        self.daemon.ctl.wait_for_state(run, "running")
        self.daemon.configure("log_level = \"warning\"\n[queue]\nlimit_runs = 7\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "wait for the next start settings=[queue]" in self.daemon.log(), "what waits to be named")
        self.daemon.configure("log_level = \"loud\"\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the settings stay as they are" in self.daemon.log(), "the bad file to be refused")
        self.assertIn("'log_level' 'loud'", self.daemon.log())
        self.assertEqual(self.daemon.ctl.json("show", run)["state"], "running")
        self.daemon.ctl.run("cancel", run)

    def test_a_hang_up_of_its_terminal_stops_it(self):
        controller, terminal = pty.openpty()
        self.addCleanup(os.close, controller)
        self.addCleanup(os.close, terminal)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

        self.begin(take_terminal)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), 0)

        self.daemon.configure("log_level = \"info\"\n")

        def take_terminal_under_nohup():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            take_terminal()

        self.begin(take_terminal_under_nohup)
        self.assert_hang_up_reads_its_settings()
        self.assertEqual(self.daemon.stop(), 0)

    def begin(self, prepare):
        """With what `prepare` does to its process."""
        with open(self.daemon.log_path, "wb") as log:
            self.daemon.process = subprocess.Popen(self.daemon.command(), preexec_fn=prepare, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log)
        wait_until(lambda: "kprofd is ready" in self.daemon.log(), "kprofd to be ready")

    def assert_hang_up_reads_its_settings(self):
        self.daemon.configure("log_level = \"loud\"\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the settings stay as they are" in self.daemon.log(), "the bad file to be refused")

    def test_signals_that_its_starter_ignores(self):
        self.daemon.configure("log_level = \"info\"\n")

        def ignore():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
                signal.signal(number, signal.SIG_IGN)

        self.begin(ignore)
        # Its children's ends are seen, and what it starts ignores nothing.
        self.assertEqual(self.daemon.ctl.capture("sh", "-c", "exit 3", expect="command_failed")["exit_code"], 3)
        ignored = self.daemon.ctl.capture("grep", "SigIgn", "/proc/self/status")
        heading, mask = self.daemon.ctl.run("logs", ignored["id"]).out.split()
        libc_keeps = 0b11 << 31  # signals 32 and 33, which no program can set back
        self.assertEqual((heading, int(mask, 16) & ~libc_keeps), (b"SigIgn:", 0))
        # An interrupt is for the script that started it. Had it been heard, it would have come before the hang-up.
        self.daemon.process.send_signal(signal.SIGINT)
        self.assert_hang_up_reads_its_settings()
        self.assertIsNone(self.daemon.process.poll())
        self.daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), 0)

    def test_a_second_signal_ends_its_runs_at_once(self):
        self.daemon.start()
        seconds = kprof_testing.unique_seconds()
        ready = os.path.join(self.folder, "ready")
        # It minds no TERM: alone, the first signal would wait for its grace.
        run = self.daemon.ctl.detach("sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep {seconds}; done")
        wait_until(lambda: os.path.exists(ready), "the command to be deaf")
        self.daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "kprofd is stopping" in self.daemon.log(), "kprofd to begin to stop")
        self.daemon.process.send_signal(signal.SIGHUP)  # which asks for no end
        with self.assertRaises(subprocess.TimeoutExpired):
            self.daemon.process.wait(timeout=0.5)
        self.assertNotIn("ends its runs at once", self.daemon.log())
        self.daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), 0)
        self.assertIn("ends its runs at once", self.daemon.log())
        self.assertEqual(kprof_testing.processes_with(seconds), [])
        self.daemon.start()
        self.assertEqual(self.daemon.ctl.wait(run, expect="lost_daemon")["error"]["code"], "lost_daemon")

    def test_the_log_of_a_lost_run_is_exact_whatever_is_configured_now(self):
        everything = b"".join(b"%08d\n" % i for i in range(20000))
        printing = "import time\nfor i in range(20000): print(f'{i:08}')\nprint(end='', flush=True)\ntime.sleep(%s)"
        for config in ("[output]\nhead_bytes = 500\ntail_bytes = 10000\n", "[output]\n"):
            self.daemon.configure("[output]\nhead_bytes = 10000\ntail_bytes = 8192\n")
            self.daemon.start()
            run = self.daemon.ctl.detach("/usr/bin/python3", "-c", printing % kprof_testing.unique_seconds())
            wait_until(lambda: self.daemon.ctl.run("logs", run).out.endswith(everything[-9:]), "all to be printed")
            self.daemon.kill()
            self.daemon.configure(config)
            self.daemon.start()
            ended = self.daemon.ctl.wait(run, expect="lost_daemon")
            dropped = len(everything) - 10000 - 8192
            self.assertEqual((ended["stdout_bytes"], ended["stdout_dropped_bytes"]), (len(everything), dropped))
            self.assertEqual(self.daemon.ctl.run("logs", run).out,
                             everything[:10000] + b"\n[kprof: %d bytes dropped here]\n" % dropped + everything[-8192:])
            self.daemon.stop()

    def test_a_follower_survives_a_restart(self):
        self.daemon.start()
        first = self.daemon.ctl.detach("sleep", kprof_testing.unique_seconds())
        self.daemon.ctl.wait_for_state(first, "running")
        self.daemon.ctl.detach("true")
        waiting = self.daemon.ctl.start("--json", "capture", "command", "--", "true")
        self.assertIn(b"is queued, 1 before it", kprof_testing.read_line(waiting.stderr))
        self.daemon.kill()
        self.daemon.start()
        out, err = waiting.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(waiting.returncode, 0, err)
        self.assertIn(b'"state":"done"', out)
        self.assertEqual(self.daemon.ctl.wait(first, expect="lost_daemon")["error"]["code"], "lost_daemon")

    def test_queue_timeouts_hold_across_a_restart(self):
        self.daemon.start()
        gate = os.path.join(self.folder, "gate")
        self.daemon.ctl.detach("sleep", kprof_testing.unique_seconds())
        first = self.daemon.ctl.detach("sh", "-c", f"until [ -e {gate} ]; do sleep 0.02; done")
        second = self.daemon.ctl.detach("true", options=("--queue-timeout", "1500ms"))
        self.daemon.kill()
        self.daemon.start()
        self.daemon.ctl.wait_for_state(first, "running")
        self.assertEqual(self.daemon.ctl.wait(second, expect="queue_timeout")["error"]["code"], "queue_timeout")
        with open(gate, "wb"):
            pass
        self.daemon.ctl.wait(first, expect=0)


class ConfigTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(temporary_folder())

    def check(self, text):
        path = os.path.join(self.folder, "c.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return run_kprofd("--check-config", "--config", path), path

    def test_good_settings_are_good(self):
        done, _ = self.check('log_level = "debug"\n[[device]]\nkind = "nvidia"\n[queue]\nlimit_runs = 5\n')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_example_of_the_docs_is_good(self):
        with open(os.path.join(kprof_testing.ROOT, "docs", "configuration.md"), encoding="utf-8") as file:
            example = file.read().partition("```toml\n")[2].partition("```")[0]
        done, _ = self.check("\n".join(line for line in example.splitlines() if not line.startswith("launcher")))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_complaints_name_the_line(self):
        for line, text in ((1, "nonsense = 1\n"), (2, "\nlog_level = 7\n"), (3, '# a\n# b\nstate_dir = "unended\n'),
                           (3, "[queue]\n\nlimit_runs = 0\n"), (2, "[queue]\nlimit = 3\n"), (2, "[output]\ntail_bytes = 12\n"),
                           (4, '[[device]]\nkind = "nvidia"\n\n[[device]]\nid = "0"\nkind = "nvidia"\n'),
                           (1, '[[device]]\nkind = "abacus"\n'), (1, "queue = 5\n"), (1, '[[device]]\nkind = "neuron"\n')):
            with self.subTest(text=text):
                done, path = self.check(text)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rf"{path}:{line}\b")
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_all_complaints_are_told_at_once(self):
        done, path = self.check('log_level = 7\nsockt = "/x"\n[queue]\nlimit_runs = 0\n[listen]\naddress = "127.0.0.1:0"\n')
        self.assertEqual(done.returncode, 1)
        self.assertEqual([line.split(":")[2] for line in done.stderr.splitlines()], ["1", "2", "4", "5"], done.stderr)
        self.assertIn("'certificate' of [listen] is missing", done.stderr)

    def test_a_file_that_is_not_there_is_told(self):
        done = run_kprofd("--check-config", "--config", "/nonexistent.toml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent.toml", done.stderr)


class StatusTest(DaemonTest):
    def test_status_has_its_shape(self):
        status = self.ctl.json("status")
        self.assertEqual(status["schema"], "kprof.status.v1")
        self.assertEqual((status["mode"], status["pid"], status["uid"]), ("user", self.daemon.pid, os.getuid()))
        self.assertEqual(status["socket"], self.daemon.socket)
        self.assertEqual(status["storage"]["state_dir"], self.daemon.state)
        self.assertEqual(status["storage"]["health"], "ok")
        self.assertEqual(set(status["queue"]), {"queued", "running", "limit", "limit_per_uid", "sessions_attached", "sessions_queued",
                                                 "sessions_open"})
        self.assertIn(str(self.daemon.pid), self.ctl.run("status").text)

    def test_versions_are_told(self):
        for program in (kprof_testing.KPROFD, kprof_testing.KPROFCTL):
            done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=kprof_testing.LIMIT_S,
                                  check=True)
            self.assertRegex(done.stdout, rf"^{os.path.basename(program)} \d+\.\d+\.\d+\n$")

    def test_every_verb_has_help(self):
        verbs = ("status", "devices", "capture", "runs", "show", "wait", "cancel", "delete", "pin", "unpin", "logs", "artifacts",
                 "query", "backup", "doctor", "completion")
        overview = self.ctl.run("--help").text
        for verb in verbs:
            self.assertIn(verb, overview)
            self.assertIn("--json", self.ctl.run(verb, "--help").text)
        self.ctl.run("nonsense", expect="usage")
        self.ctl.run(expect="usage")

    def test_doctor_has_remedies(self):
        answer = self.ctl.json("doctor")
        self.assertEqual(answer["schema"], "kprof.doctor.v1")
        self.assertIn("free_space", [diagnosis["check"] for diagnosis in answer["diagnoses"]])
        for diagnosis in answer["diagnoses"]:
            self.assertIn(diagnosis["level"], ("ok", "warning", "problem"))
            if diagnosis["level"] != "ok":
                self.assertTrue(diagnosis["remedy"], diagnosis)
        self.assertIn("free_space", self.ctl.run("doctor").text)
        self.assertNotIn("lost_files", [diagnosis["check"] for diagnosis in answer["diagnoses"]])

    def test_doctor_tells_of_what_was_put_away(self):
        lost = os.path.join(self.daemon.state, "lost", "0123456789abcdef")
        os.makedirs(lost)
        found = [d for d in self.ctl.json("doctor")["diagnoses"] if d["check"] == "lost_files"]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["level"], "warning")
        self.assertIn(os.path.dirname(lost), found[0]["message"])
        shutil.rmtree(os.path.dirname(lost))

    def test_completion_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.ctl.run("completion", shell).text
            for word in ("capture", "artifacts", "--queue-timeout"):
                self.assertIn(word.lstrip("-"), script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, text=True, timeout=kprof_testing.LIMIT_S, check=True)
        self.ctl.run("completion", "powershell", expect="usage")

    def test_bash_completes_verbs(self):
        script = self.ctl.run("completion", "bash").text
        probe = script + '\nCOMP_WORDS=(kprofctl ca); COMP_CWORD=1; COMP_LINE="kprofctl ca"; COMP_POINT=11\n'
        probe += '"$(complete -p kprofctl | sed \'s/.*-F \\([^ ]*\\).*/\\1/\')" kprofctl ca kprofctl; echo "${COMPREPLY[@]}"\n'
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, timeout=kprof_testing.LIMIT_S, check=True)
        self.assertEqual(sorted(done.stdout.split()), ["cancel", "capture"], done.stderr)


class RetentionTest(unittest.TestCase):
    def test_old_runs_give_way_to_the_quota_when_the_daemon_starts(self):
        kprof_testing.need_programs()
        with temporary_folder() as folder:
            daemon = Daemon(folder)
            daemon.start()
            runs = [daemon.ctl.capture("sh", "-c", "head -c 100000 /dev/zero")["id"] for _ in range(4)]
            daemon.ctl.run("pin", runs[0])
            daemon.stop()
            daemon = Daemon(folder, "[retention]\nmax_artifact_bytes = 250000\n")
            daemon.start()
            try:
                def kept():
                    return [run["id"] for run in daemon.ctl.json("runs")["runs"]]
                wait_until(lambda: kept() == [runs[3], runs[0]], "the quota to hold")
                folder = os.path.join(daemon.state, "runs")
                wait_until(lambda: sorted(os.listdir(folder)) == [runs[0], runs[3]], "the folders to go")
            finally:
                daemon.stop()


if __name__ == "__main__":
    unittest.main()
