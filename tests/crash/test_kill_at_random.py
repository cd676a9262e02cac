"""kill -9 of the daemon, the supervisor, the client, or all at once, at random moments of a run whose processes do what
they can to get away. 30 times each, 300 with tests/run --long. Prints the seed and the moments' outcomes.
"""

import collections
import random
import time
import unittest

import scripted_life  # noqa: F401 (puts tests/system on the path)
import kprof_testing
from kprof_testing import Daemon, of_all, temporary_folder, wait_until_gone

TIMES = of_all(30, 300, "kills of each kind")

# In the background, in a session of its own, forked twice, without its environment, deaf to TERM.
ESCAPES = ("sleep {t} & setsid sleep {t} & sh -c 'setsid sleep {t} & setsid env -i sh -c \"sleep {t} & sleep {t}\" &' & "
           "sh -c 'trap \"\" TERM; setsid sleep {t} & sleep {t}' & ")
# The same, but none that has to be waited for until the grace is over.
QUICK = "sleep {t} & setsid sleep {t} & sh -c 'setsid sleep {t} & setsid env -i sh -c \"sleep {t} & sleep {t}\" &' & "
# The same, marked throughout: what can be found when nobody is left who knew it.
MARKED = "sleep {t} & setsid sleep {t} & sh -c 'setsid sleep {t} &' & sh -c 'trap \"\" TERM; setsid sleep {t} & sleep {t}' & "


class KillAtRandom(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(temporary_folder("r-"))
        self.daemon = Daemon(self.folder)
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        self.seed = random.randrange(10**6)
        self.random = random.Random(self.seed)
        self.outcomes = collections.Counter()

    def tearDown(self):
        print(f"seed {self.seed}: " + ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.most_common()))

    def supervisors(self):
        return [pid for pid in kprof_testing.children_of(self.daemon.pid)
                if kprof_testing.read_file(f"/proc/{pid}/comm").startswith(b"kprof-launch")]

    def pause(self):
        """Most of what matters happens in the first moments."""
        time.sleep(self.random.choice((0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)) * (1 + self.random.random()))

    def begin(self, escapes):
        token = kprof_testing.unique_seconds()
        # Some end by themselves at about the moment of the kill.
        last = self.random.choice((f"sleep {token}", "sleep 0.03", "true"))
        return token, self.daemon.ctl.detach("sh", "-c", f"echo begun; {escapes.format(t=token)} {last}")

    def note_end(self, run, *allowed):
        end = self.daemon.ctl.wait(run)
        code = end["error"]["code"] if end["error"] else "done"
        self.assertIn(code, allowed)
        self.outcomes[code] += 1

    def test_the_daemon(self):
        for _ in range(TIMES):
            token, run = self.begin(ESCAPES)
            self.pause()
            self.daemon.kill()
            if self.random.random() < 0.5:
                # The supervisor alone clears up, before anybody comes back.
                wait_until_gone(token, run=run)
            self.daemon.start()
            queued = self.daemon.ctl.detach("true")
            # One that was still queued runs now.
            state = self.daemon.ctl.show(run)["state"]
            if state not in ("failed", "done"):
                self.daemon.ctl.run("cancel", run, expect=None)
            self.note_end(run, "lost_daemon", "done", "cancelled")
            wait_until_gone(token, run=run)
            self.assertEqual(self.daemon.ctl.wait(queued)["state"], "done")

    def test_the_supervisor(self):
        for _ in range(TIMES):
            token, run = self.begin(ESCAPES)
            self.pause()
            for pid in self.supervisors():
                kprof_testing.kill_if_there(pid)
            if self.daemon.ctl.show(run)["state"] in ("queued", "preparing", "running"):
                # It had not been there yet.
                self.daemon.ctl.run("cancel", run, expect=None)
            self.note_end(run, "lost_daemon", "done", "cancelled")
            wait_until_gone(token, run=run)

    def test_daemon_and_supervisor_at_once(self):
        for _ in range(TIMES):
            token, run = self.begin(MARKED)
            self.pause()
            victims = [self.daemon.pid, *self.supervisors()]
            self.random.shuffle(victims)
            for pid in victims:
                kprof_testing.kill_if_there(pid)
            self.daemon.process.wait(timeout=kprof_testing.LIMIT_S)
            self.daemon.start()
            if self.daemon.ctl.show(run)["state"] not in ("failed", "done"):
                self.daemon.ctl.run("cancel", run, expect=None)
            self.note_end(run, "lost_daemon", "done", "cancelled")
            wait_until_gone(token, run=run)

    def test_the_client(self):
        # The run of a foreground client that died ends 10 s later; here each is cancelled instead, and must be whole.
        for _ in range(TIMES):
            token = kprof_testing.unique_seconds()
            client = self.daemon.ctl.start("capture", "command", "--label", f"token={token}", "--", "sh", "-c",
                                           f"echo begun; {QUICK.format(t=token)} sleep {token}")
            time.sleep(0.01 + 0.2 * self.random.random())  # it takes a moment to connect
            client.kill()
            client.communicate()
            found = self.daemon.ctl.json("runs", "--label", f"token={token}")["runs"]
            if not found:
                self.outcomes["never submitted"] += 1
                continue
            self.daemon.ctl.run("cancel", found[0]["id"], expect=None)
            self.note_end(found[0]["id"], "cancelled")
            wait_until_gone(token, run=found[0]["id"])
        self.assertEqual(self.daemon.ctl.capture("true")["state"], "done")


if __name__ == "__main__":
    unittest.main()
