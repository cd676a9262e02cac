"""How the build compiles our C++, for the checks that look at it again, and which of it they have found clean before.

A state is a name for all that a check's answer depends on: a file, the headers of ours below it, how it is compiled, and
the check's own settings. Clean states are empty files in a cache beside the compiler's, so that a fresh clone profits.
"""

import hashlib
import json
import os
import re
import shlex

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# The launcher before the compiler, and what only g++ takes or only batches need.
LEFT_OUT = ("-Werror", "-Winvalid-pch", "-Wno-subobject-linkage", "-Wno-maybe-uninitialized")


def read_database(folder):
    """{path of the source: {"directory", "file", "arguments"}} of a build folder's compile database."""
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    compilations = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        start = next(i for i, word in enumerate(words) if os.path.basename(word) in ("c++", "g++", "clang++-14"))
        kept = [word for word in words[start:] if word not in LEFT_OUT]
        compilations[os.path.relpath(entry["file"], ROOT)] = {
            "directory": entry["directory"], "file": entry["file"], "arguments": kept}
    return compilations


def proto_sum():
    """Of all .proto files: generated headers follow from them."""
    total = hashlib.sha256()
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "proto"))):
        for name in sorted(names):
            with open(os.path.join(folder, name), "rb") as file:
                total.update(file.read())
    return total.hexdigest()


class States:
    """States of files, and which are known as clean. `check` keeps those of different checks apart."""

    def __init__(self, check, settings):
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.folder = os.path.join(home, "kprof", check)
        os.makedirs(self.folder, exist_ok=True)
        self.settings = settings + proto_sum()
        self.known = {}

    def _below(self, source):
        reached, waiting = {}, [source]
        while waiting:
            path = waiting.pop()
            if path in reached:
                continue
            if path not in self.known:
                self.known[path] = self._read(path)
            if self.known[path] is None:
                continue
            reached[path] = self.known[path][0]
            waiting += self.known[path][1]
        return sorted(reached.items())

    @staticmethod
    def _read(path):
        try:
            with open(os.path.join(ROOT, path), "rb") as file:
                content = file.read()
        except OSError:
            return None
        names = [os.path.relpath(name, ROOT) if os.path.isabs(name) else name
                 for name in (found.decode() for found in INCLUDE.findall(content))]
        return hashlib.sha256(content.replace(ROOT.encode(), b"")).hexdigest(), names

    def path_of(self, source, compilation):
        """The file that is there when this state is clean."""
        arguments = [word.replace(ROOT, "") for word in compilation["arguments"]]
        state = json.dumps([self._below(source), arguments, self.settings])
        return os.path.join(self.folder, hashlib.sha256(state.encode()).hexdigest())
