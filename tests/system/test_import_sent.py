"""Sources of imports that come over the wire: what is taken of them, and what is left when they do not come whole."""

import os
import subprocess
import unittest

from kprof_testing import EXIT, LIMIT_S, OwnDaemonTest


class SentSourceTest(OwnDaemonTest):
    config = "[import]\nmax_source_gigabytes = 1\n"

    def setUp(self):
        super().setUp()
        self.daemon.configure(self.config)
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
        self.assertEqual(self.temporary_files(), [])

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

    def test_zeros_are_refused_within_the_first_megabytes(self):
        ctl = self.start_sending()
        self.assertLess(self.send_endlessly(ctl, bytes(4096), bytes(64 << 10)), 64 << 20)
        self.assert_refused(ctl, "bad_input", "it is of no format that is known here", "stdin")

    def test_a_trace_without_an_end_is_stopped_by_the_limit(self):
        ctl = self.start_sending()
        sent = self.send_endlessly(ctl, b'{"traceEvents":[\n', b"\n" * (1 << 20))
        self.assertGreater(sent, 1 << 30)
        self.assert_refused(ctl, "bad_input", "more than 1073741824 bytes", "[import] max_source_gigabytes")


if __name__ == "__main__":
    unittest.main()
