"""The life of a run, and of what is beside it, as the crash tests play it again and again: two runs that end, one of which
gets an artifact and one is deleted, a session with a round, a run that is in flight for a while, leaves a file and
is checked, one that is prepared and queued behind it. And what must hold afterwards, whatever went wrong at whatever moment.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

import faults as fault_books  # noqa: E402
import kprof_testing  # noqa: E402
from kprof_testing import Daemon, Ran, temporary_folder, wait_until  # noqa: E402

THREADS = 2
ARTIFACT = bytes(range(256)) * 300
ENDED = ("done", "failed", "cancelled")
# What each run prints: what is kept of it is this, or a beginning of it where it was cut off.
OUTPUT = {
    "ended": {"stdout.log": b"zero\n"},
    "deleted": {"stdout.log": b"gone\n"},
    "round": {"stdout.log": b"round\n"},
    "in flight": {"stdout.log": b"one\nthree\nfour\n", "stderr.log": b"two\n", "left.txt": b"left\n"},
    "queued": {"stdout.log": b"prepared\nqueued\n"},
    "again": {"stdout.log": b"again\n"},
}


def need_faults():
    kprof_testing.need_programs()
    if kprof_testing.SANITIZER:
        raise unittest.SkipTest("a sanitizer wants to be the first library itself")
    for path in (fault_books.PRELOAD, fault_books.LAUNCH):
        if not os.path.exists(path):
            raise unittest.SkipTest(f"no {os.path.basename(path)}; build the tests")


def choose_cases(faults, operations):
    """[(fault, operation number)]: all of all with tests/run --long, else every third operation with the faults in turn, from
    a random beginning."""
    numbers = range(1, operations + 1)
    if kprof_testing.LONG:
        return [(fault, at) for fault in faults for at in numbers]
    print(f"[long] {operations // 3} of {operations * len(faults)} faults at operations", flush=True)
    names, turn = list(faults), random.randrange(1000)
    return [(names[(at // 3 + turn) % len(names)], at) for at in numbers if (at + turn) % 3 == 0]


@dataclasses.dataclass
class CaseEnd:
    """What came of one case."""

    outcome: str
    hit: str = ""  # the operation that the fault came to
    failure: str = ""  # the traceback and the daemon's log
    start_s: float | None = None  # of the restart


def run_cases(run_case, cases):
    """[(case, CaseEnd)] of run_case(fault, operation number), two at a time."""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return list(zip(cases, pool.map(lambda case: run_case(*case), cases)))


def print_outcomes(faults, ends):
    """The table: of each fault, what came of its cases, and what it hit."""
    for fault in faults:
        own = [end for (name, _), end in ends if name == fault]
        print(f"{fault}: {len(own)} cases")
        for outcome, count in collections.Counter(end.outcome for end in own).most_common():
            print(f"  {count:5}  {outcome}")
        hits = collections.Counter(end.hit.split(" /")[0] for end in own if end.hit)
        print("    hit: " + ", ".join(f"{count} {hit}" for hit, count in hits.most_common()))


def explain_failures(ends):
    """How many of each reason, then the first few in full; empty where none failed."""
    failures = [(case, end) for case, end in ends if end.failure]
    if not failures:
        return ""
    reasons = collections.Counter(end.failure.split("\n\n")[0].strip().splitlines()[-1] for _, end in failures)
    lines = [f"{len(failures)} cases failed"] + [f"  {count:4}  {reason[:200]}" for reason, count in reasons.most_common()]
    for case, end in failures[:5]:
        lines.append(f"--- {case[0]} at operation {case[1]} ({end.hit})\n{end.failure}")
    return "\n".join(lines)


class Down(Exception):
    """The daemon is gone."""


@dataclasses.dataclass
class Promises:
    """What kprofctl has said with exit 0, or as the end of a run."""

    ids: dict = dataclasses.field(default_factory=dict)  # name of OUTPUT -> id
    ends: dict = dataclasses.field(default_factory=dict)  # name -> the run as it ended
    artifact: bool = False
    session: str = ""
    session_closed: bool = False
    deleted: bool = False
    delete_asked: bool = False


class Life:
    """One daemon under faults, in `folder`; and the same without, after `restart`."""

    def __init__(self, folder):
        self.folder = folder
        config = f'launcher = "{fault_books.LAUNCH}"\n'
        self.daemon = Daemon(folder, config)
        os.mkdir(self.daemon.state, 0o700)
        self.faults = fault_books.Faults(folder, self.daemon.state)
        self.promises = Promises()
        self.may_fail = False  # runs, for a reason of their own: the disk
        self.errors = []  # (verb, error code) of what kprofctl was refused
        self.artifact_path = os.path.join(folder, "artifact.bin")
        self.gate = os.path.join(folder, "gate")
        with open(self.artifact_path, "wb") as file:
            file.write(ARTIFACT)

    # Playing it.

    def start(self):
        """Down when it does not come up."""
        self.daemon.begin(self.faults.environment)
        deadline = time.monotonic() + kprof_testing.LIMIT_S
        while not self.daemon.answers():
            if self.daemon.process.poll() is not None:
                raise Down
            if time.monotonic() > deadline:
                raise AssertionError("kprofd neither came up nor ended")
            time.sleep(0.002)

    def ask(self, *args):
        """A kprofctl that is given up when the daemon is gone. The answer, or None where it was refused."""
        process = self.daemon.ctl.start("--json", *args)
        deadline = time.monotonic() + kprof_testing.LIMIT_S
        while True:
            try:
                out, err = process.communicate(timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                if self.daemon.process.poll() is not None:
                    # An answer that was on its way still counts.
                    time.sleep(0.05)
                    process.kill()
                    out, err = process.communicate()
                    break
                if time.monotonic() > deadline:
                    process.kill()
                    process.communicate()
                    raise AssertionError(f"kprofctl {args} hangs") from None
        ran = Ran(args, process.returncode, out, err)
        if ran.code == 0 or (args[0] == "wait" and out):
            return ran.json
        if self.daemon.process.poll() is not None:
            raise Down
        if ran.code < 0:
            raise AssertionError(f"kprofctl died: {ran}")
        self.errors.append((args[0], ran.error["code"]))
        return None

    def submit(self, name, script, *options):
        run = self.ask("capture", "command", "--detach", "--label", f"name={name}", *options, "--", "sh", "-c", script)
        if run:
            self.promises.ids[name] = run["id"]

    def wait(self, name):
        if name in self.promises.ids:
            end = self.ask("wait", self.promises.ids[name])
            if end:
                self.promises.ends[name] = end

    def play(self):
        """From the start of the daemon to its stop. Down where the fault ends it before."""
        self.start()
        self.submit("ended", "echo zero")
        self.submit("deleted", "echo gone")
        self.wait("ended")
        self.wait("deleted")
        self.play_session()
        self.submit("in flight", f"echo one; echo two >&2; echo left > $KPROF_OUTPUT_DIR/left.txt; "
                                 f"until [ -e {self.gate} ]; do sleep 0.01; done; echo three", "--check", "echo four")
        self.submit("queued", "echo queued", "--prepare", "echo prepared")
        if "ended" in self.promises.ids:
            self.promises.artifact = bool(self.ask("artifacts", self.promises.ids["ended"], "put", self.artifact_path))
        if "deleted" in self.promises.ids:
            self.promises.delete_asked = True
            self.promises.deleted = bool(self.ask("delete", self.promises.ids["deleted"]))
        with open(self.gate, "wb"):
            pass
        self.wait("in flight")
        self.wait("queued")

    def play_session(self):
        opened = self.ask("session", "open")
        if opened:
            self.promises.session = opened["id"]
            self.submit("round", "echo round", "--session", opened["id"])
            self.wait("round")
            self.promises.session_closed = bool(self.ask("session", "close", opened["id"]))

    def stop(self):
        """In good order, still under faults. Down when it was killed instead."""
        if self.daemon.stop() < 0:
            raise Down

    def bury(self):
        """After a kill or a cut: the daemon is reaped, and with the power all its processes went."""
        self.daemon.process.wait(timeout=kprof_testing.LIMIT_S)
        if self.faults.power_is_off:
            def left():
                pids = [pid for pid in self.faults.pids() if os.path.exists(f"/proc/{pid}/exe")]
                return pids + kprof_testing.processes_with(self.folder)
            while pids := left():
                for pid in pids:
                    kprof_testing.kill_if_there(pid)
                time.sleep(0.005)
        # A run that is queued shall get through now.
        with open(self.gate, "wb"):
            pass

    # What must hold afterwards.

    def restart(self):
        """Without faults. The seconds until it listens."""
        return self.daemon.start()

    def check(self):
        """All promises kept, nothing left behind; then one more run, and a clean stop. Returns {name: state}."""
        promises, ctl = self.promises, self.daemon.ctl
        self.check_sessions()
        listed = {run["id"]: run for run in ctl.json("runs", "--limit", "100")["runs"]}
        for name, run_id in promises.ids.items():
            if name != "deleted" or not promises.delete_asked:
                assert run_id in listed, f"the run '{name}' was acknowledged and is gone"
        if promises.deleted:
            assert promises.ids["deleted"] not in listed, "a deleted run is back"
        states = {}
        for run in listed.values():
            name = run["labels"]["name"]
            run = listed[run["id"]] = ctl.wait(run["id"]) if run["state"] not in ENDED else run
            states[name] = run["state"] + (":" + run["error"]["code"] if run["error"] else "")
            assert not kprof_testing.processes_of_run(run["id"]), f"processes of '{name}' are alive"
            self.check_run(name, run)
        self.check_nothing_is_left(listed)
        again = ctl.capture("sh", "-c", "echo again", options=("--label", "name=again"))
        assert again["state"] == "done", again
        listed[again["id"]] = again
        held = [device for device in ctl.json("devices")["devices"] if device["session"] or device["run"]]
        assert not held, held
        wait_until(lambda: ctl.json("status")["storage"]["health"] == "ok", "quick_check to find it healthy")
        assert self.daemon.stop() == 0, self.daemon.log()
        self.check_catalog(len(listed))
        return states

    def check_sessions(self):
        """What was closed is; what goes on can be closed, so that the queue behind it moves."""
        def sessions():
            return {session["id"]: session["state"] for session in self.daemon.ctl.json("session", "list")["sessions"]}
        found = sessions()
        if self.promises.session:
            assert self.promises.session in found, "a session that was acknowledged is gone"
        if self.promises.session_closed:
            assert found[self.promises.session] == "closed", found
        for session, state in found.items():
            if state in ("queued", "open"):
                self.daemon.ctl.run("session", "close", session)
        wait_until(lambda: set(sessions().values()) <= {"closed", "lost"}, f"sessions to end: {sessions()}")

    def check_run(self, name, run):
        promised = self.promises.ends.get(name)
        if not promised and not self.may_fail:
            lost = run["state"] == "failed" and run["error"]["code"] == "lost_daemon"
            # Whose session outlived the daemon with nobody to close it but us.
            closed = name == "round" and run["state"] == "cancelled" and not self.promises.session_closed
            assert lost or closed or run["state"] == "done", f"'{name}' is {run['state']}: {run['error']}"
        if promised:
            for fact in ("state", "exit_code", "signal", "error", "ended_ns"):
                assert run[fact] == promised[fact], f"'{name}' had ended with {fact} {promised[fact]}, now {run[fact]}"
        names = {artifact["name"] for artifact in run["artifacts"]}
        if promised:
            assert {artifact["name"] for artifact in promised["artifacts"]} <= names, f"'{name}' lost artifacts: {names}"
        if name == "ended" and self.promises.artifact:
            assert "artifact.bin" in names, "an artifact that was acknowledged is gone"
        for artifact in run["artifacts"]:
            path = os.path.join(self.daemon.run_folder(run["id"]), artifact["name"])
            with open(path, "rb") as file:
                content = file.read()
            assert len(content) == artifact["size_bytes"], f"'{name}': {artifact} has {len(content)} bytes"
            assert hashlib.sha256(content).hexdigest() == artifact["sha256"], f"'{name}': {artifact} is damaged"
            whole = ARTIFACT if artifact["name"] == "artifact.bin" else OUTPUT[name][artifact["name"]]
            # Of a log that lost its end with the power, a line says so.
            beginning = re.sub(rb"\n\[kprof: \d+ bytes dropped here\]\n$", b"", content)
            assert whole == content or (run["state"] != "done" and whole.startswith(beginning)), f"'{name}': {content[:100]}"
        if run["state"] == "done":
            # Where its folder for files could not be made it says so.
            is_said = any(reason["code"] == "output_left_out" for reason in run["trust"])
            assert set(OUTPUT[name]) <= names or is_said, f"'{name}' is done without its output: {names}"

    def check_nothing_is_left(self, listed):
        expected = {f"runs/{run['id']}/{artifact['name']}" for run in listed.values() for artifact in run["artifacts"]}

        def strays():
            found = {name for name in self.daemon.files() if name.split("/")[0] in ("runs", "spool", "tmp")}
            folders = {f"runs/{name}" for name in os.listdir(os.path.join(self.daemon.state, "runs"))}
            return (found ^ expected) | (folders - {name.rpartition("/")[0] for name in expected})
        wait_until(lambda: not strays(), f"what belongs to no run to go: {sorted(strays())}")

    def check_catalog(self, runs):
        database = sqlite3.connect(self.daemon.catalog())
        try:
            found = database.execute("PRAGMA integrity_check").fetchall()
            assert found == [("ok",)], found
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            facts = dict(database.execute("SELECT name, value FROM facts WHERE name NOT IN ('audit_kept_since_ns', 'known_ns')"))
            counted = database.execute("SELECT count(*) FROM runs").fetchone()[0]
            summed = database.execute("SELECT total(size_bytes) FROM artifacts").fetchone()[0]
            assert facts == {"clean_stop": 1, "runs": counted, "artifact_bytes": int(summed)}, facts
            assert counted == runs, (counted, runs)
            self.check_leases(database)
        finally:
            database.close()

    @staticmethod
    def check_leases(database):
        """The audit has one end of each lease, and none twice; whoever executed a command had one."""
        leases = {}
        for run, session, action in database.execute("SELECT run_id, session_id, action FROM audit WHERE action GLOB 'lease_*' ORDER BY id"):
            leases.setdefault(run or session, []).append(action)
        for owner, actions in leases.items():
            assert actions == ["lease_granted", "lease_ended"], (owner, actions)
        for run, session in database.execute("SELECT id, session_id FROM runs WHERE started_ns IS NOT NULL"):
            assert (session or run) in leases, f"{run} of session {session} ran without a lease"

    def close(self):
        """Whatever happened, nothing of it goes on."""
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.process.kill()
            self.daemon.process.wait()
        for pid in self.faults.pids():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if b"kprof" in file.read():
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for pid in kprof_testing.processes_with(self.folder):
            kprof_testing.kill_if_there(pid)
        self.faults.close()


@contextlib.contextmanager
def new_life(prefix):
    """A Life in a folder of its own; nothing of it goes on afterwards."""
    with temporary_folder(prefix) as folder:
        life = Life(folder)
        try:
            yield life
        finally:
            life.close()
