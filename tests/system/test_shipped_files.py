"""What is shipped beside the programs agrees with them: the manual pages name every verb and option that --help names, and
no other; the commented configuration, its page and its manual page name the same settings, and kprofd takes them; the page
of the command line lists the codes that there are.
"""

import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest

from kprof_testing import BIN, KPROFCTL, KPROFD, LIMIT_S, ROOT, need_programs, run_kprofd

MANUALS = os.path.join(ROOT, "docs", "man")
SHIPPED_TOML = os.path.join(ROOT, "deploy", "kprofd.toml")
# What makes no sense where the shipped file is.
OF_ONE_USER = {("", "launcher")}
HELPER = os.path.join(BIN, "kprofd-helper")
# The first cell of a row of a settings' page, what stands in it (`[table] key`, `key`), and an example on that page.
PAGE_CELL = re.compile(r"^\| (`[^|]*)\|", re.MULTILINE)
PAGE_SETTING = re.compile(r"`(?:\[+(\w+)\]+ )?(\w+)`")
PAGE_EXAMPLE = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A commented setting or table: no blank after the #, which is how prose is told from it. Four blanks: one that cannot
# hold everywhere, a user's name say.
COMMENTED = re.compile(r"^#(?=\[|\w+ = )", re.MULTILINE)
TABLE_OR_KEY = re.compile(r"^#?(?:\[+(\w+)\]+|(?:    )?(\w+) = )")
# What the code says is in a run's trust: a literal, or the name of a constant.
TRUST_CODE = re.compile(r"(?:(?:trust|reasons|broken|left_out_)\.push_back\(\s*\{|AddTrust\(\s*\{|TrustReason\{|Condition\{|Reasons \w+\()(\"\w+\"|k\w+),")
ASSIGNED_CODE = re.compile(r"(?:AddTrust\(|\bcode = )(k\w+)[,;]")
TRUST_MAKER = re.compile(r"^[^\n]*\bTrustReason>? \w+\([^{;]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
RETURNED_CODE = re.compile(r"return \{+([^,{}]+),")
ERROR_ROW = re.compile(r'Row\{ErrorCode::\w+, "(\w+)", CanonicalCode::\w+, (\d+)\}')


def setUpModule():
    need_programs()


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def help_of(program, *verb):
    return subprocess.run([program, *verb, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          check=True).stdout


def long_options(text):
    """Those that a help page describes: at the beginnings of its lines, and in its lines of usage."""
    described = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  -")]
    described += re.findall(r"^(?:Usage:| {6}) kprofctl (.*)", text, re.MULTILINE)
    return {name for piece in described for name in re.findall(r"--[a-z][\w-]*", piece)}


def manual_options(name):
    """Those that the page describes: `.It Fl Fl name`, also as one of several."""
    return {"--" + option for line in read(MANUALS, name).splitlines() if line.startswith((".It ", ".Op ", ".Fl "))
            for option in re.findall(r"Fl Fl ([a-z][\w-]*)", line)}


def flat(settings):
    """(table, key) of every setting; of a list of tables all keys that occur."""
    names = set()
    for key, value in settings.items():
        if isinstance(value, dict):
            names |= {(key, inner) for inner in value}
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            names |= {(key, inner) for table in value for inner in table}
        else:
            names.add(("", key))
    return names


def shipped_settings():
    """(table, key) of every setting that the shipped file shows."""
    names, table = set(), ""
    for line in read(SHIPPED_TOML).splitlines():
        found = TABLE_OR_KEY.match(line)
        if found and found[1]:
            table = found[1]
        elif found:
            names.add((table, found[2]))
    return names


def page_settings():
    """Those of docs/configuration.md: of its tables, where a cell may name several of one table, and its examples."""
    page = read(ROOT, "docs", "configuration.md")
    names = set()
    for cell in PAGE_CELL.findall(page):
        table = ""
        for own_table, key in PAGE_SETTING.findall(cell):
            table = own_table or table
            names.add((table, key))
    for example in PAGE_EXAMPLE.findall(page):
        names |= flat(tomllib.loads(re.sub(r"(?m)^# (?=\w+ = )", "", example)))
    return names


def daemon_sources():
    for folder, _, names in os.walk(os.path.join(ROOT, "daemon")):
        for name in names:
            if name.endswith((".h", ".cc")):
                yield read(folder, name)


# What a tool says of its run, "code: message".
NOTE_CODE = re.compile(r'(?:\bnotes\.(?:push_back|emplace_back)|tool_run_\.AddNote)\(\s*"([a-z_]+): ')


def trust_codes():
    """All that the daemon can write."""
    text = "\n".join(daemon_sources())
    said = TRUST_CODE.findall(text) + ASSIGNED_CODE.findall(text)
    said += [f'"{code}"' for code in NOTE_CODE.findall(text)]
    for body in TRUST_MAKER.findall(text):
        said += RETURNED_CODE.findall(body)
    return {code.strip('"') if code.startswith('"') else re.search(rf'\b{code}\[\] = "(\w+)"', text)[1] for code in said}


class CommandLinePage(unittest.TestCase):
    def setUp(self):
        self.page = read(ROOT, "docs", "cli.md")

    def rows(self, heading):
        """The cells of the table under that heading."""
        section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", self.page, re.MULTILINE | re.DOTALL)[1]
        return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]

    def test_lists_every_reason_not_to_trust_a_result(self):
        listed = {code for row in self.rows("Trust") for code in re.findall(r"`([a-z_]+)`", row[0])}
        self.assertEqual(trust_codes() - listed, set())
        text = "\n".join(daemon_sources())
        self.assertEqual({code for code in listed if not re.search(rf'"{code}\b', text)}, set(), "nothing in the daemon writes these")

    def test_lists_every_error_code_with_its_exit_code(self):
        listed = {name: status for codes, _, status in self.rows("States, error codes, exit codes")
                  for name in re.findall(r"`([a-z_]+)`", codes)}
        known = dict(ERROR_ROW.findall(read(ROOT, "storage", "base", "status.cc")))
        self.assertEqual(known.pop("ok"), "0")
        self.assertEqual(listed, known)

    def test_what_it_says_is_not_there_yet_is_refused(self):
        later = re.search(r"^Verbs and options that later versions will have \((.*?)\) are refused", self.page,
                          re.MULTILINE | re.DOTALL)[1]
        named = re.findall(r"`([^`]+)`", later)
        self.assertGreater(len(named), 1)
        for words in named:
            ran = subprocess.run([KPROFCTL, *words.split()], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=LIMIT_S, check=False)
            self.assertIn("is not part of this version of kprofctl", ran.stderr, words)


class Manuals(unittest.TestCase):
    def test_kprofctl_names_every_verb_and_option(self):
        verbs = re.findall(r"^  ([\w-]+)  ", help_of(KPROFCTL).partition("Verbs:")[2], re.MULTILINE)
        self.assertGreater(len(verbs), 10)
        page = read(MANUALS, "kprofctl.1")
        options = long_options(help_of(KPROFCTL))
        for verb in verbs:
            self.assertRegex(page, rf"(?m)^\.It Cm {verb}\b", f"kprofctl.1 does not tell of {verb}")
            options |= long_options(help_of(KPROFCTL, verb))
            for below in re.findall(r"^  (\w+)  ", help_of(KPROFCTL, verb).partition("Verbs:")[2], re.MULTILINE):
                options |= long_options(help_of(KPROFCTL, verb, below))
        described = manual_options("kprofctl.1")
        self.assertEqual(options - described, set(), "kprofctl.1 does not tell of these")
        self.assertEqual(described - options, set(), "kprofctl.1 tells of what is not there")

    def test_kprofd_names_every_option(self):
        self.assertEqual(manual_options("kprofd.8"), long_options(help_of(KPROFD)))

    @unittest.skipUnless(os.access(HELPER, os.X_OK), "no kprofd-helper is built")
    def test_kprofd_helper_names_every_option(self):
        self.assertEqual(manual_options("kprofd-helper.8"), long_options(help_of(HELPER)))

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_pages_are_well_formed(self):
        for name in sorted(os.listdir(MANUALS)):
            with self.subTest(page=name):
                ran = subprocess.run(["man", "--warnings", "--local-file", os.path.join(MANUALS, name)], capture_output=True,
                                     text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL,
                                     env={**os.environ, "MANROFFSEQ": "", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class Settings(unittest.TestCase):
    def setUp(self):
        self.uncommented = COMMENTED.sub("", read(SHIPPED_TOML))
        self.shipped = shipped_settings()

    def check(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            return run_kprofd("--check-config", "--config", file.name)

    def test_kprofd_takes_the_file_as_it_is_shipped(self):
        ran = self.check(read(SHIPPED_TOML))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_kprofd_takes_every_setting_that_it_shows(self):
        ran = self.check(self.uncommented)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_nothing_is_set_as_it_is_shipped(self):
        self.assertEqual(tomllib.loads(read(SHIPPED_TOML)), {})

    def test_the_page_names_the_same_settings(self):
        self.assertEqual(page_settings(), self.shipped | OF_ONE_USER)

    def test_the_manual_page_names_the_same_settings(self):
        named, table = set(), ""
        for line in read(MANUALS, "kprofd.toml.5").splitlines():
            if line.startswith(".Ss "):
                table = line[4:].strip("[]")
            elif line.startswith(".It Sy "):
                named.add((table, line[7:]))
        self.assertEqual(named, self.shipped | OF_ONE_USER)


if __name__ == "__main__":
    unittest.main()
