"""Many callers of several users, with single runs and sessions, on one node while kprofd and its helper are killed again
and again: no device is held by two, no run is lost or run twice, no process and no grant is left, nothing is readable by
the wrong user. Needs root; only with tests/run --long. KPROF_SOAK_RUNS, KPROF_SOAK_KILLS: how much of it.
"""

import collections
import json
import os
import random
import sqlite3
import threading
import time
import unittest

import kprof_testing
from kprof_node import ALICE, BOB, CAROL, Caller, Node
from kprof_testing import wait_until

RUNS = int(os.environ.get("KPROF_SOAK_RUNS", "5000"))
KILLS = int(os.environ.get("KPROF_SOAK_KILLS", "50"))
CLIENTS = 20
DEVICES = 4
DEVICE_SETS = ["0", "1", "2", "3", "0,1", "2,3", "1,2"]
HELD_BY_TWO = 99  # the command's exit code when somebody else has its device's lock

CONFIG = "".join(f'[[device]]\nkind = "nvidia"\nuuid = "GPU-{i}"\nid = "{i}"\n' for i in range(DEVICES))
# Takes the lock of each device that it sees, which the kernel gives back with the process, and says that it ran.
# Each lock has a descriptor of its own, of one digit: sh knows no others.
COMMAND = """
n=2
for device in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
  n=$((n+1)); eval "exec $n>>'{locks}/$device'"; flock -n $n || exit {held}
done
echo "$KPROF_RUN_ID $(id -u)" >> "{locks}/ran"
sleep {seconds}
"""


@kprof_testing.long("thousands of runs")
@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NodeSoakTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.locks = os.path.join(self.folder, "locks")
        os.mkdir(self.locks)
        os.chmod(self.locks, 0o777)
        for name in ["ran", *[f"GPU-{i}" for i in range(DEVICES)]]:
            open(os.path.join(self.locks, name), "wb").close()
            os.chmod(os.path.join(self.locks, name), 0o666)
        self.node = Node(self.folder, CONFIG)
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.lock = threading.Lock()
        self.left = RUNS
        self.killing = True
        self.accepted = collections.defaultdict(set)  # uid -> ids
        self.failures = []
        self.outcomes = collections.Counter()

    def take(self):
        """Whether one more run is wanted: as many as were asked for, and until the last kill."""
        with self.lock:
            self.left -= 1
            return self.left >= 0 or (self.killing and not self.failures)

    def one_session(self, caller, uid, choose):
        """Opened, and not always closed."""
        device = choose.choice(DEVICE_SETS)
        opened = caller.run("--json", "session", "open", "--device", device, "--ttl", "20s", "--idle-timeout", "3s",
                            "--queue-timeout", "60s", expect=None, limit_s=300)
        if opened.code != 0:
            if opened.code == kprof_testing.EXIT["usage"]:
                self.failures.append(f"session open: {opened.err}")
            return
        self.outcomes["sessions"] += 1
        session = opened.json["id"]
        for _ in range(choose.randrange(1, 4)):
            self.one_run(caller, uid, choose, ["--session", session])
        if choose.random() < 0.8:
            caller.run("session", "close", session, expect=None, limit_s=300)

    def one_run(self, caller, uid, choose, place=()):
        command = COMMAND.format(locks=self.locks, held=HELD_BY_TWO, seconds=round(choose.random() * 0.05, 3))
        detach = choose.random() < 0.7
        options = [*(place or ["--device", choose.choice(DEVICE_SETS)]), *(["--detach"] if detach else [])]
        if choose.random() < 0.1:
            options += ["--timeout", "20ms"]
        if choose.random() < 0.05:
            options += ["--queue-timeout", "100ms"]
        process = caller.start("--json", "capture", "command", *options, "--", "sh", "-c", command)
        if not detach and choose.random() < 0.2:
            time.sleep(choose.random() * 0.2)
            process.kill()
        out, err = process.communicate(timeout=300)
        self.outcomes[process.returncode] += 1
        if process.returncode < 0:
            return
        line = out.decode().strip()
        if not line:
            if process.returncode not in [kprof_testing.EXIT[code] for code in ("lost_daemon", "no_daemon", "spawn_failed", *(
                    ("lease_lost",) if place else ()))]:
                self.failures.append(f"exit {process.returncode}: {err}")
            return
        run = json.loads(line)
        with self.lock:
            self.accepted[uid].add(run["id"])
        if run.get("exit_code") == HELD_BY_TWO:
            self.failures.append(f"{run['id']} met somebody on its device")
        if detach and choose.random() < 0.1:
            caller.run("cancel", run["id"], expect=None, limit_s=120)

    def spy(self, caller, uid, choose):
        with self.lock:
            others = [run for other, runs in self.accepted.items() if other != uid for run in list(runs)[-5:]]
        if not others:
            return
        run = choose.choice(others)
        for words in (["show", run], ["logs", run], ["artifacts", run], ["artifacts", run, "get", "stdout.log", "-o", "-"],
                      ["cancel", run], ["delete", run]):
            seen = caller.run(*words, expect=None, limit_s=120)
            if seen.code == 0:
                self.failures.append(f"uid {uid} could {words}: {seen.text}")
        asked = caller.run("--json", "query", f"SELECT count(*) AS n FROM run WHERE id = '{run}' OR uid <> {uid}", expect=None,
                           limit_s=120)
        if asked.code == 0 and asked.json["rows"] != [[0]]:
            self.failures.append(f"uid {uid} counted {asked.text}")

    def use(self, seed):
        choose = random.Random(seed)
        uid = (ALICE, BOB, CAROL)[seed % 3]
        caller = Caller(self.node, uid)
        try:
            while self.take():
                if choose.random() < 0.05:
                    self.one_session(caller, uid, choose)
                else:
                    self.one_run(caller, uid, choose)
                if choose.random() < 0.05:
                    self.spy(caller, uid, choose)
        except Exception as failure:  # pylint: disable=broad-except
            self.failures.append(repr(failure))

    def test_nothing_is_lost_and_nobody_meets(self):
        began = time.monotonic()
        threads = [threading.Thread(target=self.use, args=(seed,)) for seed in range(CLIENTS)]
        for thread in threads:
            thread.start()
        choose = random.Random(0)
        kills = 0
        while kills < KILLS and not self.failures:
            time.sleep(0.5 + choose.random())
            self.node.kill()
            if choose.random() < 0.5:
                time.sleep(choose.random() * 0.3)
            self.node.start()
            time.sleep(0.3 + choose.random())
            self.node.kill_helper()
            self.node.start_helper()
            kills += 1
        self.killing = False
        for thread in threads:
            thread.join()
        self.assertEqual(self.failures[:5], [])
        root = Caller(self.node, 0)
        wait_until(lambda: root.json("status")["queue"]["queued"] + root.json("status")["queue"]["running"] == 0,
                   "all runs to end", limit_s=600, every_s=0.5)
        wait_until(lambda: os.listdir(os.path.join(self.folder, "grants")) == [], "the helper to let go of all of them", limit_s=120,
                   every_s=0.5)
        done = self.check(kills)
        print(f"{RUNS} runs of {CLIENTS} clients, {kills} kills each of kprofd and its helper, {done} done, {time.monotonic() - began:.0f} s; "
              f"exit codes of the captures: {dict(self.outcomes)}")

    def check(self, kills):
        self.assertEqual(kills, KILLS)
        with open(os.path.join(self.locks, "ran"), encoding="ascii") as file:
            ran = [line.split() for line in file]
        twice = [run for run, count in collections.Counter(run for run, _ in ran).items() if count > 1]
        self.assertEqual(twice, [], "run twice")
        self.node.stop()
        self.assertEqual(os.stat(self.node.state).st_mode & 0o077, 0, "others can look into the state folder")
        database = sqlite3.connect(self.node.catalog())
        try:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            stored = dict(database.execute("SELECT id, uid FROM runs"))
            done = {row[0] for row in database.execute("SELECT id FROM runs WHERE state = 4")}
            self.assertEqual(database.execute("SELECT id FROM runs WHERE state < 4").fetchall(), [])
            self.assertEqual(database.execute("SELECT id FROM runs WHERE exit_code = ?", (HELD_BY_TWO,)).fetchall(), [])
        finally:
            database.close()
        self.assertEqual(done - {run for run, _ in ran}, set(), "said to have run")
        self.assertGreater(len(done), RUNS // 4, "most of them came to nothing")
        for uid, runs in self.accepted.items():
            self.assertEqual([run for run in runs if stored.get(run) != uid], [], "lost")
        self.assertEqual([run for run, uid in ran if stored.get(run) != int(uid)], [], "ran as somebody else")
        self.assertEqual([pid for pid, (line, environment) in kprof_testing.living_processes().items()
                          if b"KPROF_RUN_ID=" in environment and self.folder.encode() in line + environment], [], "left")
        return len(done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
