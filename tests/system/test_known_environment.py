"""What tests/run gives the tests, whatever it was started with and under: here by a script that ignores signals, in the
background, niced, with an environment of its own."""

import json
import os
import subprocess
import sys
import unittest

import kprof_testing

TESTS = os.path.join(kprof_testing.ROOT, "tests")
# Runs this file as a test program, by the runner's own way to do so.
RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
import runner
def read(program, code, output):
    print(output, end="")
    return [runner.Outcome("environment", "passed")]
program = runner.Program("environment", [sys.executable, sys.argv[2], "--say"], 60, read)
runner.run_program(program, runner.settings_of("release", sys.argv[3], False))
print("left out:", program.left_out)
"""
SCRIPT = "trap '' HUP INT QUIT TERM PIPE CHLD USR1; umask 077; nice -n 3 \"$@\" & wait $!"


def what_a_test_is_given():
    """Of this process, which is a test program, and of what it starts: Python ignores some signals itself."""
    def status(field):
        return subprocess.run(["grep", "-oP", f"{field}:\\s*\\K.*", "/proc/self/status"], check=True, capture_output=True,
                              text=True).stdout.strip()
    umask = os.umask(0)
    os.umask(umask)
    return {"ignored": int(status("SigIgn"), 16), "blocked": int(status("SigBlk"), 16), "umask": umask, "stdin": sys.stdin.read(),
            "niceness": os.getpriority(os.PRIO_PROCESS, 0), "environment": dict(os.environ)}


class KnownEnvironmentTest(unittest.TestCase):
    def test_is_the_same_however_the_tests_are_started(self):
        environment = {"PATH": os.environ["PATH"], "HOME": "/", "TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "KPROF_SOCKET": "/nowhere",
                       "KPROF_LONG": "1", "KPROF_FAULT_SEED": "7", "PYTHONPATH": "/nowhere", "LD_LIBRARY_PATH": "/nowhere"}
        done = subprocess.run(
            ["sh", "-c", SCRIPT, "sh", "/usr/bin/python3", "-c", RUNNER, TESTS, os.path.abspath(__file__), "/nowhere"], input="typed\n",
            env=environment, capture_output=True, text=True, timeout=kprof_testing.LIMIT_S, check=True)
        said, shortened, left_out = done.stdout.splitlines()
        given = json.loads(said)
        self.assertEqual({name: given[name] for name in ("ignored", "blocked", "umask", "stdin")},
                         {"ignored": 0, "blocked": 0, "umask": 0o022, "stdin": ""})
        self.assertEqual(given["niceness"], min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3))
        seen = given["environment"]
        self.assertEqual((seen["TZ"], seen["LC_ALL"], seen["KPROF_FAULT_SEED"], seen["KPROF_BIN"]), ("UTC", "C.UTF-8", "7", "/nowhere/bin"))
        self.assertEqual({"KPROF_SOCKET", "KPROF_LONG", "PYTHONPATH", "LD_LIBRARY_PATH"} & seen.keys(), set())
        self.assertEqual((shortened, left_out), ("[long] 2 of 9 lives", "left out: ['2 of 9 lives']"))


if __name__ == "__main__":
    if sys.argv[1:] != ["--say"]:
        unittest.main()
    print(json.dumps(what_a_test_is_given()))
    kprof_testing.of_all(2, 9, "lives")
