"""kprofctl on a terminal: tables that fit it, colours, escaped control characters, and a capture's output as it comes."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import unittest

import kprof_testing
from kprof_testing import DaemonTest, wait_until

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A kprofctl whose standard input, output and error are a terminal of its own."""

    def __init__(self, ctl, *args, columns=80, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        settings = {name: value for name, value in ctl.environment.items() if name not in ("NO_COLOR", "TERM")}
        self.process = subprocess.Popen(ctl.command(*args), stdin=slave, stdout=slave, stderr=slave,
                                        env={**settings, "TERM": "xterm-256color", **environment})
        os.close(slave)
        self.seen = b""

    def read(self):
        """All that was shown so far."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                piece = os.read(self.master, 65536)
            except OSError:  # all ends of the other side are closed
                break
            if not piece:
                break
            self.seen += piece
        return self.seen.decode(errors="replace")

    def end(self):
        """Waits for its end; all that was shown, with line ends as they are in text."""
        wait_until(lambda: self.read() is not None and self.process.poll() is not None, f"{self.process.args} to end")
        text = self.read()
        os.close(self.master)
        return text.replace("\r\n", "\n")


class TerminalTest(DaemonTest):
    def shown(self, *args, expect=0, **options):
        terminal = Terminal(self.ctl, *args, **options)
        text = terminal.end()
        self.assertEqual(terminal.process.returncode, kprof_testing.EXIT[expect] if isinstance(expect, str) else expect, text)
        return text

    def assert_fits(self, text, columns):
        for line in COLOUR.sub("", text).splitlines():
            self.assertLessEqual(len(line), columns, line)


class TableTest(TerminalTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ctl.capture("sh", "-c", "echo " + "long " * 40)
        cls.ctl.capture("sh", "-c", "exit 3", expect="command_failed")

    def test_a_query_fits_the_terminal_and_a_pipe_gets_all(self):
        name = "void gemm_kernel<float, 128, 64>(" + "Tensor const&, " * 10 + "int)"
        sql = f"SELECT '{name}' AS name, 1234567890 AS dur_ns, 1610612736 AS size_bytes, 12345678 AS count"
        narrow = self.shown("query", sql)
        self.assert_fits(narrow, 80)
        self.assertRegex(narrow, r"void gemm_ker\S*.*\.\.\..*, int\)")
        self.assertIn("1.235 s", narrow)
        self.assertIn("1.5 GiB", narrow)
        self.assertIn("12345678", narrow)
        wide = self.shown("query", "--wide", sql)
        self.assertIn(name, wide)
        self.assertIn("  1234567890  1610612736  12345678\n", wide)
        piped = self.ctl.run("query", sql).text
        self.assertIn(name, piped)
        self.assertIn("  1234567890  1610612736  12345678\n", piped)

    def test_times_of_events_keep_every_digit(self):
        shown = self.shown("query", "SELECT 1234567890123 AS ts_ns, 7 AS start_ns, 1234567890123 AS dur_ns")
        self.assertRegex(shown, r"\n *1,234,567,890,123 ns +7 ns +1,234\.568 s\n")

    def test_columns_that_do_not_fit_are_named(self):
        sql = "SELECT " + ", ".join(f"{1000000000 + i} AS number_{i}" for i in range(12))
        narrow = self.shown("query", sql)
        self.assert_fits(narrow.splitlines()[0], 80)
        self.assertRegex(narrow, r"kprofctl: \d columns do not fit: .*number_11; --wide shows all")
        self.assertIn("1000000011", self.shown("query", "--wide", sql))

    def test_csv_reaches_no_terminal_raw_and_a_pipe_as_it_is(self):
        sql = "SELECT char(27) || '[31mred' || char(10) || 'two' AS text, char(155) || 'J' AS c1"
        shown = self.shown("query", "--format", "csv", sql)
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\x9b", shown)
        self.assertIn("\\x1b[31mred\\ntwo", shown)
        for form in ("json", "ndjson"):
            shown = self.shown("query", "--format", form, sql)
            self.assertNotIn("\x9b", shown)
            self.assertIn("\\u009bJ", shown)
        self.assertEqual(self.ctl.run("query", "--format", "csv", sql).out,
                         'text,c1\r\n"\x1b[31mred\ntwo",\x9bJ\r\n'.encode())

    def test_states_are_in_colour_unless_that_is_not_wanted(self):
        self.assertIn("\x1b[1;31mfailed\x1b[0m", self.shown("runs"))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.shown("runs", **environment))
            self.assertNotIn("\x1b", self.shown("show", "@last", **environment))
            self.assertNotIn("\x1b", self.shown("doctor", **environment))
        self.assertNotIn(b"\x1b", self.ctl.run("runs").out)
        self.assertIn("\x1b[1;31mfailed\x1b[0m", self.shown("show", "@last"))
        for columns in (80, 120):
            self.assert_fits(self.shown("runs", columns=columns), columns)

    def test_what_was_measured_is_in_rows(self):
        shown = self.ctl.run("show", "@last").text
        self.assertRegex(shown, r"\nmeasured +wall +\d.*\n +user_cpu +\d.*\n")


class LiveOutputTest(TerminalTest):
    def test_a_capture_shows_what_the_command_prints_while_it_runs_and_keeps_it(self):
        terminal = Terminal(self.ctl, "capture", "command", "--", "sh", "-c", "echo early; echo wrong >&2; " + self.gate())
        wait_until(lambda: "early" in terminal.read() and "wrong" in terminal.read(), "the command's output to be shown")
        self.open_gate()
        text = terminal.end()
        self.assertEqual(terminal.process.returncode, 0, text)
        self.assertIn("state       done, exit 0", text)
        self.assertEqual(self.ctl.run("logs", "@last").out, b"early\n")
        self.assertEqual(self.ctl.run("logs", "@last", "--stderr").out, b"wrong\n")

    def test_streams_go_to_their_places_and_the_report_to_standard_error(self):
        ran = self.ctl.run("capture", "command", "--", "sh", "-c", r"printf 'a\n\033b'; echo c >&2")
        self.assertEqual(ran.out, b"a\n\x1bb")
        self.assertTrue(ran.err.startswith(b"c\n"), ran)
        self.assertIn(b"\nstate       done, exit 0\n", ran.err)

    def test_quiet_shows_the_report_alone(self):
        ran = self.ctl.run("capture", "command", "--quiet", "--", "sh", "-c", "echo a; echo c >&2")
        self.assertTrue(ran.out.startswith(b"run  "), ran)
        self.assertEqual(ran.err, b"")
        ran = self.ctl.run("capture", "command", "--quiet", "--", "sh", "-c", "echo c >&2; exit 1", expect="command_failed")
        self.assertIn(b"  | c\n", ran.err)

    def test_json_has_standard_output_for_itself(self):
        ran = self.ctl.run("--json", "capture", "command", "--", "sh", "-c", "echo a; echo c >&2")
        self.assertEqual(ran.json["state"], "done")
        self.assertEqual(sorted(ran.err.split(b"\n")), [b"", b"a", b"c"])

    def test_megabytes_arrive_whole(self):
        ran = self.ctl.run("capture", "command", "--", "sh", "-c", "for i in 1 2 3 4 5; do seq 20000; sleep 0.1; done")
        self.assertEqual(ran.out, b"".join(b"%d\n" % (i + 1) for i in range(20000)) * 5)

    def test_what_prepare_and_check_print_is_shown_too(self):
        ran = self.ctl.run("capture", "command", "--prepare", "echo before", "--check", "echo after", "--", "echo", "it")
        self.assertEqual(ran.out, b"before\nit\nafter\n")


class MistakesTest(TerminalTest):
    def test_what_was_meant_is_suggested(self):
        for args, meant in ((("quer", "SELECT 1"), "'query'"), (("shwo", "@last"), "'show'"), (("help", "captrue"), "'capture'"),
                            (("captrue", "--help"), "'capture'"), (("runs", "--lable", "a=b"), "'--label'"),
                            (("capture", "comand", "--", "true"), "'command'"), (("capture", "evnt", "--help"), None),
                            (("analyze", "temporal-breakdwon", "@last"), "'temporal-breakdown'"),
                            (("analyze", "kernel_breakdown", "--help"), "'kernel-breakdown'")):
            with self.subTest(args=args):
                error = self.ctl.run("--json", *args, expect="usage").error
                self.assertEqual(error["code"], "usage")
                if meant:
                    self.assertIn(f"did you mean {meant}?", error["remedy"])

    def test_help_explains_a_verb(self):
        self.assertEqual(self.ctl.run("help", "query").text, self.ctl.run("query", "--help").text)
        self.assertEqual(self.ctl.run("help", "session", "open").text, self.ctl.run("session", "open", "--help").text)
        self.assertEqual(self.ctl.run("help").text, self.ctl.run("--help").text)
        self.ctl.run("help", "nosuchverb", expect="usage")
        self.assertIn("table ranks", self.ctl.run("help", "analyze", "temporal-breakdown").text)

    def test_a_missing_file_is_bad_input_everywhere(self):
        run = self.ctl.capture("true")["id"]
        missing = os.path.join(self.daemon.folder, "missing")
        for args in (("query", "@" + missing), ("artifacts", run, "put", missing), ("import", missing),
                     ("import", missing + "/below"), ("query", f"@{missing}/below")):
            with self.subTest(args=args):
                self.assertEqual(self.ctl.run("--json", *args, expect="bad_input").error["code"], "bad_input")

    def test_two_forms_at_once_are_a_mistake(self):
        for verb in (("query", "SELECT 1"), ("analyze", "summary", "@last")):
            for form in ("csv", "table"):
                error = self.ctl.run("--json", *verb, "--format", form, expect="usage").error
                self.assertIn(f"--json and --format {form}", error["message"])
        self.assertEqual(self.ctl.run("--json", "query", "SELECT 1", "--format", "ndjson").text, '{"1":1}\n')


class CompletionTest(TerminalTest):
    """An interactive bash on a terminal."""

    def test_bash_completes_runs_formats_tools_and_devices(self):
        first = self.ctl.capture("true")["id"]
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        environment = dict(self.ctl.environment, TERM="dumb", PS1="$ ", KPROF_SOCKET=self.ctl.socket,
                           PATH=kprof_testing.BIN + ":" + os.environ["PATH"])
        bash = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=slave, stdout=slave, stderr=slave,
                                env=environment, start_new_session=True)
        os.close(slave)
        self.addCleanup(bash.wait)
        self.addCleanup(bash.kill)
        seen = ""

        def type_and_see(text, wanted):
            nonlocal seen
            before = len(seen)
            os.write(master, text.encode())

            def look():
                nonlocal seen
                while select.select([master], [], [], 0.05)[0]:
                    seen += os.read(master, 65536).decode(errors="replace")
                return wanted in seen[before:].replace("\r", "").replace("\n", "")
            wait_until(look, f"{wanted!r} after {text!r}: {seen[before:]!r}")
            os.write(master, b"\x15")  # forget the line
        type_and_see("source <(kprofctl completion bash); echo rea''dy\n", "ready")
        type_and_see("kprofctl show @l\t", "show @last ")
        type_and_see(f"kprofctl show {first[:-2]}\t", f"show {first} ")
        type_and_see("kprofctl query --format nd\t", "ndjson ")
        type_and_see("kprofctl capture com\t", "command ")
        type_and_see("kprofctl capture --device no\t", "none ")
        type_and_see("kprofctl analyze temporal-b\t", "temporal-breakdown ")
        type_and_see("kprofctl help se\t", "session ")
        type_and_see(f"KPROF_SOCKET= kprofctl --socket={self.ctl.socket} show {first[:-2]}\t", f"show {first} ")


if __name__ == "__main__":
    unittest.main()
