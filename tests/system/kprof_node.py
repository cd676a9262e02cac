"""A node in system mode: kprofd as an unprivileged user of its own, the root helper beside it where one is wanted, and
callers of made-up uids. Needs root.
"""

import fcntl
import os
import re
import shutil
import socket
import subprocess

import kprof_testing
import nvml_stand_in
from kprof_testing import Client, Daemon, wait_until

KPROFD_UID, ALICE, BOB, CAROL = 61001, 61002, 61003, 61004
PROGRAMS = ("kprofd", "kprofd-helper", "kprofctl", "kprof-launch", "kprof-ingest", "kprof-device", "kprof-clocks", "kprof-pause",
            "hostile_command", "fork_escape")


class SystemDaemon(Daemon):
    """A kprofd for all users, with its own folder and programs that everybody can reach. It makes its socket itself."""

    def __init__(self, folder, config=""):
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "state"), 0o700)
        os.chown(os.path.join(folder, "state"), KPROFD_UID, KPROFD_UID)
        self.make_run_folder(os.path.join(folder, "run"))
        super().__init__(folder, config=config or "# of the system\n",
                         identity={"user": KPROFD_UID, "group": KPROFD_UID, "extra_groups": []})
        os.chmod(self.config_path, 0o644)
        self.socket = os.path.join(folder, "run", "kprofd.sock")
        self.bin = os.path.join(folder, "bin")
        os.mkdir(self.bin)
        for name in PROGRAMS:
            shutil.copy(os.path.join(kprof_testing.BIN, name), self.bin)
        os.chmod(self.bin, 0o755)

    @staticmethod
    def make_run_folder(path):
        os.mkdir(path, 0o755)
        os.chown(path, KPROFD_UID, KPROFD_UID)

    def command(self):
        return [os.path.join(self.bin, "kprofd"), "--config", self.config_path, "--state-dir", self.state,
                "--socket", self.socket]


class Node(SystemDaemon):
    """The whole of it, as systemd sets it up: the sockets are made by root, in a folder of root's, and passed on to kprofd,
    so they are there while it is not; the helper runs as root and is asked by kprofd alone."""

    def __init__(self, folder, config=""):
        helper_socket = os.path.join(folder, "run", "helper.sock")
        super().__init__(folder, f'helper_socket = "{helper_socket}"\n{config}')
        self.helper_socket = helper_socket
        self.helper_log = os.path.join(folder, "helper.log")
        self.remote_users = os.path.join(folder, "remote-users")
        self.helper = None
        self.devices_environment = {}
        self.devices_options = []
        self.sockets = [self.listen(self.socket, socket.SOCK_STREAM), self.listen(self.socket + ".fd", socket.SOCK_SEQPACKET)]

    @staticmethod
    def make_run_folder(path):
        os.mkdir(path, 0o755)

    def use_devices(self, model, library):
        """Those of a stand-in for NVIDIA's driver, by its library at that path, where everybody can read it."""
        shutil.copy(nvml_stand_in.LIBRARY, library)
        os.chmod(library, 0o755)
        self.devices_environment = model.environment
        self.devices_options = ["--nvml-library", library]
        self.environment.update(model.environment)

    @staticmethod
    def listen(path, kind):
        """A socket as systemd makes it, at a number that is not in the way."""
        with socket.socket(socket.AF_UNIX, kind) as made:
            made.bind(path)
            os.chmod(path, 0o666)
            made.listen(512)
            return fcntl.fcntl(made.fileno(), fcntl.F_DUPFD_CLOEXEC, 100)

    def begin(self, environment=None):
        # LISTEN_PID is the number of the process that is to take them: of the shell, which becomes kprofd.
        command = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *self.command()]
        passed_on = {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "kprofd:kprofd"}
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(3, 4),
                                            preexec_fn=lambda: [os.dup2(fd, 3 + i) for i, fd in enumerate(self.sockets)],
                                            env=dict(self.environment, **passed_on, **(environment or {})), **self.identity)

    def answers(self):
        """The socket is there all the time: kprofd answers when it says that it is ready."""
        return re.search(rf"kprofd is ready version=\S+ pid={self.pid} ", self.log()) is not None

    def start_helper(self):
        command = [os.path.join(self.bin, "kprofd-helper"), "--socket", self.helper_socket, "--kprofd-user", str(KPROFD_UID),
                   "--kprofd-socket", self.socket, "--grants", os.path.join(self.folder, "grants"), "--remote-users",
                   self.remote_users, "--launcher", os.path.join(self.bin, "kprof-launch"), "--allow-uids-without-account", "--units", "no",
                   "--clocks", os.path.join(self.bin, "kprof-clocks"), "--held", os.path.join(self.folder, "clocks"),
                   *self.devices_options]
        with open(self.helper_log, "ab") as log:
            self.helper = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                           env=dict(os.environ, **self.devices_environment))

        def listens():
            if self.helper.poll() is not None:
                raise AssertionError(f"the helper ended with {self.helper.returncode}:\n{self.read_helper_log()}")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
                return probe.connect_ex(self.helper_socket) == 0
        wait_until(listens, "the helper to listen")

    def read_helper_log(self):
        return kprof_testing.read_file(self.helper_log).decode(errors="replace")

    def kill_helper(self):
        self.helper.kill()
        self.helper.wait(timeout=kprof_testing.LIMIT_S)

    def end(self):
        """All of it; what is left of it then is nobody's."""
        self.stop()
        if self.helper is not None and self.helper.poll() is None:
            self.helper.terminate()
            self.helper.wait(timeout=kprof_testing.LIMIT_S)
        for fd in self.sockets:
            os.close(fd)


class Caller(Client):
    """kprofctl as somebody."""

    def __init__(self, daemon, uid, groups=()):
        super().__init__(daemon.socket, {"PATH": os.environ["PATH"], "HOME": "/", **kprof_testing.SANITIZER_ENVIRONMENT})
        self.program = os.path.join(daemon.bin, "kprofctl")
        self.identity = {"user": uid, "group": uid, "extra_groups": list(groups), "cwd": "/"}

    def command(self, *args):
        return [self.program, "--socket", self.socket, *args]

    def start(self, *args, **options):
        return super().start(*args, **{**self.identity, **options})


class AsAlice:
    """Of a unittest.TestCase: one kprofd for all users, and alice, who asks it."""

    @classmethod
    def begin_daemon(cls):
        cls.daemon = SystemDaemon(cls.folder)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.start()

    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        cls.folder = cls.enterClassContext(kprof_testing.temporary_folder())
        cls.begin_daemon()
        cls.alice = Caller(cls.daemon, ALICE)


class OnANode:
    """Of one of those: with the helper, which starts what is detached."""

    @classmethod
    def begin_daemon(cls):
        cls.daemon = Node(cls.folder)
        cls.addClassCleanup(cls.daemon.end)
        cls.daemon.start_helper()
        cls.daemon.start()
