"""What the system, crash and bench scripts share: a daemon on a folder of its own, kprofctl against it, and looking at
processes. Every wait has a limit; only processes that were started here are ever signalled.

Needs the programs in KPROF_BIN (default: build/release/bin).
"""

import contextlib
import dataclasses
import json
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import tarfile
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("KPROF_BIN", os.path.join(ROOT, "build", "release", "bin"))
KPROFD, KPROFCTL, LAUNCH = (os.path.join(BIN, name) for name in ("kprofd", "kprofctl", "kprof-launch"))
LONG = "KPROF_LONG" in os.environ
SANITIZER = os.environ.get("KPROF_SANITIZER", "")
# Programs under a sanitizer need its options, whatever else their environment is: suppressions, how to report.
SANITIZER_ENVIRONMENT = {name: os.environ[name]
                         for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
SLOW = 4 if SANITIZER else 1
LIMIT_S = 60 * SLOW  # for whatever should be a matter of moments

EXIT = {
    "done": 0, "internal": 1, "usage": 2, "no_daemon": 3, "not_found": 4, "not_permitted": 5, "queue_timeout": 6,
    "queue_full": 6, "lease_lost": 6, "command_failed": 7, "spawn_failed": 7, "timed_out": 7, "tool_failed": 7, "tool_missing": 7,
    "check_failed": 7, "no_kernels": 7,
    "cancelled": 8, "client_gone": 8, "bad_input": 10, "lost_daemon": 11, "storage_full": 12, "storage_broken": 12,
}


# Real traces of public repositories; where they are not, tests that need them are skipped.
DATA = os.environ.get("KPROF_TEST_DATA") or os.path.join(os.path.dirname(ROOT), "shared", "data")


def long(reason):
    """A test that takes minutes, or needs a quiet machine: tests/run --long runs it, and every other run names it."""
    return unittest.skipUnless(LONG, f"long: {reason}")


def of_all(some, all_of_them, what):
    """How many: all with --long, else some; then the end of the run names the others."""
    if LONG:
        return all_of_them
    print(f"[long] {some} of {all_of_them} {what}", flush=True)
    return some


def need_programs():
    for program in (KPROFD, KPROFCTL, LAUNCH):
        if not os.access(program, os.X_OK):
            raise unittest.SkipTest(f"no {os.path.basename(program)} in {BIN}")


def wait_until(condition, what, limit_s=LIMIT_S, every_s=0.01):
    """Asks until it gets something true, and returns it. `what` is for the failure."""
    deadline = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit_s} s for {what}")
        time.sleep(every_s)


# Processes.


def read_file(path):
    """Its bytes; none where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def living_processes():
    """{pid: (command line, environment)} of all living processes; a zombie has neither and does not count."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            line = read_file(f"/proc/{entry}/cmdline")
            if line:
                found[int(entry)] = (line, read_file(f"/proc/{entry}/environ"))
    return found


def processes_of_run(run_id):
    marker = b"KPROF_RUN_ID=" + os.fsencode(run_id)
    return [pid for pid, (_, environ) in living_processes().items() if marker in environ.split(b"\0")]


def supervisors_of(run_id):
    return [pid for pid, (line, environ) in living_processes().items()
            if line.startswith(b"kprof-launch") and os.fsencode(run_id) in environ]


def processes_with(text):
    """Those with the text in their command line, this one and its own children excepted (kprofctl carries it, too)."""
    wanted = os.fsencode(text)
    return [pid for pid, (line, _) in living_processes().items()
            if wanted in line and pid != os.getpid() and not line.startswith(os.fsencode(KPROFCTL))]


def status_number(pid, field):
    """A number of /proc/pid/status: VmRSS in KiB, Threads..."""
    for line in read_file(f"/proc/{pid}/status").decode(errors="replace").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def children_of(pid):
    return [int(child) for task in (os.listdir(f"/proc/{pid}/task") if os.path.isdir(f"/proc/{pid}") else [])
            for child in read_file(f"/proc/{pid}/task/{task}/children").split()]


def kill_if_there(pid):
    """kill -9; nothing where it has vanished meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_until_gone(*tokens, run=None):
    """No process of the run, and none with one of these in its command line, within a moment."""
    def left():
        return [pid for token in tokens for pid in processes_with(token)] + (processes_of_run(run) if run else [])
    wait_until(lambda: not left(), f"processes to be gone: {left()}")


def unique_seconds():
    """For `sleep`: long, and found in no other command line."""
    return f"{random.randrange(10**8, 10**9)}.{random.randrange(10**8, 10**9)}"


def distrust(run):
    """The trust of a run in JSON, without what depends on how busy the machine of the tests is."""
    return [reason for reason in run["trust"] if reason["code"] != "host_busy"]


def write_site_without(folder, package):
    """A folder for PYTHONPATH: no Python that has it finds this package."""
    site = os.path.join(folder, "site_without_" + package)
    os.makedirs(site)
    with open(os.path.join(site, "sitecustomize.py"), "w", encoding="ascii") as file:
        file.write(f"""
import importlib.metadata
found = importlib.metadata.version
def version(name):
    if name == {package!r}:
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)
importlib.metadata.version = version
""")
    return site


def as_in_a_terminal():
    """What the tests themselves were started under may ignore signals; a child would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


# kprofctl.


@dataclasses.dataclass
class Ran:
    """How a kprofctl came out. `out` and `err` are bytes."""

    args: tuple
    code: int
    out: bytes
    err: bytes

    @property
    def text(self):
        return self.out.decode("utf-8")

    @property
    def json(self):
        """The one object on standard output. Strict: no NaN, no second object."""
        lines = self.out.decode("utf-8").splitlines()
        if len(lines) != 1:
            raise AssertionError(f"{len(lines)} lines instead of one JSON object from {self}")
        return json.loads(lines[0], parse_constant=lambda name: self._refuse(name))

    @property
    def error(self):
        """The error object on standard error, after the line for people. What a command printed may stand before both."""
        lines = self.err.decode("utf-8", errors="replace").splitlines()
        at = [i for i, line in enumerate(lines) if line.startswith('{"schema":"kprof.error.v1"')]
        if len(at) != 1 or at[0] == 0 or not lines[at[0] - 1].startswith("kprofctl: "):
            raise AssertionError(f"no error line with one error object from {self}")
        return json.loads(lines[at[0]])

    def _refuse(self, name):
        raise AssertionError(f"{name} in JSON: {self}")


class Client:
    """kprofctl for one socket. Arguments may be str or bytes."""

    def __init__(self, socket_path, environment=None):
        self.socket = socket_path
        self.environment = dict(os.environ if environment is None else environment)
        for name in ("KPROF_SOCKET", "CUDA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES"):
            self.environment.pop(name, None)

    def command(self, *args):
        return [KPROFCTL, "--socket", self.socket, *args]

    def start(self, *args, **options):
        """A kprofctl in the background, as a Popen with pipes; the caller ends it (see `ended`)."""
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                    "env": self.environment, **options}
        return subprocess.Popen(self.command(*args), **settings)

    def run(self, *args, limit_s=LIMIT_S, expect=0, **options):
        """Runs it to its end. `expect`: the exit code, an error code's name, or None for any."""
        process = self.start(*args, **options)
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"kprofctl {args} did not end in {limit_s} s; it said {out} and {err}") from None
        ran = Ran(args, process.returncode, out or b"", err or b"")
        wanted = EXIT[expect] if isinstance(expect, str) else expect
        if wanted is not None and ran.code != wanted:
            raise AssertionError(f"exit {ran.code} instead of {wanted} from {ran}")
        return ran

    def json(self, *args, **options):
        return self.run("--json", *args, **options).json

    def capture(self, *command, options=(), **rest):
        """A foreground capture; the run as it ended."""
        return self.json("capture", "command", *options, "--", *command, **rest)

    def detach(self, *command, options=(), **rest):
        """A detached capture; its id."""
        return self.json("capture", "command", "--detach", *options, "--", *command, **rest)["id"]

    def show(self, run):
        return self.json("show", run)

    def wait(self, run, expect=None, **options):
        return self.json("wait", run, expect=expect, **options)

    def wait_for_state(self, run, *states, limit_s=LIMIT_S):
        found = {}

        def look():
            found.update(self.show(run))
            if found["state"] in states:
                return found
            if found["ended_ns"] is not None:
                raise AssertionError(f"run {run} has ended instead of being {' or '.join(states)}: {found}")
            return None
        try:
            return wait_until(look, f"run {run} to be {' or '.join(states)}", limit_s, every_s=0.02)
        except AssertionError as late:
            raise AssertionError(f"{late}; it is {found.get('state')}, {self.run('devices').text}") from late


def read_line(stream):
    """A line of a pipe that nothing was read from but by this."""
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([stream], [], [], LIMIT_S)[0]:
            raise AssertionError(f"waited {LIMIT_S} s for a line; so far {line}")
        byte = os.read(stream.fileno(), 1)
        if not byte:
            break
        line += byte
    return line


# kprofd.


def run_kprofd(*options):
    """Runs it to its end: what refuses, checks or repairs, and serves nobody. A CompletedProcess with text."""
    return subprocess.run([KPROFD, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)


class Daemon:
    """A kprofd on a state folder and a socket under `folder`, which stays when it stops."""

    def __init__(self, folder, config="", environment=None, identity=None):
        self.folder = folder
        self.identity = identity or {}  # user, group... of Popen
        self.state = os.path.join(folder, "state")
        self.socket = os.path.join(folder, "s.sock")
        self.log_path = os.path.join(folder, "kprofd.log")
        self.config_path = ""
        self.environment = dict(os.environ, **(environment or {}))
        self.process = None
        if config:
            self.configure(config)
        self.ctl = Client(self.socket)

    def configure(self, config):
        """For the next start."""
        self.config_path = os.path.join(self.folder, "kprofd.toml")
        with open(self.config_path, "w", encoding="utf-8") as file:
            file.write(config)

    def options(self):
        config = ["--config", self.config_path] if self.config_path else []
        return ["--user", *config, "--state-dir", self.state, "--socket", self.socket]

    def command(self):
        return [KPROFD, *self.options()]

    def restore(self, backup):
        """Puts the backup in the place of its catalog; how that came out."""
        return run_kprofd(*self.options(), "--restore", backup)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return read_file(self.log_path).decode(errors="replace")

    def begin(self, environment=None):
        """Starts it and does not wait."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=dict(self.environment, **(environment or {})), **self.identity)

    def answers(self):
        """Whether this very process listens: what one that was killed had just forked keeps its socket for a moment."""
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(self.socket) != 0:
                return False
            listener, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
            return listener == self.pid

    def start(self, limit_s=LIMIT_S, environment=None):
        """Starts it; returns once it listens, with the seconds that took."""
        began = time.monotonic()
        self.begin(environment)

        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"kprofd ended with {self.process.returncode}:\n{self.log()}")
            return self.answers()
        wait_until(ready, "kprofd to listen", limit_s, every_s=0.002)
        return time.monotonic() - began

    def stop(self, limit_s=LIMIT_S):
        """In good order. Returns its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"kprofd did not stop in {limit_s} s:\n{self.log()}") from None

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=LIMIT_S)

    def catalog(self, name="catalog.db"):
        return os.path.join(self.state, name)

    def run_folder(self, run_id):
        return os.path.join(self.state, "runs", run_id)

    def files(self):
        """All files under the state folder, relative, sorted."""
        found = []
        for folder, _, names in os.walk(self.state):
            found += [os.path.relpath(os.path.join(folder, name), self.state) for name in names]
        return sorted(found)


@contextlib.contextmanager
def temporary_folder(prefix="k-", within=None):
    folder = os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=within))
    try:
        yield folder
    finally:
        for path, names, _ in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(path, name), 0o700)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running_daemon(config="", environment=None):
    """A daemon that is stopped, in good order, at the end."""
    with temporary_folder() as folder:
        daemon = Daemon(folder, config, environment)
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()


def unpack(archive_path, folder):
    """The files of a .tar.gz, all into one folder."""
    with tarfile.open(archive_path) as archive:
        for member in (member for member in archive if member.isfile()):
            with open(os.path.join(folder, os.path.basename(member.name)), "wb") as file:
                file.write(archive.extractfile(member).read())


class OwnDaemonTest(unittest.TestCase):
    """A daemon for each test, which starts it, and which may leave it running or not."""

    def setUp(self):
        need_programs()
        self.folder = self.enterContext(temporary_folder())
        self.daemon = Daemon(self.folder)
        self.addCleanup(self.daemon.stop)


class DaemonTest(unittest.TestCase):
    """One daemon for all tests of a class. When a class is over, its daemon stops in good order and leaves nothing."""

    CONFIG = ""

    @classmethod
    def setUpClass(cls):
        need_programs()
        cls.daemon = cls.enterClassContext(running_daemon(cls.CONFIG))
        cls.ctl = cls.daemon.ctl

    def setUp(self):
        self.folder = self.enterContext(temporary_folder("t-"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return self.path(name)

    def read(self, name):
        return read_file(self.path(name))

    def gate(self, name="gate"):
        """A shell line that waits until `open_gate(name)`."""
        return f"until [ -e '{self.path(name)}' ]; do sleep 0.02; done"

    def open_gate(self, name="gate"):
        self.write(name, "")

    def assert_nothing_runs(self, *tokens, run=None):
        wait_until_gone(*tokens, run=run)

    def log_of(self, run, *options):
        return self.ctl.run("logs", run, *options).out
