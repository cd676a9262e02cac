"""A small Debian 12 for the tests of the package: a folder with what the package needs, and copies of it, in which dpkg
works (Node) or systemd runs, too (BootedNode). Needs root; who has not all of what it takes gets a SkipTest that says so.

The folder is made once, by debootstrap from Debian's mirror, and kept in build/package_node. Nothing inside a copy
reaches the network: it has a loopback of its own.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.join(ROOT, "build", "package_node")
MIRROR = "http://deb.debian.org/debian"
# systemd as the init, and dbus, by which `systemctl` and `systemd-run` reach it from outside of a session.
BASE_PACKAGES = ("systemd", "systemd-sysv", "dbus", "man-db")
LIMIT_S = 60
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def need_tools():
    """Raises a SkipTest with all that is missing."""
    missing = [tool for tool in ("debootstrap", "systemd-nspawn", "nsenter", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise unittest.SkipTest(f"no {', '.join(missing)}")
    if os.geteuid() != 0:
        raise unittest.SkipTest("not root")


def run(*command, limit_s=LIMIT_S, expect=0, **options):
    """Runs it; its output, both kinds together, as text."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=limit_s, check=False, **options)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"exit {done.returncode} instead of {expect} from {command}:\n{done.stdout}")
    return done.stdout


def wait_until(condition, what, limit_s=LIMIT_S):
    """Asks until it gets something true, and returns it."""
    deadline = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit_s} s for {what}")
        time.sleep(0.05)


def field_of(package, field):
    return run("dpkg-deb", "--field", package, field).strip()


def needs_of(package):
    """Names of the packages that it depends on; of alternatives the first."""
    return sorted({each.split("|")[0].split("(")[0].strip() for each in field_of(package, "Depends").split(",")})


def base_folder(package):
    """The folder with all that the package needs. A SkipTest where Debian's mirror cannot be reached."""
    wanted = [*BASE_PACKAGES, *needs_of(package)]
    base = os.path.join(CACHE, "base")
    listing = os.path.join(CACHE, "base.packages")
    with contextlib.suppress(OSError):
        with open(listing, encoding="utf-8") as file:
            if file.read().split() == wanted:
                return base
    shutil.rmtree(CACHE, ignore_errors=True)
    os.makedirs(CACHE)
    made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={','.join(wanted)}", "bookworm", base, MIRROR],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900,
                          check=False)
    if made.returncode != 0:
        raise unittest.SkipTest(f"debootstrap made no Debian: {made.stdout.splitlines()[-1:]}")
    # A user of the node, as everybody is.
    run("chroot", base, "useradd", "--create-home", "--uid", "1500", "ann")
    with open(listing, "w", encoding="utf-8") as file:
        file.write("\n".join(wanted))
    return base


def with_version(package, version, folder):
    """A copy of the package with another version, in the folder; its path."""
    tree = os.path.join(folder, f"tree-{version}")
    run("dpkg-deb", "--raw-extract", package, tree)
    control = os.path.join(tree, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        lines = [f"Version: {version}\n" if line.startswith("Version:") else line for line in file]
    with open(control, "w", encoding="utf-8") as file:
        file.writelines(lines)
    path = os.path.join(folder, f"kprof_{version}.deb")
    run("dpkg-deb", "--build", "--root-owner-group", tree, path)
    shutil.rmtree(tree)
    return path


class Node:
    """A copy of the base in which no systemd runs: an image that somebody builds, say."""

    def __init__(self, package, name):
        self.folder = os.path.join(CACHE, name)
        shutil.rmtree(self.folder, ignore_errors=True)
        run("cp", "-a", "--reflink=auto", base_folder(package), self.folder, limit_s=300)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, inside):
        return os.path.join(self.folder, inside.lstrip("/"))

    def run(self, *command, **options):
        enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        return run("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", enter, self.folder,
                   *command, env={"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8"}, **options)

    def install(self, package, expect=0):
        """dpkg -i; what it said."""
        shutil.copy(package, self.path("/root/package.deb"))
        try:
            return self.run("dpkg", "--install", "/root/package.deb", limit_s=120, expect=expect)
        finally:
            os.unlink(self.path("/root/package.deb"))

    def files(self):
        """All paths of the system itself, those that change by themselves left out."""
        found = set()
        for top in ("etc", "usr", "var/lib", "run"):
            for folder, folders, files in os.walk(self.path(top)):
                found.update(os.path.relpath(os.path.join(folder, name), self.folder) for name in folders + files)
        return {path for path in found if not path.startswith(("var/lib/dpkg", "run/systemd", "var/lib/systemd"))}


class BootedNode(Node):
    """A copy of the base that systemd has booted."""

    def __init__(self, package, name):
        super().__init__(package, name)
        self.log = open(os.path.join(CACHE, f"{name}.log"), "wb")
        self.nspawn = subprocess.Popen(
            ["systemd-nspawn", "--boot", "--register=no", "--keep-unit", "--private-network", "--console=pipe",
             f"--directory={self.folder}", f"--machine={name}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.init = wait_until(self.find_init, "systemd to be process 1")
            wait_until(self.has_booted, "systemd to have booted", 120)
        except BaseException:
            self.close()
            raise

    def find_init(self):
        """The pid of systemd, seen from here."""
        if self.nspawn.poll() is not None:
            with open(self.log.name, errors="replace", encoding="utf-8") as log:
                raise unittest.SkipTest(f"systemd-nspawn cannot boot here: {log.read()[-300:]}")
        for task in os.listdir(f"/proc/{self.nspawn.pid}/task"):
            with open(f"/proc/{self.nspawn.pid}/task/{task}/children", encoding="utf-8") as file:
                for child in file.read().split():
                    with contextlib.suppress(OSError):
                        with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                            if comm.read().strip() == "systemd":
                                return int(child)
        return None

    def has_booted(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            state = self.run("systemctl", "is-system-running", expect=None, limit_s=5).strip()
            return state in ("running", "degraded")
        return False

    def close(self):
        # Process 1 of its own namespace: with it goes all that is in there.
        if getattr(self, "init", None):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)
        try:
            self.nspawn.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.nspawn.kill()
            self.nspawn.wait()
        self.log.close()
        super().close()

    def inside(self, *command, user=None):
        """A command line that runs the command in there, as this user."""
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        return ["nsenter", f"--target={self.init}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd",
                "env", "-i", f"PATH={PATH}", "HOME=/tmp", "LC_ALL=C.UTF-8",
                *become, *command]

    def run(self, *command, user=None, **options):
        return run(*self.inside(*command, user=user), **options)

    def start(self, *command, user=None):
        """In the background; a Popen. Whoever starts it waits for it."""
        return subprocess.Popen(self.inside(*command, user=user), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def property(self, unit, name):
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).strip()

    def journal(self, unit):
        return self.run("journalctl", "--unit", unit, "--output=short-precise", "--no-pager", expect=None)
