"""Shuts the process of a candidate in: user, process and mount namespaces of its own, where the node allows them.

In them the candidate sees no process but its own, so that it can neither read nor trace nor signal the referee; all files are
read-only but a private /dev/shm, so that nothing outlives it; the socket of kprofd is not there. It has no capabilities, and can get
none over what was put there: what was mounted over cannot be uncovered.

Runs before the candidate is loaded, in its process, by ctypes: nothing has to be installed. Knows nothing of what is run.
"""

import ctypes
import os
import platform
import signal

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS = 1, 24, 28, 38
_SECURE_NO_ROOT_AND_LOCKED = 0b1111  # root's number gives no capabilities, and set-user-id programs none either; for good
_SYS_MOUNT_SETATTR = 442  # the same on all
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
_CAPABILITY_VERSION = 0x20080522
_MOST_CAPABILITIES = 64

SCRATCH = "/dev/shm"


class NotDone(Exception):
    """A step that this node does not allow."""


class _Libc:
    def __init__(self):
        self.lib = ctypes.CDLL(None, use_errno=True)

    def call(self, what, name, *arguments):
        if getattr(self.lib, name)(*arguments) < 0:
            raise NotDone(f"{what}: {os.strerror(ctypes.get_errno())}")

    def mount(self, source, target, kind, flags, data=None):
        texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
        self.call(f"mount {target}", "mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])


def _write(path, text):
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        raise NotDone(f"{path}: {error.strerror}") from None


def _cover(libc, socket_paths):
    """Mounts, in the new namespaces."""
    libc.mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    libc.mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    for path in socket_paths:
        if os.path.exists(path):
            libc.mount("/dev/null", path, None, _MS_BIND)
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY, 0, 0, 0)
    libc.call("make all files read-only", "syscall", _SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes,
              ctypes.c_size_t(ctypes.sizeof(attributes)))
    libc.mount("tmpfs", SCRATCH, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0700")


def _drop_capabilities(libc):
    libc.call("forgo privileges", "prctl", _PR_SET_SECUREBITS, _SECURE_NO_ROOT_AND_LOCKED, 0, 0, 0)
    for capability in range(_MOST_CAPABILITIES):
        libc.lib.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    number = _SYS_CAPSET.get(platform.machine())
    if number is None:
        raise NotDone(f"drop capabilities on {platform.machine()}: no number of the call")
    head, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    libc.call("drop capabilities", "syscall", number, head, none)


def _try_to_drop_capabilities(libc):
    """Root's, where the node gives no namespaces: without them root cannot look into the referee either."""
    try:
        _drop_capabilities(libc)
    except NotDone:
        pass


def _end_as(pid):
    """Waits for the process and ends as it did; as a shell says it, where a signal ended it."""
    status = os.waitpid(pid, 0)[1]
    os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


def enter(socket_paths, told_pid, close):
    """Returns in a process that is shut in; the caller's waits for its end and never returns. Empty: all was done; else the text of
    what was not. A step that fails leaves those before it in force.

    `told_pid`: called in the waiting process with the number that the other has outside. `close`: gives up what that one needs no
    more. `socket_paths`: what the candidate shall not find.
    """
    libc = _Libc()
    libc.lib.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    user, group = os.geteuid(), os.getegid()
    try:
        libc.call("namespaces of its own", "unshare", _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS | _CLONE_NEWIPC)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        report, wait = os.pipe()
        pid = os.fork()
    except (NotDone, OSError) as error:
        _try_to_drop_capabilities(libc)
        return str(error)
    if pid:
        told_pid(pid)
        close()
        os.close(report)
        os.close(wait)
        _end_as(pid)
    os.close(wait)
    os.read(report, 1)  # until the other has told the number
    os.close(report)
    libc.lib.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _cover(libc, socket_paths)
        _drop_capabilities(libc)
    except NotDone as error:
        _try_to_drop_capabilities(libc)
        return str(error)
    return ""
