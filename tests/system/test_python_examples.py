"""The examples of docs/python.md and docs/examples/optimise_loop.py do what they say."""

import os
import re
import subprocess
import sys
import unittest

try:
    import grpc  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("needs python3-grpcio") from error
try:
    import pandas
except ImportError:
    pandas = None

import kprof_testing
from kprof_testing import OwnDaemonTest

PACKAGE = os.path.join(os.path.dirname(kprof_testing.BIN), "python")
if not os.path.isdir(os.path.join(PACKAGE, "kprof", "v1")):
    raise unittest.SkipTest(f"no package kprof in {PACKAGE}; build kprof_python")


class ExampleTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()

    def run_program(self, path, limit_s):
        """What it prints."""
        ran = subprocess.run([sys.executable, path], cwd=kprof_testing.ROOT, capture_output=True, text=True, timeout=limit_s, check=False,
                             env={**os.environ, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", "KPROF_SOCKET": self.daemon.socket})
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout


class DocsTest(ExampleTest):
    """The examples of docs/python.md, one after another in one program, print what the page says that they print."""

    BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
    MARK = "=== the next example"

    @unittest.skipIf(pandas is None, "needs python3-pandas")
    def test_the_examples_print_what_the_page_says(self):
        with open(os.path.join(kprof_testing.ROOT, "docs", "python.md"), encoding="utf-8") as page:
            blocks = self.BLOCK.findall(page.read())
        self.assertGreater(len(blocks), 5)
        program = os.path.join(self.folder, "examples.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"\nprint({self.MARK!r})\n".join(code for code, _ in blocks))
        printed_by = self.run_program(program, kprof_testing.LIMIT_S * 3).split(self.MARK + "\n")
        for (code, said), printed in zip(blocks, printed_by, strict=True):
            self.assertEqual(printed, said, code)


class LoopExampleTest(ExampleTest):
    """Ten rounds, of which one is wrong and one slows the clock."""

    BY_ROUND = (("every_divisor", "first"), ("odd_divisors", "FASTER"), ("slows_the_clock", "SLOWER|INCONCLUSIVE"), ("prime_divisors", "FASTER"),
                ("forgets_the_two", "check_failed|command_failed"), ("sieve", "FASTER"), ("byte_sieve", "FASTER"), ("filtered_list", "SLOWER"),
                ("sieve_by_every_number", "SLOWER"), ("number_set", "SLOWER"))

    def test_it_stops_after_ten_rounds_for_they_bring_nothing_any_more(self):
        lines = self.run_program(os.path.join(kprof_testing.ROOT, "docs", "examples", "optimise_loop.py"), kprof_testing.LIMIT_S * 8).splitlines()
        rounds = [line for line in lines if re.match(r"round \d+: ", line)]
        is_quiet = len(rounds) == len(self.BY_ROUND)
        for (version, said), line in zip(self.BY_ROUND, rounds):
            # On a busy machine a round may be too noisy for a verdict; it is never the wrong one.
            self.assertRegex(line, rf"^round \d+: {version}: ({said}|INCONCLUSIVE)( \(.*\))?$", "\n".join(lines))
            is_quiet = is_quiet and re.search(rf": ({said})( |$)", line) is not None
        self.assertTrue(any(line.startswith("best: ") for line in lines), lines)
        if not is_quiet:
            return
        self.assertRegex(lines[10], r"^stopped: no progress \(the best time of the last 3 rounds is 0.00% better than before")
        self.assertRegex(lines[11], r"^best: byte_sieve, [0-9.]+ ms$")
        self.assertEqual(len(lines), 12 + 1 + 10)


if __name__ == "__main__":
    unittest.main()
