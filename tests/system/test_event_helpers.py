"""What times code for a referee, without a daemon: python3 -m kprof.event on honest and on hostile candidates
(tests/programs/hostile_kernels), and what reaches kprofd's pipe."""

import array
import contextlib
import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import threading
import unittest

import kprof_testing
from kprof_testing import temporary_folder, wait_until

PACKAGE = os.path.join(kprof_testing.ROOT, "client", "python")
KERNELS = os.path.join(kprof_testing.ROOT, "tests", "programs", "hostile_kernels")
sys.path.insert(0, PACKAGE)

from kprof import event_channel, event_check, event_times, event_values  # noqa: E402
from kprof.event_times import Call, Sample  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

NEEDS_NUMPY = unittest.skipIf(numpy is None, "needs python3-numpy")
CASE = "n=500,rounds=40"
SAMPLES = 40
# A reason that a busy machine gives to any candidate.
OF_THE_MACHINE = {"overhead_dominates"}
NAMESPACES = subprocess.run(["unshare", "-Upmfr", "--mount-proc", "true"], stderr=subprocess.DEVNULL).returncode == 0
# A node that gives no namespaces: none may be made below this one.
NO_NAMESPACES = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


class Outcome:
    """Of a referee: how it ended, what it printed, and the lines that kprofd got, of each kind."""

    def __init__(self, code, output, errors, lines):
        self.code, self.output, self.errors, self.lines = code, output, errors, lines
        self.samples = [line for line in lines if "ns" in line]
        self.notes = {line["note"]: line["message"] for line in lines if "note" in line}
        self.checks = [line for line in lines if "check" in line]

    def reasons(self):
        """Without those that a busy machine may give to anybody."""
        return set(self.notes) - OF_THE_MACHINE - {"uneven_calls"}

    def __repr__(self):
        return f"<{self.code}, {len(self.samples)} samples, {self.notes}, {self.checks}>\n{self.output}\n{self.errors}"


class Pipe:
    """kprofd's end of $KPROF_EVENT, for the time of a block."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "event")
        os.mkfifo(self.path)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)  # it is never without a reader, nor at its end
        self._data = b""
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def _read(self):
        is_last = False
        while not is_last:
            is_last = self._is_over.is_set()
            select.select([self._descriptor], [], [], 0 if is_last else 0.05)
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._data += os.read(self._descriptor, 1 << 16)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        os.close(self._descriptor)
        os.unlink(self.path)

    def lines(self):
        return [json.loads(line) for line in self._data.splitlines()]


class EventTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(temporary_folder())

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def referee(self, *words, samples=SAMPLES, wrapper=(), cwd=None, channel=True, **variables):
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": PACKAGE, "HOME": self.folder, "LC_ALL": "C.UTF-8", **variables}
        command = [*wrapper, sys.executable, "-m", "kprof.event", *words]
        with Pipe(self.folder) as pipe:
            if channel:
                environment.update(KPROF_EVENT=pipe.path, KPROF_EVENT_SAMPLES=str(samples), KPROF_EVENT_SEED="17",
                                   KPROF_METRICS="/nonexistent")
            ran = subprocess.run(command, env=environment, cwd=cwd or self.folder, capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=10 * kprof_testing.LIMIT_S, check=False)
        return Outcome(ran.returncode, ran.stdout, ran.stderr, pipe.lines())

    def judge(self, name, *words, **rest):
        """What the referee says of one of tests/programs/hostile_kernels."""
        file, _, function = name.partition(":")
        candidate = os.path.join(KERNELS, file + ".py") + (":" + function if function else "")
        return self.referee(candidate, "--task", os.path.join(KERNELS, "task.py"), *words, **rest)

    def is_right(self, outcome):
        """All samples, all checked, and no reason but the machine's."""
        self.assertEqual((outcome.code, outcome.reasons(), len(outcome.samples)), (0, set(), SAMPLES), outcome)
        self.assertEqual([check["check"] for check in outcome.checks], ["passed"], outcome)
        self.assertNotIn("FOUND", outcome.errors)
        self.assertNotIn("HIT", outcome.errors)


class CandidateTest(EventTest):
    """In namespaces of its own, where this node has them."""

    def test_an_honest_candidate_is_timed(self):
        outcome = self.judge("honest")
        self.is_right(outcome)
        for sample in outcome.samples:
            self.assertEqual((sample["case"], sample["flops"]), (CASE, 40_000.0))
            self.assertGreaterEqual(sample["wall_ns"], sample["ns"] / 2)
        self.assertGreater(statistics.median(sample["ns"] for sample in outcome.samples), 200_000)
        self.assertGreaterEqual(outcome.checks[0]["checked"], SAMPLES)
        self.assertIn(CASE, outcome.output)

    def test_a_noisy_candidate_is_timed(self):
        self.is_right(self.judge("noisy"))

    def test_wrong_outputs_fail_the_check(self):
        wrong = "values differ (make_inputs with seed"
        for name, message in {
                "wrong": wrong, "replay_first": wrong, "batch_and_skip": wrong, "spoiled_inputs": wrong, "wrong_later": wrong,
                "nan_outputs": "outputs[0] is nan", "late_thread": wrong, "lower_precision": "500 numbers of type f, 500 of d",
                "early_exit": "nothing was written"}.items():
            with self.subTest(name):
                outcome = self.judge(name)
                self.assertEqual(outcome.code, 3, outcome)
                [check] = outcome.checks
                self.assertEqual((check["check"], check["case"]), ("failed", CASE))
                self.assertIn(message, check["message"])
                self.assertIn("wrong outputs: ", outcome.output)
                self.assertLess(len(outcome.samples), SAMPLES)

    def test_an_answer_before_the_outputs_gains_nothing(self):
        outcome = self.judge("early_answer")
        if outcome.code == 0:  # the referee had to wait for a CPU, and found outputs: the clock ran until then
            self.assertEqual(outcome.reasons(), {"timing_disputed"}, outcome)
            self.assertGreater(statistics.median(sample["ns"] for sample in outcome.samples), 200_000)
        else:
            self.assertEqual(outcome.code, 3, outcome)
            self.assertIn("nothing was written", outcome.checks[0]["message"])

    def test_a_forged_time_is_disputed_and_does_not_count(self):
        for name in ("patched_clock", "forged_claim", "work_before", "work_after"):
            with self.subTest(name):
                outcome = self.judge(name)
                self.assertEqual((outcome.code, outcome.reasons(), len(outcome.samples)), (0, {"timing_disputed"}, SAMPLES), outcome)
                self.assertIn("the candidate's process says", outcome.notes["timing_disputed"])
                self.assertGreater(statistics.median(sample["ns"] for sample in outcome.samples), 200_000)

    def test_work_in_calls_that_do_not_count_is_seen(self):
        outcome = self.judge("uneven_calls")
        self.assertEqual((outcome.code, outcome.reasons()), (0, set()), outcome)
        self.assertIn("uneven_calls", outcome.notes)

    def test_a_lazy_object_is_no_output(self):
        outcome = self.judge("lazy_outputs")
        self.assertEqual((outcome.code, outcome.samples, outcome.checks), (1, [], []), outcome)
        self.assertIn("a value of type candidate.Lazy", outcome.notes["candidate_failed"])

    def test_nonsense_is_refused(self):
        for kind, code, message in (
                ("much", 1, "are expected"), ("short", 1, "not asked"), ("strange", 1, "not asked"), ("long", 1, "not asked"),
                ("nothing", 3, "nothing was written"), ("noise", 3, "nothing was written"), ("endless", 3, "a length of"),
                ("deep", 3, "levels"), ("many", 3, "a length of"), ("huge_array", 3, "a length of"), ("odd_type", 3, "no"),
                ("objects", 3, "no")):
            with self.subTest(kind):
                outcome = self.judge("garbage_answers:" + kind, samples=2)
                self.assertEqual((outcome.code, outcome.samples), (code, []), outcome)
                said = outcome.notes.get("candidate_failed") or outcome.checks[0]["message"]
                self.assertIn(message, said)
                self.assertNotIn("Traceback", outcome.errors)

    def test_what_gains_nothing_is_timed_as_it_is(self):
        for name in ("replay_by_content", "sleeping_warm_up", "shrunk_region"):
            with self.subTest(name):
                self.is_right(self.judge(name))

    def test_lines_written_to_guessed_descriptors_do_not_arrive(self):
        outcome = self.judge("guessed_descriptors")
        self.assertEqual((outcome.code, outcome.samples), (1, []), outcome)  # some reached the referee, as an answer that is none
        self.assertIn("not asked", outcome.notes["candidate_failed"])
        self.assertNotIn("FOUND", outcome.errors)

    def test_the_referee_cannot_be_looked_into(self):
        for name in ("read_secrets", "traced_referee"):
            with self.subTest(name):
                self.is_right(self.judge(name))

    def test_nothing_outlives_a_candidate(self):
        shutil.copytree(KERNELS, self.path("kernels"))  # a folder that it may write to
        candidate = self.path("kernels/disk_cache.py")
        words = (candidate, "--task", self.path("kernels/task.py"))
        for _ in range(2):
            outcome = self.referee(*words)
            self.assertNotIn("HIT", outcome.errors)
            if NAMESPACES:
                self.is_right(outcome)
                self.assertFalse(os.path.exists(self.path("kernels/kprof_hostile_outputs")))

    def test_processes_do_not_stay(self):
        outcome = self.judge("left_behind")
        self.assertEqual(outcome.code, 0, outcome)
        wait_until(lambda: not kprof_testing.processes_with("left_behind.py"), "processes to be gone")


@unittest.skipUnless(NAMESPACES, "needs user namespaces")
class WithoutNamespacesTest(EventTest):
    """On a node that gives none, and says so."""

    def judge(self, name, *words, **rest):
        return super().judge(name, *words, wrapper=NO_NAMESPACES, **rest)

    def is_right(self, outcome):
        self.assertIn("could not be shut in: namespaces of its own: ", outcome.notes.pop("not_isolated", ""), outcome)
        super().is_right(outcome)

    def test_the_reason_is_in_the_notes(self):
        self.is_right(self.judge("honest"))

    def test_the_referee_cannot_be_looked_into_either(self):
        for name in ("read_secrets", "traced_referee"):
            with self.subTest(name):
                self.is_right(self.judge(name))

    def test_what_is_forged_is_found(self):
        self.assertEqual(self.judge("patched_clock").reasons(), {"timing_disputed", "not_isolated"})
        self.assertEqual(self.judge("batch_and_skip").code, 3)
        self.assertEqual(self.judge("guessed_descriptors").samples, [])

    def test_outputs_kept_on_disk_are_wrong_the_next_time(self):
        shutil.copytree(KERNELS, self.path("kernels"))
        words = (self.path("kernels/disk_cache.py"), "--task", self.path("kernels/task.py"))
        outcomes = [self.referee(*words, wrapper=NO_NAMESPACES, TMPDIR=self.folder) for _ in range(2)]
        with contextlib.suppress(FileNotFoundError):
            os.unlink("/dev/shm/kprof_hostile_outputs")
        self.assertEqual(outcomes[1].code, 3, outcomes[1])
        self.assertIn("HIT", outcomes[1].errors)

    def test_processes_do_not_stay(self):
        outcome = self.judge("left_behind")
        self.assertEqual((outcome.code, outcome.reasons()), (0, {"processes_left", "not_isolated"}), outcome)
        wait_until(lambda: not kprof_testing.processes_with("left_behind.py"), "processes to be gone")


class RefereeTest(EventTest):
    """The referee's own part."""

    TASK = """
import array
def make_inputs(case, seed):
    return (array.array("q", [seed, 1, 2]),)
def reference(numbers):
    return sum(numbers)
"""

    def test_without_kprofd_there_is_a_table(self):
        outcome = self.judge("honest", "--samples", "5", channel=False)
        self.assertEqual((outcome.code, outcome.lines), (0, []), outcome)
        self.assertRegex(outcome.output, rf"(?m)^{CASE} +5 ")
        self.assertIn("outputs checked, all right", outcome.output)

    def test_without_a_task_nothing_is_checked(self):
        kernel = self.path("kernel.py", "cases = {'a': (3,), 'b': 4}\ndef twice(x):\n    return 2 * x\n")
        outcome = self.referee(kernel + ":twice", samples=3)
        self.assertEqual((outcome.code, outcome.reasons(), outcome.checks), (0, {"not_checked"}, []), outcome)
        self.assertEqual([sample["case"] for sample in outcome.samples], ["a"] * 3 + ["b"] * 3)
        outcome = self.referee(self.path("plain.py", "def kernel():\n    pass\n"), samples=2)
        self.assertEqual((outcome.code, [set(sample) for sample in outcome.samples]), (0, [{"ns", "wall_ns"}] * 2), outcome)

    def test_several_calls_are_one_sample(self):
        outcome = self.judge("honest", "--calls", "5", "--tries", "2", "--warmup", "1", samples=8)
        self.assertEqual((outcome.code, len(outcome.samples)), (0, 8), outcome)
        self.assertEqual(outcome.checks[0]["checked"], 5 * (2 * 8 + 1))

    def test_inputs_that_come_again_are_a_reason(self):
        task = self.path("task.py", self.TASK.replace("[seed, 1, 2]", "[1, 2, 3]"))
        kernel = self.path("kernel.py", "def kernel(numbers):\n    return sum(numbers)\n")
        outcome = self.referee(kernel, "--task", task, samples=3)
        self.assertEqual((outcome.code, outcome.reasons()), (0, {"inputs_repeat"}), outcome)

    def test_a_checker_decides_with_true_alone(self):
        kernel = self.path("kernel.py", "def kernel(numbers):\n    return sum(numbers)\n")
        for body, code, message in (("return outputs == sum(inputs[0])", 0, ""), ("return None", 3, "check() said None"),
                                    ("return 'too large'", 3, "too large"), ("return outputs.shape", 3, "check() failed on them")):
            with self.subTest(body):
                task = self.path("task.py", self.TASK.replace("reference(numbers)", "check(case, inputs, outputs)").replace(
                    "return sum(numbers)", body))
                outcome = self.referee(kernel, "--task", task, samples=3)
                self.assertEqual(outcome.code, code, outcome)
                self.assertIn(message, outcome.checks[0].get("message", ""), outcome)

    def test_failures_keep_their_kind(self):
        task = self.path("task.py", self.TASK)
        for text, message in (
                ("import no_such_module\n", "cannot be loaded: ModuleNotFoundError"), ("def other(): pass\n", "has no function kernel"),
                ("raise SystemExit(0)\n", "cannot be loaded: SystemExit"), ("def kernel(x):\n    return 1 // 0\n", "ZeroDivisionError"),
                ("import os\ndef kernel(x):\n    os.abort()\n", "its process ended by signal"),
                ("import os\nos._exit(3)\n", "its process ended with exit code 3"),
                ("import time\ndef kernel(x):\n    time.sleep(600)\n", "no answer within 2.0 s"),
                ("def kernel(x):\n    return (one for one in x)\n", "a value of type builtins.generator"),
                ("def kernel(x):\n    return bytes(10_000_000)\n", "of which at most")):
            with self.subTest(message):
                outcome = self.referee(self.path("kernel.py", text), "--task", task, "--timeout", "2", samples=2)
                self.assertEqual((outcome.code, outcome.samples, outcome.checks), (1, [], []), outcome)
                self.assertIn(message, outcome.notes["candidate_failed"])

    def test_what_a_candidate_says_is_cut_and_does_no_harm_to_a_terminal(self):
        task = self.path("task.py", self.TASK)
        outcome = self.referee(self.path("kernel.py", "def kernel(x):\n    raise ValueError('\\x1b[2J' + '\U0001f600' * 5000)\n"), "--task", task)
        self.assertIn("ValueError: \x1b[2J\U0001f600", outcome.notes["candidate_failed"])
        self.assertIn("ValueError: \\x1b[2J", outcome.output)
        self.assertNotIn("\x1b", outcome.output)
        outcome = self.referee(self.path("kernel.py", "def kernel(x):\n    return '\\x01' * 5000\n"), "--task", self.path(
            "strict.py", self.TASK.replace("reference(numbers)", "check(case, inputs, outputs)").replace("sum(numbers)", "outputs")))
        self.assertEqual((outcome.code, outcome.checks[0]["check"]), (3, "failed"), outcome)
        self.assertIn("\x01" * 100, outcome.checks[0]["message"])

    def test_cases_of_a_candidate_may_be_anything(self):
        for cases in ("{1: 2}", "{'a': {}}", "{'a' * 300: 1}", "{'': 1}"):
            with self.subTest(cases):
                outcome = self.referee(self.path("kernel.py", f"cases = {cases}\ndef kernel(*x):\n    pass\n"), samples=2)
                self.assertIn(outcome.code, (1, 2), outcome)
                self.assertEqual(outcome.samples, [])
                self.assertNotIn("Traceback", outcome.errors)

    def test_checks_and_notes_arrive_behind_any_number_of_samples(self):
        channel = event_channel.Channel(os.open(self.path("lines", ""), os.O_WRONLY), 1, "")
        for _ in range(60_000):
            channel.sample("x" * 40, 1.5)
        channel.note("dropped", str(channel.dropped))
        channel.check_failed("wrong", "x")
        channel.close()
        with open(self.path("lines"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertLess(os.path.getsize(self.path("lines")), event_channel.MOST_BYTES)
        self.assertEqual((lines[-1]["check"], int(lines[-2]["message"]) + len(lines) - 2), ("failed", 60_000))

    def test_wrong_questions_are_refused(self):
        kernel = self.path("kernel.py", "def kernel(x):\n    return x\n")
        for words, message in (([self.path("none.py")], "there is no file"),
                               ([kernel, "--task", self.path("a.py", "x = 1\n")], "has no make_inputs"),
                               ([kernel, "--task", self.path("b.py", "def make_inputs(c, s): pass\n")], "neither reference"),
                               ([kernel, "--task", self.path("c.py", "1/0\n")], "ZeroDivisionError"),
                               ([kernel, "--task", self.path("d.py", self.TASK), "--case", "x"], "there is no case x"),
                               ([kernel, "--calls", "0"], "1 or more")):
            with self.subTest(message):
                outcome = self.referee(*words)
                self.assertEqual((outcome.code, outcome.lines), (2, []), outcome)
                self.assertIn(message, outcome.errors)
                self.assertNotIn("Traceback", outcome.errors)

    def test_the_candidates_folder_has_no_libraries_for_the_referee(self):
        work = self.path("work")
        os.mkdir(work)
        for name in ("json", "statistics", "hashlib", "random", "numpy", "array", "argparse"):
            self.path(f"work/{name}.py", "import sys\nsys.stderr.write('FOUND my library\\n')\n")
        for name in ("honest.py", "task.py"):
            shutil.copy(os.path.join(KERNELS, name), work)
        self.is_right(self.referee("honest.py", "--task", "task.py", cwd=work))

    def test_a_file_that_changes_is_a_reason(self):
        task = self.path("task.py", self.TASK.replace("return sum", "open(__file__, 'a').write('\\n')\n    return sum"))
        kernel = self.path("kernel.py", "def kernel(numbers):\n    return sum(numbers)\n")
        self.assertEqual(self.referee(kernel, "--task", task, samples=2).reasons(), {"files_changed"})

    @NEEDS_NUMPY
    def test_arrays_of_numpy(self):
        task = self.path("task.py", """
import numpy as np
cases = {"4x4": 4, "256x256": 256}
tolerance = {"rtol": 1e-5, "atol": 1e-6}
def make_inputs(n, seed):
    make = np.random.default_rng(seed)
    return make.random((n, n), dtype=np.float32), make.random((n, n), dtype=np.float32), 0.5
def reference(a, b, scale):
    return a @ b * np.float32(scale), a.sum(dtype=np.float64)
def bytes(n):
    return 12 * n * n
""")
        right = "import numpy as np\ndef kernel(a, b, scale):\n    a *= np.float32(scale)\n    return a @ b, {}\n"
        outcome = self.referee(self.path("kernel.py", right.format("a.sum(dtype=np.float64) / scale")), "--task", task, samples=5)
        self.assertEqual((outcome.code, outcome.reasons(), len(outcome.samples)), (0, set(), 10), outcome)
        self.assertEqual(outcome.samples[9]["bytes"], 12 * 256 * 256)
        outcome = self.referee(self.path("kernel.py", right.format("np.float32(a.sum() / scale)")), "--task", task, samples=5)
        self.assertIn("outputs[1] is of type float32, float64 is expected", outcome.checks[0]["message"])
        lazy = "import numpy as np\nclass Lazy(np.ndarray): pass\ndef kernel(a, b, scale):\n    return (a @ b).view(Lazy), 1.0\n"
        outcome = self.referee(self.path("kernel.py", lazy), "--task", task, samples=5)
        self.assertIn("a value of type candidate.Lazy", outcome.notes["candidate_failed"])


STAND_IN = os.path.join(kprof_testing.ROOT, "tests", "stand_ins", "cudart", "cudart.cc")
PROGRAM = os.path.join(kprof_testing.ROOT, "tests", "programs", "time_itself.cc")
COMPILERS = [compiler for compiler in ("g++", "clang++") if shutil.which(compiler)]
COLD_SAMPLE = ["DeviceSetLimit 6", "CtxResetPersistingL2Cache", "MemsetAsync 6291456", "DeviceSynchronize", "EventRecord", "launch",
               "EventRecord", "EventSynchronize", "DeviceSynchronize"]
KERNEL_NS = 2_000_000  # of all kernels here


def compile_cpp(*words):
    done = subprocess.run([*words, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", kprof_testing.ROOT, "-pthread", "-ldl"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)


class OnCudaTest(EventTest):
    """With the stand-in of libcudart: a device whose kernels are sleeps."""

    @classmethod
    def setUpClass(cls):
        if not COMPILERS:
            raise unittest.SkipTest("needs a C++ compiler")
        cls.library = os.path.join(cls.enterClassContext(temporary_folder()), "libcudart_stand_in.so")
        compile_cpp(COMPILERS[0], "-std=c++20", "-shared", "-fPIC", "-o", cls.library, STAND_IN)


class PythonOnCudaTest(OnCudaTest):
    KERNEL = """
import ctypes, os
launch = ctypes.CDLL(os.environ["KPROF_CUDART_LIBRARY"]).stand_in_launch
launch.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
def kernel(numbers):
    launch(None, 2_000_000, 1)
    return sum(numbers)
def streams(numbers):
    launch(8, 6_000_000, 0)
    return kernel(numbers)
"""

    def time(self, function, clock, *words, samples=5, **variables):
        return self.referee(self.path("gpu.py", self.KERNEL) + ":" + function, "--task", self.path("task.py", RefereeTest.TASK), "--clock",
                            clock, *words, samples=samples, KPROF_CUDART_LIBRARY=self.library, **variables)

    def test_cold_calls_have_an_empty_cache(self):
        outcome = self.time("kernel", "cuda-cold", "--tries", "1", "--warmup", "0", samples=3, KPROF_CUDART_CALLS="/dev/stderr")
        self.assertEqual((outcome.code, outcome.reasons(), len(outcome.samples)), (0, set(), 3), outcome)
        calls = outcome.errors.splitlines()
        self.assertEqual([calls.count("launch"), calls.count("Malloc 6291456")], [3, 2])  # a buffer also for empty calls
        first = calls.index("launch") - COLD_SAMPLE.index("launch")
        self.assertEqual(calls[first:first + 3 * len(COLD_SAMPLE)], 3 * COLD_SAMPLE)
        for sample in outcome.samples:
            self.assertEqual((sample["cache"], sample["stream_count"]), ("cold", 1))
            self.assertGreater(sample["ns"], KERNEL_NS)
            self.assertGreater(sample["wall_ns"], sample["ns"])

    def test_hot_calls_have_it_as_it_is(self):
        outcome = self.time("kernel", "cuda-hot", KPROF_CUDART_CALLS="/dev/stderr")
        self.assertEqual((outcome.code, outcome.reasons(), [sample["cache"] for sample in outcome.samples]), (0, set(), ["hot"] * 5))
        self.assertNotIn("Memset", outcome.errors)

    def test_work_on_other_streams_counts_and_is_a_reason(self):
        outcome = self.time("streams", "cuda-hot")
        self.assertEqual((outcome.code, outcome.reasons()), (0, {"several_streams"}), outcome)
        self.assertGreater(statistics.median(sample["ns"] for sample in outcome.samples), 2.5 * KERNEL_NS)
        self.assertEqual({sample["stream_count"] for sample in outcome.samples}, {2})

    def test_devices_without_persisting_lines_do(self):
        self.assertEqual(self.time("kernel", "cuda-cold", samples=2, KPROF_CUDART_STAND_IN="no_persisting").code, 0)

    def test_without_a_device_it_says_so(self):
        outcome = self.time("kernel", "cuda-cold", KPROF_CUDART_STAND_IN="no_device")
        self.assertEqual((outcome.code, outcome.lines), (2, []), outcome)
        self.assertIn("no CUDA-capable device is detected", outcome.errors)

    def test_a_time_that_is_forged_is_disputed(self):
        self.KERNEL += """
from kprof import event_device
value_of = event_device.Cudart.value_of
event_device.Cudart.value_of = lambda self, kind, name, *more: 0.001 if name == "EventElapsedTime" else value_of(self, kind, name, *more)
"""
        self.assertEqual(self.time("kernel", "cuda-hot", samples=20).reasons(), {"timing_disputed"})


class OnNeuronTest(EventTest):
    def test_the_runtimes_own_time_is_taken(self):
        wrapped = """
class Latency:
    def get_latency_percentile(self, percentile):
        return {50: 12.5}[percentile]
class Wrapped:
    benchmark_result = None
    def __call__(self, numbers):
        self.benchmark_result = self
        self.nc_latency = Latency()
        return sum(numbers)
kernel = Wrapped()
"""
        task = self.path("task.py", RefereeTest.TASK)
        outcome = self.referee(self.path("kernel.py", wrapped), "--task", task, "--clock", "neuron", samples=3)
        self.assertEqual((outcome.code, outcome.reasons(), [sample["ns"] for sample in outcome.samples]), (0, {"unwitnessed"}, [12_500.0] * 3))
        plain = self.path("kernel.py", "def kernel(numbers):\n    return sum(numbers)\n")
        outcome = self.referee(plain, "--task", task, "--clock", "neuron", samples=3)
        self.assertEqual((outcome.code, outcome.reasons()), (0, {"compiler_timed"}), outcome)


class CppTest(OnCudaTest):
    """client/event/kprof_event.h, in tests/programs/time_itself.cc."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = [os.path.join(os.path.dirname(cls.library), "time_itself_" + compiler) for compiler in COMPILERS]
        for compiler, program in zip(COMPILERS, cls.programs):
            compile_cpp(compiler, "-std=c++17", "-O1", "-o", program, PROGRAM)

    def time(self, how, program=0, channel=True, samples=5, **variables):
        environment = {"PATH": "/usr/bin:/bin", "KPROF_CUDART_LIBRARY": self.library, **variables}
        with Pipe(self.folder) as pipe:
            if channel:
                environment.update(KPROF_EVENT=pipe.path, KPROF_EVENT_SAMPLES=str(samples))
            ran = subprocess.run([self.programs[program], how], env=environment, capture_output=True, text=True, check=False,
                                 timeout=kprof_testing.LIMIT_S)
        return Outcome(ran.returncode, ran.stdout, ran.stderr, pipe.lines())

    def test_by_the_hosts_clock(self):
        for program in range(len(self.programs)):
            outcome = self.time("host", program)
            self.assertEqual((outcome.code, len(outcome.samples), outcome.notes, outcome.output), (0, 5, {}, ""), outcome)
            for sample in outcome.samples:
                self.assertGreater(sample.pop("ns"), 1000)
                self.assertEqual(sample, {"case": 'a "case"\n', "flops": 1e6, "bytes": 4096})
            self.assertEqual(outcome.checks, [{"check": "passed", "checked": 1}])

    def test_wrong_outputs(self):
        [check] = self.time("wrong").checks
        self.assertEqual(check, {"check": "failed", "message": "the sum is wrong", "case": 'a "case"\n'})

    def test_without_kprofd_there_is_a_line(self):
        outcome = self.time("host", channel=False)
        self.assertEqual((outcome.code, outcome.lines), (0, []), outcome)
        self.assertIn(": 100 samples, median ", outcome.output)

    def test_by_cuda_events(self):
        for how, cache in (("cold", "cold"), ("hot", "hot"), ("waits", "cold")):
            with self.subTest(how):
                outcome = self.time(how, len(self.programs) - 1)
                self.assertEqual((outcome.code, outcome.notes, [sample["cache"] for sample in outcome.samples]), (0, {}, [cache] * 5), outcome)
                for sample in outcome.samples:
                    self.assertGreater(sample["ns"], KERNEL_NS)
                    self.assertGreater(sample["wall_ns"], sample["ns"])
                    self.assertEqual(sample["stream_count"], 1)

    def test_a_gate_holds_the_stream_unless_the_code_waits_for_it(self):
        log = self.path("calls")
        self.time("cold", samples=2, KPROF_CUDART_CALLS=log)
        with open(log, encoding="utf-8") as file:
            calls = file.read().split("\n")
        gated = [*COLD_SAMPLE[:4], "LaunchHostFunc", *COLD_SAMPLE[4:]]
        first = calls.index("DeviceSetLimit 6")
        self.assertEqual(calls[first:first + 5 * len(gated)], 5 * gated)  # three calls before
        os.unlink(log)
        self.assertEqual(len(self.time("waits", samples=2, KPROF_CUDART_CALLS=log).samples), 2)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read().count("LaunchHostFunc"), 1)

    def test_work_on_other_streams_counts_and_is_a_reason(self):
        outcome = self.time("streams")
        self.assertEqual((outcome.code, set(outcome.notes)), (0, {"several_streams"}), outcome)
        self.assertGreater(statistics.median(sample["ns"] for sample in outcome.samples), 1.5 * KERNEL_NS)

    def test_without_a_device_it_says_so(self):
        outcome = self.time("cold", KPROF_CUDART_STAND_IN="no_device")
        self.assertEqual((outcome.code, outcome.lines), (1, []), outcome)
        self.assertIn("cudaGetDevice failed with code 100", outcome.errors)
        self.assertIn("cannot open", self.time("cold", KPROF_CUDART_LIBRARY="/nonexistent").errors)


class TimesTest(unittest.TestCase):
    """What a sample took, of numbers that are known."""

    def samples(self, wall_ns, claim_ns, count=20):
        return [Sample.of([Call(wall_ns, claim_ns, 0)])] * count

    def test_the_witness_counts_and_not_the_claim(self):
        self.assertEqual(event_times.ns_of(Call(1_050_000, 10, 0), 50_000, 1), 1_000_000)
        self.assertEqual(event_times.ns_of(Call(1_050_000, 1_020_000, 0), 50_000, 1), 1_020_000)  # the larger one
        self.assertEqual(event_times.ns_of(Call(1_050_000, 9_000_000, 0), 50_000, 1), 1_000_000)  # of more than passed
        self.assertEqual(event_times.ns_of(Call(49_000, 10, 0), 50_000, 700), 700)  # no less than can be told

    def test_the_shortest_call_counts_and_others_are_seen(self):
        sample = Sample.of([Call(9_000, 1, 900), Call(5_000, 2_000, 300), Call(7_000, 1, 300)])
        self.assertEqual((sample.best, sample.mean_cpu_ns), (Call(5_000, 2_000, 300), 500))
        self.assertIn("300 ns of CPU time, all calls 500 ns", event_times.unevenness_of([sample] * 20, 50))
        for samples, overhead_ns in ((self.samples(1, 1), 50), ([sample] * 20, 200), ([sample] * 5, 50)):
            self.assertEqual(event_times.unevenness_of(samples, overhead_ns), "")

    def test_empty_calls_that_a_candidate_slows_down_do_not_help_it(self):
        quick, slowed = self.samples(50_000, 0), self.samples(5_000_000, 0)
        self.assertEqual(event_times.overhead_of(quick, slowed)[0], 50_000)
        self.assertEqual(event_times.overhead_of(quick, [])[0], 50_000)
        self.assertEqual(event_times.overhead_of(slowed, quick)[0], 50_000)

    def test_claims_are_disputed_when_nine_of_ten_fall_short(self):
        self.assertEqual(event_times.dispute_of(self.samples(1_050_000, 800_000), 50_000), "")
        self.assertIn("says 10000 ns", event_times.dispute_of(self.samples(1_050_000, 10_000), 50_000))
        for delayed, is_disputed in ((17, False), (19, True)):
            mixed = self.samples(1_050_000, 990_000, count=20 - delayed) + self.samples(9_000_000, 990_000, count=delayed)
            self.assertEqual(event_times.dispute_of(mixed, 50_000) != "", is_disputed)
        self.assertIn("longer than", event_times.dispute_of(self.samples(1_050_000, 1_050_001, count=1), 50_000))


class ValuesTest(unittest.TestCase):
    VALUES = [None, True, False, 0, -1, 1 << 63, -(1 << 200), 0.5, float("inf"), "", "tékst\0", b"", b"bytes", array.array("d", [1.5, 2.5]),
              array.array("b"), (), [], (1, [2, (3.0, "x")], None)]

    def test_what_was_sent_comes(self):
        for value in self.VALUES:
            with self.subTest(value=value):
                got, end = event_values.decode(event_values.encode(value))
                self.assertEqual((type(got), got), (type(value), value))
                self.assertEqual(end % 64, 0)
        numbers = memoryview(array.array("i", [1, 2, 3]))
        self.assertEqual(event_values.decode(event_values.encode(numbers))[0].tolist(), [1, 2, 3])
        encoded = event_values.encode(self.VALUES) + event_values.encode("next")
        self.assertEqual(event_values.decode(encoded, event_values.decode(encoded)[1])[0], "next")

    @NEEDS_NUMPY
    def test_arrays_of_numpy_come_without_a_copy(self):
        for value in (numpy.arange(6, dtype="<i4").reshape(2, 3), numpy.zeros((0, 4)), numpy.array(1 + 2j), numpy.ones((3, 2), "?").T):
            with self.subTest(value=value):
                got = event_values.decode(event_values.encode(value))[0]
                numpy.testing.assert_array_equal(got, value)
                self.assertEqual((got.dtype, got.shape), (value.dtype, value.shape))
        self.assertIs(type(event_values.decode(event_values.encode(numpy.float32(2)))[0]), numpy.float32)
        encoded = event_values.encode(numpy.arange(100.0))
        self.assertTrue(numpy.shares_memory(event_values.decode(encoded)[0], numpy.frombuffer(encoded, "u1")))

    def test_what_is_no_value_is_not_sent(self):
        class Lazy(list):
            pass

        for value in ({}, {1}, object(), Lazy(), (one for one in ()), [[[[[[[[[[]]]]]]]]]], range(3), Exception, array.array("u", "a")):
            with self.subTest(value=value), self.assertRaises(event_values.NoValue):
                event_values.encode(value)

    def test_bytes_that_are_cut_or_changed_are_refused_or_another_value(self):
        values = [*self.VALUES, numpy.arange(5.0)] if numpy else self.VALUES
        encoded = event_values.encode(values)
        for length in range(len(encoded) - 64):
            with self.assertRaises(event_values.NoValue):
                event_values.decode(encoded[:length])
        for at in range(len(encoded)):
            for change in (0x01, 0x80, 0xff):
                changed = bytearray(encoded)
                changed[at] ^= change
                with contextlib.suppress(event_values.NoValue):  # and nothing else
                    event_values.decode(changed)


class CompareTest(unittest.TestCase):
    def test_equal_within_the_tolerance(self):
        nan, inf = float("nan"), float("inf")
        tolerance = event_check.tolerance_of({"rtol": 1e-3, "atol": 0})
        for got, expected in ((1.0, 1.0005), (nan, nan), (inf, inf), (5, 5), ("a", "a"), ([1, 2.0], [1, 2.001]),
                              (array.array("d", [1.0, nan]), array.array("d", [1.0005, nan])), (None, None)):
            with self.subTest(got=got):
                self.assertEqual(event_check.difference(got, expected, tolerance), "")

    def test_what_differs_is_named(self):
        nan, inf = float("nan"), float("inf")
        tolerance = event_check.tolerance_of(1e-3)
        for got, expected, message in (
                (1.0, 1.01, "outputs is 1.0, 1.01 is expected"), (nan, 1.0, "outputs is nan"), (1.0, nan, "outputs is 1.0"),
                (inf, -inf, "inf"), (inf, 1e300, "inf"), (1, 1.0, "outputs is of type int, float is expected"), (True, 1, "bool"),
                ((1,), [1], "tuple"), ([1, 2], [1], "2 items, 1 are"), ([1, [2.0]], [1, [3.0]], "outputs[1][0] is 2.0"),
                (array.array("d", [1, 2, 4]), array.array("d", [1, 2, 3]), "outputs[2] is 4.0, 3.0 is expected; 1 of 3 values differ"),
                (array.array("f", [1]), array.array("d", [1]), "type f"), (array.array("q", [1]), array.array("q", [2]), "outputs[0] is 1"),
                (None, 1.0, "NoneType")):
            with self.subTest(got=got, expected=expected):
                self.assertIn(message, event_check.difference(got, expected, tolerance))

    @NEEDS_NUMPY
    def test_arrays(self):
        tolerance = event_check.tolerance_of(None)
        numbers = numpy.arange(6.0).reshape(2, 3)
        self.assertEqual(event_check.difference(numbers * (1 + 1e-9), numbers, tolerance), "")
        for got, message in ((numbers + 1, "outputs[0] is 1.0, 0.0 is expected; 6 of 6"), (numbers.T, "shape (3, 2)"),
                             (numbers.astype("f4"), "float32"), (numpy.full((2, 3), numpy.nan), "nan")):
            with self.subTest(message):
                self.assertIn(message, event_check.difference(got, numbers, tolerance))


if __name__ == "__main__":
    unittest.main()
