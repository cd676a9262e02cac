"""Builds a preset, runs every test program of it, and says what passed, failed and was skipped, by name.

A test program is a gtest binary (build/<preset>/bin/unit_*), a Python suite (tests/{system,interop,crash}/test_*.py,
stdlib unittest), a fuzz target with its seeds (replay_fuzz TARGET), or, with --fuzz, a fuzzer. Each runs in a session of its
own, with a folder of its own as TMPDIR and a time limit; output is shown for failures only. Two more things count as
failures: a process that a program leaves behind, and a sanitizer's report from any process below it.

What the tests may rely on, however tests/run was started (by a script's `&`, nohup, nice, a service, with any
environment): no signal is ignored or blocked, the umask is 022, standard input is empty, there is no terminal, the locale
is C.UTF-8 and the time zone UTC. Of the environment they get HOME, LOGNAME, PATH, SHELL, USER, what a test is told by
(ORDERS below), and:
  KPROF_BIN         the folder of the programs under test
  KPROF_TEST_DATA   the folder of the real traces; default: shared/data beside the repository
  KPROF_TEST_SCALENE   a folder with Scalene and what it needs, where Python has none of its own
  KPROF_LONG        1 with --long, else absent
  KPROF_SANITIZER   asan or tsan under one, else absent
  TMPDIR            short enough for a socket path; removed afterwards
Niceness and limits stay those of tests/run: a test holds under any.

What takes minutes, or needs a quiet machine, runs with --long alone. Such a test is skipped with a reason that begins with
"long: "; one that does a part of it else prints a line "[long] WHAT". Both are named in the lines above the last.

The last line is always `N passed, N failed, N skipped`. Exit code 0: none failed, and at least one ran.
"""

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

import real_seeds

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
PYTHON = "/usr/bin/python3"
SUITES = ("crash", "system", "interop")  # the slowest first, so that two at a time end together
OUTPUT_LINES_SHOWN = 150
LINE_CHARACTERS_SHOWN = 2000
MARKER = "KPROF_TEST_PROGRAM"
PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")
ORDERS = ("KPROF_FAULT_SEED", "KPROF_SOAK_KILLS", "KPROF_SOAK_RUNS", "KPROF_SOAK_S", "KPROF_TEST_SCALENE", "KPROF_UPDATE_GOLDEN")
KNOWN = {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
UMASK = 0o022
LONG_REASON = "long: "
LONG_LINE = re.compile(r"^\[long\] (.+)$", re.MULTILINE)


@dataclasses.dataclass
class Outcome:
    """One test: what came of it. `text` is the reason of a skip, the output of a failure."""

    name: str
    result: str  # passed, failed, skipped
    seconds: float = 0.0
    text: str = ""


@dataclasses.dataclass
class Program:
    """One process to run, and how to read what it says."""

    name: str
    command: list
    limit_s: float
    read: object  # function(program, exit code or None, output, report path) -> [Outcome]
    report: str = ""  # a path that the program fills; %REPORT% in the command
    environment: dict = dataclasses.field(default_factory=dict)
    left_out: list = dataclasses.field(default_factory=list)  # what of it needs --long, as it said itself


# Running one program.


def known_environment():
    """The part of our own that tests may see."""
    kept = {name: os.environ[name] for name in PASSED_ON + ORDERS if name in os.environ}
    return kept | KNOWN


def as_started_from_a_terminal(command):
    """The command with every signal as it is by default: who starts tests/run may ignore some, and children inherit that."""
    return ["/usr/bin/env", "--default-signal", *command]


def marked_processes(marker):
    """Processes with our marker in their environment, as {pid: command line}. Zombies have no environment."""
    found = {}
    wanted = f"{MARKER}={marker}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environ:
                if wanted not in environ.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as cmdline:
                found[int(entry)] = cmdline.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
    return found


def end_leftovers(marker, grace_s):
    """Waits for what is still going, then kills it. Returns the command lines of what had to be killed."""
    deadline = time.monotonic() + grace_s
    left = marked_processes(marker)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = marked_processes(marker)
    lines = [f"{pid} {line}" for pid, line in left.items()]
    for _ in range(50):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        left = marked_processes(marker)
        if not left:
            break
    return lines


def tail(text, lines=OUTPUT_LINES_SHOWN):
    """The end of a long text, which is where the reason usually is."""
    every = text.splitlines()
    if len(every) <= lines:
        return "\n".join(every)
    return "\n".join([f"[{len(every) - lines} lines before this left out]"] + every[-lines:])


def run_program(program, settings):
    """Runs it to its end or its time limit. Returns (its outcomes, seconds)."""
    folder = tempfile.mkdtemp(prefix="kt-", dir="/tmp")
    os.chmod(folder, 0o711)  # tests that act as several users pass through it
    marker = os.path.basename(folder)
    environment = known_environment() | settings.environment | program.environment
    environment.update({"TMPDIR": folder, MARKER: marker})
    sanitizer_logs = os.path.join(folder, "sanitizer")
    os.mkdir(sanitizer_logs)
    for variable in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        if variable in environment:
            environment[variable] += f":log_path={sanitizer_logs}/report"
    report = os.path.join(folder, "report")
    output_path = os.path.join(folder, "output")
    command = [part.replace("%REPORT%", report) for part in program.command]
    started = time.monotonic()
    with open(output_path, "wb") as output:
        process = subprocess.Popen(
            as_started_from_a_terminal(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True, cwd=ROOT, umask=UMASK,
        )
        try:
            code = process.wait(timeout=program.limit_s)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = time.monotonic() - started
    leftovers = end_leftovers(marker, grace_s=0 if code is None else 3)
    with open(output_path, "rb") as output:
        text = output.read().decode(errors="replace")
    program.report = report
    outcomes = program.read(program, code, text)
    program.left_out = LONG_LINE.findall(text) if outcomes else []  # --only may have left nothing of it
    if leftovers and code is not None:
        outcomes.append(Outcome(f"{program.name}:leaves no process behind", "failed", 0, "\n".join(leftovers)))
    for name in sorted(os.listdir(sanitizer_logs)):
        with open(os.path.join(sanitizer_logs, name), errors="replace") as file:
            outcomes.append(Outcome(f"{program.name}:sanitizer {name}", "failed", 0, file.read()))
    shutil.rmtree(folder, ignore_errors=True)
    return outcomes, seconds


def how_it_ended(program, code):
    """Words for an end that is not a plain 0 or 1."""
    if code is None:
        return f"still running after its limit of {program.limit_s:.0f} s; killed"
    if code < 0:
        return f"died of {signal.Signals(-code).name}"
    return f"exit code {code}"


# gtest binaries.

GTEST_LINE = re.compile(r"^(.*?)\[ *(RUN|OK|FAILED|SKIPPED) *\] ([\w/]+\.[\w/]+)(?:,.*)?(?: \(\d+ ms\))?$")


def gtest_sections(output):
    """What each test printed, and the one that had begun and not ended, from gtest's usual output."""
    sections, current = {}, None
    for line in output.splitlines():
        match = GTEST_LINE.match(line)
        if match and match[2] == "RUN":
            current = match[3]
            sections[current] = []
        elif match and current == match[3]:
            if match[1]:
                sections[current].append(match[1])
            current = None
        elif current is not None:
            sections[current].append(line)
    return {name: "\n".join(lines) for name, lines in sections.items()}, current


def read_gtest(program, code, output):
    """Outcomes from gtest's JSON; after a crash, which leaves none, from what was printed."""
    sections, unfinished = gtest_sections(output)
    outcomes = []
    try:
        with open(program.report, encoding="utf-8", errors="replace") as file:
            suites = json.load(file)["testsuites"]
    except (OSError, ValueError):
        suites = None
    if suites is None:
        for match in re.finditer(r"\[       OK \] (\S+) \((\d+) ms\)", output):
            outcomes.append(Outcome(f"{program.name}:{match[1]}", "passed", int(match[2]) / 1000))
        for match in re.finditer(r"\[  FAILED  \] (\S+?),? .*\((\d+) ms\)", output):
            outcomes.append(Outcome(f"{program.name}:{match[1]}", "failed", int(match[2]) / 1000, sections.get(match[1], "")))
        name = f"{program.name}:{unfinished or '(as a whole)'}"
        text = sections.get(unfinished, "") if unfinished else tail(output)
        outcomes.append(Outcome(name, "failed", 0, f"{how_it_ended(program, code)}\n{tail(text)}"))
        return outcomes
    for suite in suites:
        for test in suite["testsuite"]:
            if test["status"] != "RUN":
                continue
            short = f"{suite['name']}.{test['name']}"
            seconds = float(test["time"].rstrip("s"))
            if test.get("failures"):
                failures = "\n".join(failure["failure"] for failure in test["failures"])
                text = sections.get(short) or failures
                outcomes.append(Outcome(f"{program.name}:{short}", "failed", seconds, tail(text)))
            elif test["result"] == "SKIPPED":
                reason = [line for line in sections.get(short, "").splitlines() if line and not line.endswith(": Skipped")]
                outcomes.append(Outcome(f"{program.name}:{short}", "skipped", seconds, " ".join(reason)))
            else:
                outcomes.append(Outcome(f"{program.name}:{short}", "passed", seconds))
    if code != 0 and not any(outcome.result == "failed" for outcome in outcomes):
        text = f"{how_it_ended(program, code)}, though every test passed\n{tail(output)}"
        outcomes.append(Outcome(f"{program.name}:(as a whole)", "failed", 0, text))
    return outcomes


def gtest_programs(build, only, limit_s, wrapper, environment):
    """One per unit_* binary; with --only, limited to the tests whose whole name matches."""
    folder = os.path.join(build, "bin")
    programs = []
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        path = os.path.join(folder, name)
        if not name.startswith("unit_") or not os.access(path, os.X_OK):
            continue
        command = wrapper + [path, "--gtest_output=json:%REPORT%", "--gtest_color=no"]
        if only:
            listing = subprocess.run(
                wrapper + [path, "--gtest_list_tests"], capture_output=True, text=True, check=True,
                env=known_environment() | environment)
            suite, chosen = "", []
            for line in listing.stdout.splitlines():
                line = line.split("#")[0].rstrip()
                if line.endswith("."):
                    suite = line
                elif line.startswith("  ") and only.search(f"{name}:{suite}{line.strip()}"):
                    chosen.append(suite + line.strip())
            if not chosen:
                continue
            command.append("--gtest_filter=" + ":".join(chosen))
        programs.append(Program(name, command, limit_s, read_gtest))
    return programs


# Python suites. The child is this file again, with --run-python: it writes one JSON line per event, so that a crash
# loses nothing of what came before.


class Reporter(unittest.TestResult):
    """Writes each event as a line of JSON."""

    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w", encoding="utf-8", errors="backslashreplace")
        self.began = time.monotonic()
        self.bad_subtest = False

    def say(self, event, test, text=""):
        name = test if isinstance(test, str) else test.id()
        line = {"event": event, "test": name, "seconds": time.monotonic() - self.began, "text": text}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.bad_subtest = False
        print(f"--- {test.id()}", flush=True)
        self.say("began", test)

    def stopTest(self, test):
        super().stopTest(test)
        self.say("ended", test)

    def addSuccess(self, test):
        if not self.bad_subtest:
            self.say("passed", test)

    def addFailure(self, test, err):
        self.say("failed", test, "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        self.addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.bad_subtest = True
            self.say("failed", subtest, "".join(traceback.format_exception(*err)))

    def addSkip(self, test, reason):
        self.say("skipped", test, reason)

    def addExpectedFailure(self, test, err):
        self.say("passed", test)

    def addUnexpectedSuccess(self, test):
        self.say("failed", test, "was expected to fail, and passed")


def run_python_suite(path, report, only):
    """The child: runs one suite file in this process."""
    sys.path[:0] = [os.path.dirname(path), os.path.join(TESTS, "system")]  # kprof_testing.py is for all suites
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    reporter = Reporter(report)
    try:
        spec.loader.exec_module(module)
    except unittest.SkipTest as skip:
        reporter.say("skipped", "(all)", str(skip))
        return 0
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    pattern = re.compile(only) if only else None
    program = python_program_name(path)

    def chosen(part):
        if isinstance(part, unittest.TestSuite):
            return type(part)(chosen(inner) for inner in part)
        # `module.Class.test` after its module's name; a load error is a test of its own.
        keep = not pattern or pattern.search(f"{program}:{part.id().removeprefix(name + '.')}")
        return part if keep else unittest.TestSuite()

    chosen(suite).run(reporter)
    return 0


def read_python(program, code, output):
    """Outcomes from the child's lines."""
    events = []
    try:
        with open(program.report, encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
    except OSError:
        pass
    module = os.path.basename(program.name)
    outcomes, open_test = [], None
    for event in events:
        short = event["test"].removeprefix(module + ".")
        if event["event"] in ("began", "ended"):
            open_test = short if event["event"] == "began" else None
            continue
        outcomes.append(Outcome(f"{program.name}:{short}", event["event"], event["seconds"], event["text"]))
        if event["event"] == "failed":
            printed = output.partition(f"--- {event['test']}\n")[2].partition("\n--- ")[0]
            outcomes[-1].text += "\n" + tail(printed) if printed.strip() else ""
    if code != 0:
        printed = output.rpartition("\n--- ")[2] if open_test else output
        text = f"{how_it_ended(program, code)}\n{tail(printed)}"
        outcomes.append(Outcome(f"{program.name}:{open_test or '(as a whole)'}", "failed", 0, text))
    elif not events and "--only" not in program.command:
        outcomes.append(Outcome(f"{program.name}:(as a whole)", "failed", 0, "holds no test"))
    return outcomes


def python_program_name(path):
    return f"{os.path.basename(os.path.dirname(path))}/{os.path.splitext(os.path.basename(path))[0]}"


def python_programs(only, limit_s):
    programs = []
    for suite in SUITES:
        folder = os.path.join(TESTS, suite)
        for file in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
            if not re.fullmatch(r"test_\w+\.py", file):
                continue
            path = os.path.join(folder, file)
            command = [PYTHON, os.path.abspath(__file__), "--run-python", path, "--report", "%REPORT%"]
            environment = {"PYTHONDONTWRITEBYTECODE": "1"}
            if only:
                command += ["--only", only.pattern]
            programs.append(Program(python_program_name(path), command, limit_s, read_python, environment=environment))
    return programs


# Fuzzers.


def read_fuzzer(program, code, output):
    seconds = 0.0
    if code == 0:
        return [Outcome(program.name, "passed", seconds)]
    return [Outcome(program.name, "failed", seconds, f"{how_it_ended(program, code)}\n{tail(output)}")]


def fuzz_programs(settings, only, seconds):
    """Each fuzzer with its corpus, which stays in the build folder and grows from run to run, and with its seeds."""
    build = settings.build
    programs = []
    for name in fuzzer_names():
        if only and not only.search(name):
            continue
        corpus = os.path.join(build, "corpus", name)
        crashes = os.path.join(build, "crashes")
        os.makedirs(corpus, exist_ok=True)
        os.makedirs(crashes, exist_ok=True)
        command = [
            os.path.join(build, "bin", name), f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048",
            f"-artifact_prefix={crashes}/{name}-", corpus,
        ]
        words = os.path.join(TESTS, "fuzz", f"{name}.dict")
        if os.path.exists(words):
            command.insert(1, f"-dict={words}")
        command += seed_folders(settings, name)
        # A fuzzer prints its report, with the input that caused it, to standard error.
        programs.append(Program(name, command, seconds + 180, read_fuzzer))
    return programs


def replay_programs(settings, only, limit_s):
    """Each fuzz target fed with its seeds, once: what CI without clang has of it."""
    programs = []
    for name in fuzzer_names():
        path = os.path.join(settings.build, "bin", "replay_fuzz")
        if os.access(path, os.X_OK) and (not only or only.search(f"replay_{name}")):
            command = settings.wrapper + [path, name, *seed_folders(settings, name)]
            programs.append(Program(f"replay_{name}", command, limit_s, read_fuzzer))
    return programs


def seed_folders(settings, name):
    """Those of the repository, and pieces of the real traces where they are here."""
    ours = os.path.join(TESTS, "fuzz", "seeds", name)
    real = os.path.join(settings.build, "real_seeds", name)
    folders = [ours] if os.path.isdir(ours) else []
    if real_seeds.write_real_seeds(name, settings.environment["KPROF_TEST_DATA"], real):
        folders.append(real)
    return folders


def fuzzer_names():
    folder = os.path.join(TESTS, "fuzz")
    return sorted(file[:-3] for file in (os.listdir(folder) if os.path.isdir(folder) else []) if file.endswith("_fuzz.cc"))


# All of it.


@dataclasses.dataclass
class Settings:
    preset: str
    build: str
    environment: dict
    wrapper: list  # put before a binary's command


def settings_of(preset, build_dir, long):
    build = os.path.abspath(build_dir) if build_dir else os.path.join(ROOT, "build", preset)
    environment = {"KPROF_BIN": os.path.join(build, "bin")}
    environment["KPROF_TEST_DATA"] = os.environ.get("KPROF_TEST_DATA") or os.path.join(os.path.dirname(ROOT), "shared", "data")
    if long:
        environment["KPROF_LONG"] = "1"
    wrapper = []
    if preset in ("asan", "tsan"):
        environment["KPROF_SANITIZER"] = preset
    if preset == "asan":
        environment["ASAN_OPTIONS"] = "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
        # The crash tests preload a library of their own.
        environment["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
        environment["LSAN_OPTIONS"] = f"suppressions={TESTS}/lsan.supp:print_suppressions=0"
    if preset == "tsan":
        environment["TSAN_OPTIONS"] = (
            f"suppressions={TESTS}/tsan.supp:ignore_noninstrumented_modules=1:second_deadlock_stack=1:history_size=5:"
            "atexit_sleep_ms=50")  # else each kprofctl takes a second to exit
        # GCC 12's runtime does not start where addresses are more random than it knows.
        with open("/proc/sys/vm/mmap_rnd_bits", encoding="ascii") as file:
            too_random = int(file.read()) > 28
        if too_random and shutil.which("setarch"):
            wrapper = ["setarch", "--addr-no-randomize"]
    return Settings(preset, build, environment, wrapper)


def build_preset(preset, jobs):
    """Configures and builds, with its progress on our standard output. True: all is built."""
    command = [os.path.join(ROOT, "deploy", "build"), "-j", str(jobs)]
    command += [preset, *fuzzer_names()] if preset == "fuzz" else ["-DKPROF_TESTS=ON", preset, "all"]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode == 0


def run_all(programs, settings, jobs):
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        running = {pool.submit(run_program, program, settings): program for program in programs}
        for future in concurrent.futures.as_completed(running):
            program = running[future]
            found, seconds = future.result()
            for outcome in found:
                if outcome.seconds == 0 and len(found) == 1:
                    outcome.seconds = seconds
            outcomes += found
            counts = count(found)
            if not found:  # --only left nothing of it
                continue
            mark = "FAIL" if counts["failed"] else "ok  "
            print(f"{mark} {program.name}: {summary(counts)} ({seconds:.1f} s)", flush=True)
    return outcomes


def count(outcomes):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for outcome in outcomes:
        counts[outcome.result] += 1
    return counts


def summary(counts):
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


def is_long(outcome):
    """Whether it did not run because it takes --long."""
    return outcome.result == "skipped" and outcome.text.strip().startswith(LONG_REASON)


def print_left_out(outcomes, programs):
    """What --long runs besides, so that nobody thinks that it ran."""
    left_out = [f"{o.name}: {o.text.strip().removeprefix(LONG_REASON)}" for o in outcomes if is_long(o)]
    left_out += [f"{program.name}: {what}" for program in programs for what in program.left_out]
    if left_out:
        print("\nDid not run, as it is long; tests/run --long runs it:")
        for line in left_out:
            print(f"  {line}")


def print_report(outcomes):
    slowest = sorted((o for o in outcomes if o.seconds >= 0.5), key=lambda o: -o.seconds)[:10]
    if slowest:
        print("\nSlowest:")
        for outcome in slowest:
            print(f"  {outcome.seconds:7.1f} s  {outcome.name}")
    skipped = [o for o in outcomes if o.result == "skipped" and not is_long(o)]
    if skipped:
        print("\nSkipped:")
        for outcome in skipped:
            print(f"  {outcome.name}: {outcome.text.strip() or 'no reason given'}")
    failed = [o for o in outcomes if o.result == "failed"]
    for outcome in failed:
        print(f"\nFAILED {outcome.name}")
        for line in outcome.text.rstrip().splitlines():
            rest = f" [{len(line)} characters]" if len(line) > LINE_CHARACTERS_SHOWN else ""
            print(f"    {line[:LINE_CHARACTERS_SHOWN]}{rest}")
    if len(failed) > 1:
        print("\nFailed, as told above:")
        for outcome in failed:
            print(f"  {outcome.name}")


def seconds_argument(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="tests/run", description="Builds everything and runs all tests.",
        epilog="The last line is `N passed, N failed, N skipped`; exit code 0 when none failed and at least one ran.")
    parser.add_argument("--long", action="store_true", help="also what takes minutes or needs a quiet machine")
    parser.add_argument("--asan", action="store_true", help="under the address and leak sanitizers, instead of release")
    parser.add_argument("--tsan", action="store_true", help="under the thread sanitizer, instead of release")
    parser.add_argument("--fuzz", type=seconds_argument, metavar="SECONDS", help="run each fuzzer that long, nothing else")
    parser.add_argument("--only", metavar="REGEX", help="tests whose name (as printed, program:test) matches")
    parser.add_argument("--build-dir", metavar="DIR", help="test what is built there, as it is; build nothing")
    parser.add_argument("-j", "--jobs", type=seconds_argument, default=min(os.cpu_count() or 1, 2), metavar="N",
                        help="programs at a time, and compilers (default: the cores, at most 2)")
    parser.add_argument("--run-python", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--report", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if sum((arguments.asan, arguments.tsan, arguments.fuzz is not None)) > 1:
        parser.error("--asan, --tsan and --fuzz are separate builds: one at a time")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.run_python:
        return run_python_suite(arguments.run_python, arguments.report, arguments.only)
    preset = "asan" if arguments.asan else "tsan" if arguments.tsan else "fuzz" if arguments.fuzz else "release"
    settings = settings_of(preset, arguments.build_dir, arguments.long)
    only = re.compile(arguments.only) if arguments.only else None

    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # what we block, the programs would
    outcomes, programs = [], []
    began = time.monotonic()
    if not arguments.build_dir and not (preset == "fuzz" and not fuzzer_names()):
        if build_preset(preset, arguments.jobs):
            print(f"built in {time.monotonic() - began:.0f} s", flush=True)
        else:
            outcomes.append(Outcome(f"build of preset {preset}", "failed", 0, f"see above, and build/{preset}.log"))
    if not outcomes:
        # A sanitizer makes a program up to ten times slower, and two of them share the machine.
        limit_s = (3600 if arguments.long else 600) * (3 if preset in ("asan", "tsan") else 1)
        if preset == "fuzz":
            programs = fuzz_programs(settings, only, arguments.fuzz)
        else:
            programs = python_programs(only, limit_s)
            programs += gtest_programs(settings.build, only, limit_s, settings.wrapper, settings.environment)
            programs += replay_programs(settings, only, limit_s)
            if settings.wrapper:
                for program in programs:
                    if program.command[0] == PYTHON:
                        program.command = settings.wrapper + program.command
        outcomes = run_all(programs, settings, arguments.jobs)

    print_report(outcomes)
    counts = count(outcomes)
    print_left_out(outcomes, programs)
    if not outcomes:
        print("\nno test ran")
    print(f"\n{summary(counts)}", flush=True)
    return 0 if counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
