"""The test's half of fault_preload.cc: says what shall go wrong when, and what a loss of power leaves."""

import mmap
import os
import random
import shutil
import struct

import kprof_testing

PRELOAD = os.path.join(kprof_testing.BIN, "libfault_preload.so")
# kprof-launch linked dynamically: the real one is static, and nothing can be put before its libc.
LAUNCH = os.path.join(kprof_testing.BIN, "kprof-launch-dynamic")

KINDS = {"none": 0, "kill": 1, "kill doer": 2, "cut": 3, "torn": 4, "enospc": 5, "eio": 6}

# struct Control, up to `what`.
_OPS, _FAIL_AT, _KIND, _LASTING, _FIRED, _POWER_IS_OFF, _PIDS, _WHAT = 0, 8, 16, 20, 24, 28, 32, 32 + 64 * 4
_SIZE = 4096


class Faults:
    """Faults for one daemon's life on the state folder `root`. Books and control lie in `folder`, on the same disk."""

    def __init__(self, folder, root):
        self.root = root
        self.image = os.path.join(folder, "image")
        for name in ("files", "folders", "keep"):
            os.makedirs(os.path.join(self.image, name))
        control = os.path.join(folder, "control")
        with open(control, "wb") as file:
            file.truncate(_SIZE)
        with open(control, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), _SIZE)
        self.environment = {"LD_PRELOAD": os.path.realpath(PRELOAD), "KPROF_FAULT_CONTROL": control,
                            "KPROF_FAULT_ROOT": root, "KPROF_FAULT_IMAGE": self.image}

    def close(self):
        self.map.close()

    def _number(self, offset, code="I"):
        return struct.unpack_from(code, self.map, offset)[0]

    def arm(self, at, kind, lasting=False):
        """The operation number `at`, counted from the beginning, meets the fault."""
        struct.pack_into("QII", self.map, _FAIL_AT, at, KINDS[kind], lasting)

    def heal(self):
        struct.pack_into("II", self.map, _KIND, 0, 0)

    @property
    def ops(self):
        return self._number(_OPS, "Q")

    @property
    def fired(self):
        return self._number(_FIRED)

    @property
    def power_is_off(self):
        return bool(self._number(_POWER_IS_OFF))

    @property
    def what(self):
        """The operation that met the fault first, for people."""
        return self.map[_WHAT:_WHAT + 256].split(b"\0")[0].decode(errors="replace")

    def pids(self):
        return [pid for pid in struct.unpack_from("64i", self.map, _PIDS) if pid]

    def trace(self):
        """[(number, program, operation, path under the root)] of all operations."""
        operations = []
        with open(os.path.join(self.image, "trace"), encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                number, program, rest = line.rstrip("\n").split(" ", 2)
                what, _, path = rest.partition(" /")
                operations.append((int(number), program, what.strip(), path))
        return operations

    def lose_power(self, survives, seed=0):
        """Replaces the state folder by what the disk holds once the power is back. `survives`, of what was not synced:
        `nothing`; `everything`, as a disk that wrote it all in time; `some`, folder by folder and file by file."""
        if survives == "everything":
            return
        choose = random.Random(seed)
        rebuilt = self.root + ".rebuilt"
        os.mkdir(rebuilt, 0o700)
        kept_ids = self._inodes()
        self._rebuild(os.stat(self.root).st_ino, self.root, rebuilt, kept_ids, choose if survives == "some" else None)
        shutil.rmtree(self.root)
        os.rename(rebuilt, self.root)

    def _inodes(self):
        """{inode number: path} of everything that is or was there."""
        found = {}
        for top in (self.root, os.path.join(self.image, "keep")):
            for folder, folders, files in os.walk(top):
                for name in folders + files:
                    path = os.path.join(folder, name)
                    found.setdefault(os.lstat(path).st_ino, path)
        return found

    def _rebuild(self, inode, live_path, target, inodes, choose):
        names = {}
        try:
            with open(os.path.join(self.image, "folders", str(inode)), encoding="utf-8", errors="surrogateescape") as file:
                for line in file:
                    kind, number, name = line.rstrip("\n").split(" ", 2)
                    names[name] = (kind == "d", int(number))
        except FileNotFoundError:
            pass  # never synced: empty
        if choose and choose.random() < 0.5 and live_path and os.path.isdir(live_path):
            names = {}
            for entry in os.scandir(live_path):
                names[entry.name] = (entry.is_dir(follow_symlinks=False), entry.inode())
        for name, (is_folder, number) in names.items():
            path = os.path.join(target, name)
            if is_folder:
                os.mkdir(path, 0o700)
                self._rebuild(number, inodes.get(number), path, inodes, choose)
                continue
            source = os.path.join(self.image, "files", str(number))
            if choose and choose.random() < 0.5 and number in inodes:
                source = inodes[number]
            if os.path.exists(source):
                shutil.copyfile(source, path)
            else:
                with open(path, "wb"):  # its name is safe, its content is not
                    pass
            os.chmod(path, 0o600)
