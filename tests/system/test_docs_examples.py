"""The examples in docs/analyses: what a page says that kprofctl prints is what it prints. An example is a block that begins with
imports of traces of tests/golden/traces, so that a reader can paste it; after them come other commands of kprofctl, each with what
it prints on standard output. KPROF_UPDATE_GOLDEN=1 writes it into the pages."""

import glob
import os
import re
import shlex
import unittest

import kprof_testing
from kprof_testing import ROOT, OwnDaemonTest

WRITE = "KPROF_UPDATE_GOLDEN" in os.environ
PROMPT = "    $ kprofctl "
IMPORT = "import tests/golden/traces/"
# Their examples are of a public trace: a screen about a few events says nothing.
OF_PUBLIC_TRACES = ("summary", "findings")
QUIET = " > /dev/null"


class DocsExamplesTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()

    def printed(self, command):
        """Its lines as they stand in a page."""
        if QUIET in command:
            command = command.removesuffix(QUIET)
        ran = self.daemon.ctl.run(*shlex.split(command), cwd=ROOT)
        if command.startswith("import"):
            return []
        return [f"    {line}".rstrip() for line in ran.out.decode().splitlines()]

    def check(self, path):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        shown, at, examples = [], 0, 0
        while at < len(lines):
            shown.append(lines[at])
            if not lines[at].startswith(PROMPT + IMPORT):
                at += 1
                continue
            examples += 1
            while at < len(lines) and lines[at].startswith(PROMPT):
                if shown[-1] is not lines[at]:
                    shown.append(lines[at])
                shown += self.printed(lines[at].removeprefix(PROMPT))
                at += 1
                # What the page has of its answer, up to the next command or the end of the block.
                while at < len(lines) and not lines[at].startswith(PROMPT) and self.is_answer(lines, at):
                    at += 1
        self.assertGreater(examples, 0, "it has no example that begins with an import")
        if WRITE:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(shown))
        self.assertEqual(lines if not WRITE else shown, shown)

    @staticmethod
    def is_answer(lines, at):
        """An empty line is one if indented ones follow it."""
        following = re.sub(r"\n+", "\n", "\n".join(lines[at:at + 3])).lstrip("\n")
        return following.startswith("    ") if not lines[at] else lines[at].startswith("    ")


def add_pages():
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "analyses", "*.md"))):
        name = os.path.basename(path)[:-3]
        if name not in ("README", "hta", *OF_PUBLIC_TRACES):
            def test(self, path=path):
                self.check(path)
            setattr(DocsExamplesTest, f"test_{name.replace('-', '_')}", test)


add_pages()

if __name__ == "__main__":
    kprof_testing.need_programs()
    unittest.main()
