"""State folders that earlier versions left (tests/data/README.md), under the daemon of today."""

import copy
import hashlib
import os
import shutil
import unittest

import kprof_testing
from kprof_testing import EXIT, Daemon, temporary_folder, wait_until

SECOND = 10**9
BEGIN_S = 1_750_000_000
VOLATILE = "set by this daemon"  # times and the numbers of a run that it ran itself


def lines(begin, end):
    """What the commands of the example print."""
    return b"".join(b"line %05d\n" % number for number in range(end // 11 + 1))[begin:end]


def dropped(count):
    return b"\n[kprof: %d bytes dropped here]\n" % count


def artifact(name, content):
    return {"name": name, "size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "path": None}


def run(run_id, queued_s, **rest):
    """A run as kprofctl shows it; what is not said is as most have it."""
    expected = {
        "schema": "kprof.run.v1", "id": run_id, "state": "failed", "tool": "command", "labels": {}, "device": ["cpu"],
        "command": ["/bin/sh", "-c", "true"], "uid": 1000, "queued_ns": str((BEGIN_S + queued_s) * SECOND),
        "started_ns": str((BEGIN_S + queued_s) * SECOND + SECOND // 2),
        "ended_ns": str((BEGIN_S + queued_s + 2) * SECOND),
        "exit_code": None, "signal": None, "error": None, "trust": [], "trace": None, "metrics": {}, "artifacts": [],
        "cwd": "/", "environment": {"OMP_NUM_THREADS": "4"}, "pinned": False, "shared": False, "attached": False,
        "timeout_ms": None, "queue_timeout_ms": None, "session": None, "round": None, "priority": 0, "clocks": "none",
        "cool_down_ms": None, "exclusive": False, "verdict": None, "comparison": None, "stdout_bytes": 0, "stdout_dropped_bytes": 0, "stderr_bytes": 0,
        "stderr_dropped_bytes": 0,
    }
    assert rest.keys() <= expected.keys(), rest
    expected |= rest
    return expected | {"artifact_count": len(expected["artifacts"])}


def output_dropped(text):
    return [{"code": "output_dropped", "message": f"{text} are not kept, between head and tail; this concerns the logs alone, "
                                                  "nothing that was measured"}]


def error(run_id, code, why, remedy=None):
    return {"code": code, "message": f"run {run_id}: {why}", "remedy": remedy}


def lost(run_id):
    return error(run_id, "lost_daemon", "kprofd died under it", "run it again")


LOGS = {
    ("1jxt21q00d0ne000", "stdout.log"): lines(0, 100) + dropped(1804) + lines(1904, 6000),
    ("1jxt237tgrvnn000", "stdout.log"): lines(0, 100) + dropped(2304) + lines(2404, 6000),
    ("1jxt237tgrvnn000", "stderr.log"): lines(0, 44),
    ("1jxt23hk0c011000", "stdout.log"): lines(0, 100) + dropped(804) + lines(904, 5000),
    ("1jxt23vbgqveve00", "stdout.log"): b"hello\n0077\n/\n",
}


def log(run_id, name="stdout.log"):
    return artifact(name, LOGS[run_id, name])


# Newest first, once the queued ones have run. In version 9 the report has a path.
RUNS = [
    run("1jxt24tp0r0vnd02", 97, state="done", started_ns=VOLATILE, ended_ns=VOLATILE, exit_code=0, metrics=VOLATILE,
        session="1jxt24500s0pen00", round=2, priority=5,
        trust=[{"code": "clocks_not_locked", "message": "device cpu: kprofd locks no clocks of processors; see kprofctl doctor "
                                                        "for their governor and turbo"}]),
    run("1jxt24rzgr0vnd01", 95, state="done", exit_code=0, session="1jxt24500s0pen00", round=1),
    run("1jxt23vbgqveve00", 70, state="done", command=["/bin/sh", "-c", 'echo "$GREETING"; umask; pwd'],
        labels={"kept": "yes"}, started_ns=VOLATILE, ended_ns=VOLATILE, exit_code=0, metrics=VOLATILE,
        artifacts=[log("1jxt23vbgqveve00")], stdout_bytes=13),
    run("1jxt23hk0c011000", 60, exit_code=0, error=lost("1jxt23hk0c011000"), ended_ns=VOLATILE,
        artifacts=[log("1jxt23hk0c011000")], stdout_bytes=5000, stdout_dropped_bytes=804,
        trust=output_dropped("804 of 5000 bytes of stdout")),
    run("1jxt237tgrvnn000", 50, error=lost("1jxt237tgrvnn000"), ended_ns=VOLATILE,
        artifacts=[log("1jxt237tgrvnn000", "stderr.log"), log("1jxt237tgrvnn000")],
        stdout_bytes=6000, stdout_dropped_bytes=2304, stderr_bytes=44,
        trust=output_dropped("2304 of 6000 bytes of stdout")),
    run("1jxt22y20prep000", 40, error=lost("1jxt22y20prep000"), started_ns=None, ended_ns=VOLATILE),
    run("1jxt22xm01mp0rt0", 35, state="done", tool="import", command=["import", "worker3.json.gz"], device=[], environment={},
        trace={"slices": 50, "instants": 4, "counters": 3, "flows": 2, "tracks": 1, "bytes": 900, "source_bytes": 2000}),
    run("1jxt22m9gcance00", 30, state="cancelled", error=error("1jxt22m9gcance00", "cancelled", "it was cancelled"),
        started_ns=None),
    run("1jxt22ah0t1me000", 20, signal=9, timeout_ms=1000,
        error=error("1jxt22ah0t1me000", "timed_out", "it ran longer than 1 s", "give it more")),
    run("1jxt220rgfa11000", 10, exit_code=3, artifacts=[artifact("stderr.log", lines(0, 33))], stderr_bytes=33,
        error=error("1jxt220rgfa11000", "command_failed", "the command ended with exit code 3")),
    run("1jxt21q00d0ne000", 0, state="done", exit_code=0, command=["/bin/sh", "-c", "make report.txt"],
        labels={"branch": "main", "size": "4096"}, device=["0", "1"], pinned=True, shared=True, timeout_ms=60000,
        queue_timeout_ms=5000, clocks="lock=1500", cool_down_ms=90000, exclusive=True, metrics={"wall_ms": 1500},
        trust=[{"code": "clocks_unlocked", "message": "clocks were not locked"},
               {"code": "shared_gpu", "message": "others used GPU 0"}],
        artifacts=[artifact("report.txt", b"all is well\n"), artifact("stderr.log", lines(0, 22)),
                   log("1jxt21q00d0ne000")],
        stdout_bytes=6000, stdout_dropped_bytes=1804, stderr_bytes=22),
]


def contents(folder):
    """{path: what it is, when it was changed and what is in it}, of all that is in a folder."""
    found = {}
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(where, name)
            info = os.stat(path)
            found[path] = (info.st_mode, info.st_size, info.st_mtime_ns, hashlib.sha256(kprof_testing.read_file(path)).hexdigest())
    return found


class OldStateTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        kprof_testing.need_programs()

    def daemon_on_copy_of(self, state):
        daemon = Daemon(self.enterContext(temporary_folder()))
        shutil.copytree(os.path.join(kprof_testing.ROOT, "tests", "data", state), daemon.state)
        daemon.start()
        self.addCleanup(daemon.stop)
        return daemon

    def test_version_8(self):
        self.check("state-v8", report_path=None)

    def test_version_9(self):
        self.check("state-v9", report_path="out/report.txt")

    def test_version_10(self):
        self.check("state-v10", report_path="out/report.txt", verdict=True)

    def check(self, state, report_path, verdict=False):
        daemon = self.daemon_on_copy_of(state)
        self.check_sessions(daemon)
        self.check_runs(daemon, report_path, verdict)
        # It goes on from there.
        self.assertGreater(daemon.ctl.json("session", "open")["id"], "1jxt24tp0r0vnd02")

    def check_sessions(self, daemon):
        # What waits within the open session, which goes on, runs; what waits beside it runs when it is closed.
        daemon.ctl.wait("1jxt24tp0r0vnd02", expect="done")
        session = daemon.ctl.json("session", "show", "1jxt24500s0pen00")
        self.assertEqual((session["state"], session["clocks"], session["labels"], session["round_count"]),
                         ("open", "lock=1500", {"loop": "7"}, 2))
        self.assertEqual([(r["round"], r["run"], r["state"]) for r in session["rounds"]],
                         [(1, "1jxt24rzgr0vnd01", "done"), (2, "1jxt24tp0r0vnd02", "done")])
        daemon.ctl.run("session", "close", "1jxt24500s0pen00")
        daemon.ctl.wait("1jxt23vbgqveve00", expect="done")
        self.assertEqual([s["state"] for s in daemon.ctl.json("session", "list")["sessions"]],
                         ["lost", "lost", "closed", "closed", "closed"])

    def check_runs(self, daemon, report_path, verdict):
        listed = daemon.ctl.json("runs", "--limit", "100")["runs"]
        expected_runs = copy.deepcopy(RUNS)
        expected_runs[-1]["artifacts"][0]["path"] = report_path
        if verdict:
            expected_runs[-1] |= {"verdict": "FASTER", "comparison": {"ratio": 0.5, "ci_low": 0.25, "ci_high": 0.75, "reasons": ["drift", "bimodal"]}}
        for shown, expected in zip(listed, expected_runs):
            shown["trust"] = [reason for reason in shown["trust"] if reason["code"] != "host_busy"]
            for field in [name for name, value in expected.items() if value == VOLATILE]:
                self.assertTrue(shown[field], field)
                shown[field] = VOLATILE
            self.assertEqual(shown, expected)
        self.assertEqual(len(listed), len(RUNS))

        for (run_id, name), content in LOGS.items():
            options = ["--stderr"] if name == "stderr.log" else []
            self.assertEqual(daemon.ctl.run("logs", run_id, *options).out, content, (run_id, name))
        metrics = daemon.ctl.json("query", "SELECT kernel, launch, name, value, unit FROM metric WHERE run = "
                                           "'1jxt21q00d0ne000' ORDER BY position")["rows"]
        self.assertEqual(metrics, [[None, None, "wall_ms", 1500, "ms"], ["gemm", 0, "gpu_ms", 0.125, "ms"],
                                   ["gemm", 1, "gpu_ms", 0.25, "ms"]])
        # What is left is what the catalog knows.
        known = ["state.lock", "catalog.db", "reserve"]
        known += [os.path.join("runs", shown["id"], found["name"]) for shown in listed for found in shown["artifacts"]]
        wait_until(lambda: [name for name in daemon.files() if not name.startswith("catalog.db-")] == sorted(known),
                   "the folder to hold what the catalog knows and no more")
        wait_until(lambda: daemon.ctl.json("status")["storage"]["health"] == "ok", "the check after an unclean stop")

    def test_a_folder_from_before_the_first_release_is_refused_and_not_touched(self):
        daemon = Daemon(self.enterContext(temporary_folder()))
        shutil.copytree(os.path.join(kprof_testing.ROOT, "tests", "data", "state-v7"), daemon.state)
        backup = os.path.join(daemon.folder, "backup.db")
        shutil.copy(daemon.catalog(), backup)
        before = contents(daemon.state)
        started = kprof_testing.run_kprofd(*daemon.options())
        restored = daemon.restore(backup)
        self.assertEqual(contents(daemon.state), before)
        self.assertEqual(started.returncode, EXIT["storage_broken"], started.stderr)
        for said in (daemon.state, "it is version 7, from before the first release; this kprofd reads version 8 and later",
                     "move the state folder away, or choose another with --state-dir"):
            self.assertIn(said, started.stderr)
        self.assertEqual(restored.returncode, EXIT["bad_input"], restored.stderr)
        self.assertIn("it is version 7", restored.stderr)
        self.assertIn("restore it with the version that wrote it", restored.stderr)


if __name__ == "__main__":
    unittest.main()
