"""What restarts kprofd after an upgrade waits for all that a restart would lose. systemctl is a stand-in here; the real one
is asked in tests/package.
"""

import os
import re
import subprocess
import unittest

import kprof_testing
from kprof_node import ALICE, KPROFD_UID, Caller, Node
from kprof_testing import LIMIT_S, ROOT, DaemonTest, unique_seconds, wait_until

SCRIPT = os.path.join(ROOT, "deploy", "restart-when-idle")
# Who kprof is here: a user of these tests, or whoever runs them.
SETPRIV = """#!/bin/sh
echo "$*" >"$FOLDER/became"
while [ "${1#--}" != "$1" ]; do shift; done
[ -z "$KPROF" ] || exec /usr/bin/setpriv --reuid="$KPROF" --regid="$KPROF" --clear-groups "$@"
exec "$@"
"""
SYSTEMCTL = """#!/bin/sh
case "$*" in
  *is-active*) exit 0 ;;
  *try-restart*) : >"$FOLDER/restarted" ;;
esac
"""


class Restart:
    """The script, with stand-ins for what it calls."""

    def __init__(self, test, kprofctl, kprof=""):
        self.kprof = str(kprof)
        self.folder = test.enterContext(kprof_testing.temporary_folder())
        for name, text in {"systemctl": SYSTEMCTL, "setpriv": SETPRIV, "sleep": "#!/bin/sh\nexec /bin/sleep 0.05\n",
                           "kprofctl": f"#!/bin/sh\nshift 2\n{kprofctl}\n"}.items():
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(self.path(name), 0o755)
        os.chmod(self.folder, 0o755)
        self.said = self.path("said")
        self.process = None
        test.addCleanup(self.end)

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self):
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(["sh", SCRIPT], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                            env={"PATH": f"{self.folder}:{os.environ['PATH']}", "FOLDER": self.folder, "KPROF": self.kprof})

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=LIMIT_S)

    def says(self, text):
        wait_until(lambda: text in kprof_testing.read_file(self.said).decode(), f"it to say '{text}'")

    def restarted(self):
        return os.path.exists(self.path("restarted"))

    def wait(self):
        return self.process.wait(timeout=LIMIT_S)


class RestartWhenIdleTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.restart = Restart(self, 'cat "$FOLDER/status"')

    def tell(self, **numbers):
        """What kprofctl says, with these numbers of the queue."""
        status = self.ctl.run("--json", "status").text
        for name, number in numbers.items():
            status, found = re.subn(rf'"{name}":\d+', f'"{name}":{number}', status)
            self.assertEqual(found, 1, name)
        with open(self.restart.path("status.new"), "w", encoding="utf-8") as file:
            file.write(status)
        os.rename(self.restart.path("status.new"), self.restart.path("status"))

    def test_it_waits_for_runs_then_for_sessions_that_clients_hold(self):
        self.tell(running=2, sessions_attached=1)
        self.restart.begin()
        self.restart.says("waiting for 2 runs and 1 sessions")
        self.tell(running=0, sessions_attached=1)
        self.restart.says("waiting for 0 runs and 1 sessions")
        self.assertFalse(self.restart.restarted())
        self.tell(running=0, sessions_attached=0)
        self.assertEqual(self.restart.wait(), 0)
        self.assertTrue(self.restart.restarted())

    def test_what_waits_by_itself_does_not_keep_it(self):
        self.tell(running=0, sessions_attached=0, sessions_open=3, sessions_queued=2)
        self.restart.begin()
        self.assertEqual(self.restart.wait(), 0)
        self.assertTrue(self.restart.restarted())

    def test_who_asks_has_no_right_that_kprofd_has_not(self):
        self.tell(running=0, sessions_attached=0)
        self.restart.begin()
        self.assertEqual(self.restart.wait(), 0)
        became = kprof_testing.read_file(self.restart.path("became")).decode()
        for word in ("--reuid=kprof", "--regid=kprof", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"):
            self.assertIn(word, became.split())

    def test_an_answer_that_is_none_restarts_nothing(self):
        answers = ("no words of ours", '{"queue":{"running":0}}', '{"queue":{"running":"$(reboot)","sessions_attached":0}}',
                   '{"queue":{"running":0 0,"sessions_attached":0}}\n{"queue":{"running":0,"sessions_attached":0}}')
        # Another one each time that it looks: were one of them taken for an answer, it would restart or go on looking.
        says = "".join(f"  {i}) echo '{answer}' ;;\n" for i, answer in enumerate(answers))
        restart = Restart(self, f'looks=$(cat "$FOLDER/looks" 2>/dev/null || echo 0)\necho $((looks + 1)) >"$FOLDER/looks"\n'
                                f"case $((looks % {len(answers)})) in\n{says}esac")
        restart.begin()
        self.assertEqual(restart.wait(), 1)
        self.assertFalse(restart.restarted())
        self.assertEqual(kprof_testing.read_file(restart.path("looks")).strip(), b"60")

    def test_without_an_answer_it_restarts_nothing(self):
        self.restart.begin()
        self.assertEqual(self.restart.wait(), 1)
        self.restart.says("restart it by hand")
        self.assertFalse(self.restart.restarted())


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class WhereNobodyElseHasARoleTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        node = Node(self.enterContext(kprof_testing.temporary_folder()),
                    f'[access]\neveryone = "none"\nviewers = ["{ALICE}"]\nadmins = ["{ALICE}"]\n')
        self.addCleanup(node.end)
        node.start()
        self.alice = Caller(node, ALICE)
        self.root = Caller(node, 0)

    def test_the_runs_of_others_are_waited_for(self):
        self.root.run("--json", "capture", "command", "--", "true", expect="not_permitted")
        seconds = unique_seconds()
        client = self.alice.start("capture", "command", "--", "sleep", seconds)
        wait_until(lambda: self.alice.json("status")["queue"]["running"] == 1, "the run to begin")
        restart = Restart(self, f'exec {self.root.program} --socket {self.root.socket} "$@"', kprof=KPROFD_UID)
        restart.begin()
        restart.says("waiting for 1 runs")
        self.assertFalse(restart.restarted())
        client.terminate()
        client.communicate(timeout=LIMIT_S)
        self.assertEqual(restart.wait(), 0)
        self.assertTrue(restart.restarted())


if __name__ == "__main__":
    unittest.main()
