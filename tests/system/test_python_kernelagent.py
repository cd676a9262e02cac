"""kprof in the slots of KernelAgent's loop: a registry and a loop of the same shape, with kernels that are fast, slow, wrong, broken and
dishonest. On a processor, in plain Python: what needs torch is skipped or shown to be missing."""

import importlib.util
import inspect
import json
import logging
import math
import multiprocessing
import os
import re
import sys
import unittest

try:
    import grpc  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("needs python3-grpcio") from error

import kprof_testing
import nsight_stand_in
from kprof_testing import DaemonTest

PACKAGE = os.path.join(os.path.dirname(kprof_testing.BIN), "python")
if not os.path.isdir(os.path.join(PACKAGE, "kprof", "v1")):
    raise unittest.SkipTest(f"no package kprof in {PACKAGE}; build kprof_python")
sys.path.insert(0, PACKAGE)

import kprof  # noqa: E402
from kprof import kernelagent  # noqa: E402
from kprof.kernelagent import COMPUTE_SOL, DRAM_SOL, MEMORY_SOL, TENSOR_ACTIVE, KprofRooflineAnalyzer, RooflineConfig  # noqa: E402

PROBLEM = """
import random

class Model:
    def __init__(self, reverse):
        self.reverse = reverse

    def forward(self, values):
        return sorted(values, reverse=self.reverse)

def get_inputs():
    return [[random.random() for _ in range(100)]]

def get_init_inputs():
    return [True]

def get_benchmark_config():
    return {"warmup": 2}
"""
# A sort that takes so many ms.
KERNEL = """
import time

def kernel_function(values, reverse):
    time.sleep({ms} / 1000)
    return sorted(values, reverse=reverse)
"""
# A kernel that says its times itself.
FORGE = """
import __main__

def lie(self, call):
    call()
    return {{"ns": {ns}}}

__main__.Device.time = lie
"""


class Registry:
    """Of the shape of the loop's: factories by slot and name, each given what of the loop's things its signature has."""

    def __init__(self):
        self.factories = {}

    def register(self, component, name, factory):
        self.factories[component, name] = factory

    def create(self, component, name, **things):
        factory = self.factories[component, name]
        parameters = inspect.signature(factory).parameters
        if any(parameter.kind == inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
            return factory(**things)
        return factory(**{key: thing for key, thing in things.items() if key in parameters})


class SlotTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.problem = self.write("problem.py", PROBLEM)
        self.registry = Registry()
        kernelagent.register(self.registry, socket=self.daemon.socket, capture_options={"device": "cpu", "samples": 12}, python=sys.executable)
        silent = logging.Logger("silent")
        silent.addHandler(logging.NullHandler())
        self.things = {"log_dir": self.path("logs"), "logger": silent, "benchmark_lock": multiprocessing.Lock(), "profiling_semaphore": None,
                       "openai_model": "none", "worker_kwargs": {}, "roofline_config": None, "gpu_name": "none", "artifacts_dir": self.path("logs")}
        self.benchmarker = self.registry.create("benchmarker", "kprof", **self.things)


class BenchmarkerTest(SlotTest):
    def test_a_loop_takes_proven_progress_alone(self):
        first = self.benchmarker.benchmark_kernel(KERNEL.format(ms=20), self.problem)
        self.assertGreater(first, 20)
        self.assertIsNone(self.benchmarker.last_error)
        faster = self.benchmarker.benchmark_kernel(KERNEL.format(ms=4), self.problem)
        self.assertLess(faster, first * 0.6, self.benchmarker.last_run.trust)
        self.assertEqual(self.benchmarker.last_run.verdict, "FASTER")
        self.assertAlmostEqual(faster, first * self.benchmarker.last_run.comparison.ratio)
        slower = self.benchmarker.benchmark_kernel(KERNEL.format(ms=30), self.problem)
        self.assertGreater(slower, faster)
        self.assertIsNotNone(self.benchmarker.last_run.comparison)

    def test_the_same_again_is_no_progress(self):
        first = self.benchmarker.benchmark_kernel(KERNEL.format(ms=5), self.problem)
        again = self.benchmarker.benchmark_kernel(KERNEL.format(ms=5) + "# the same", self.problem)
        self.assertNotEqual(self.benchmarker.last_run.verdict, None)
        if self.benchmarker.last_run.verdict in ("SAME", "INCONCLUSIVE"):
            self.assertEqual(again, first)
        self.benchmarker.reset()
        self.benchmarker.benchmark_kernel(KERNEL.format(ms=5), self.problem)
        self.assertIsNone(self.benchmarker.last_run.verdict)

    def test_the_reference_is_measured_the_same_way(self):
        ms = self.benchmarker.benchmark_reference(self.problem)
        self.assertLess(0, ms)
        self.assertLess(ms, math.inf)
        self.assertIn("--problem", self.benchmarker.last_run.command)

    def test_failures_keep_their_kind(self):
        takes_it_all = "import time\ndef kernel_function(values, reverse):\n    time.sleep(600)\n"
        for kind, words, code, options in (
                ("check_failed", "the output[0] is", KERNEL.format(ms=0).replace("reverse=reverse", "reverse=not reverse"), {}),
                ("check_failed", "no list of 100", KERNEL.format(ms=0).replace("sorted(values, reverse=reverse)", "[]"), {}),
                ("kernel_raised", "ZeroDivisionError", "def kernel_function(values, reverse):\n    return 1 / 0\n", {}),
                ("kernel_not_loaded", "SyntaxError", "def kernel_function(:\n", {}),
                ("kernel_not_loaded", "does not define kernel_function", "x = 1\n", {}),
                ("command_failed", "exit code 7", "import os\ndef kernel_function(values, reverse):\n    os._exit(7)\n", {}),
                ("timed_out", "", takes_it_all, {"timeout_s": 1})):
            with self.subTest(kind + " " + words):
                kernelagent.register(self.registry, "one", socket=self.daemon.socket, capture_options={"device": "cpu", "samples": 2, **options})
                benchmarker = self.registry.create("benchmarker", "one", **self.things)
                self.assertEqual(benchmarker.benchmark_kernel(code, self.problem), math.inf)
                self.assertEqual(benchmarker.last_error.kind, kind, benchmarker.last_error)
                self.assertIn(words, benchmarker.last_error.message)
                self.assertEqual(benchmarker.last_run.id, benchmarker.last_error.run_id)

    def test_without_kprofd_it_says_so(self):
        kernelagent.register(self.registry, "none", socket=self.path("none.sock"))
        benchmarker = self.registry.create("benchmarker", "none", **self.things)
        self.assertEqual(benchmarker.benchmark_kernel(KERNEL.format(ms=1), self.problem), math.inf)
        self.assertEqual((benchmarker.last_error.kind, benchmarker.last_error.run_id, benchmarker.last_run), ("no_daemon", "", None))

    @unittest.skipIf(importlib.util.find_spec("torch") is not None, "torch is here")
    def test_without_torch_it_says_so(self):
        self.assertEqual(self.benchmarker.benchmark_kernel("import torch\n" + KERNEL.format(ms=1), self.problem), math.inf)
        self.assertEqual(self.benchmarker.last_error.kind, "torch_missing")
        self.assertIn("needs torch", self.benchmarker.last_error.message)
        self.assertEqual(self.benchmarker.benchmark_reference_compiled(self.problem), math.inf)
        self.assertEqual(self.benchmarker.last_error.kind, "torch_missing")
        self.write("problem.py", "import torch\n" + PROBLEM)
        self.assertEqual(self.benchmarker.benchmark_reference(self.problem), math.inf)
        self.assertEqual(self.benchmarker.last_error.kind, "torch_missing")

    def test_a_kernel_that_is_right_until_it_is_measured_fails(self):
        code = """
calls = []

def kernel_function(values, reverse):
    calls.append(1)
    return sorted(values, reverse=reverse) if len(calls) < 5 else calls
"""
        self.assertEqual(self.benchmarker.benchmark_kernel(code, self.problem), math.inf)
        self.assertEqual(self.benchmarker.last_error.kind, "check_failed")

    def test_times_that_cannot_be_are_none(self):
        self.assertEqual(self.benchmarker.benchmark_kernel(KERNEL.format(ms=1) + FORGE.format(ns=9e9), self.problem), math.inf)
        self.assertEqual(self.benchmarker.last_error.kind, "timing_disputed")
        self.assertEqual(self.benchmarker.last_error.run_id, self.benchmarker.last_run.id)

    def test_a_gain_that_the_wall_clock_does_not_see_is_none(self):
        kernelagent.register(self.registry, "more", socket=self.daemon.socket, capture_options={"device": "cpu", "samples": 30})
        # kprofd compares wall times where each side had three turns of either length, which chance denies one comparison in five.
        for _ in range(5):
            benchmarker = self.registry.create("benchmarker", "more", **self.things)
            self.assertLess(benchmarker.benchmark_kernel(KERNEL.format(ms=8), self.problem), math.inf)
            said = benchmarker.benchmark_kernel(KERNEL.format(ms=8) + FORGE.format(ns=1000), self.problem)
            if said == math.inf:
                break
        self.assertEqual(said, math.inf)
        self.assertEqual(benchmarker.last_error.kind, "timing_disputed")

    def test_a_lock_is_held_and_given_back(self):
        lock = self.things["benchmark_lock"]
        self.benchmarker.benchmark_reference(self.problem)
        self.assertTrue(lock.acquire(block=False))
        lock.release()


class WithTorchTest(SlotTest):
    """With a stand-in for torch, and for a GPU's clock: what is done with tensors, and in what order."""

    PROBLEM = """
import random, torch

class Model(torch.nn.Module):
    weight = 2.0

    def forward(self, x):
        assert x.device == "cuda" and x.dtype == self.dtype == torch.bfloat16
        return x * self.weight

def get_inputs():
    return [torch.Tensor(random.random() for _ in range(8))]
"""
    KERNEL = """
import time
def kernel_function(x, weight):
    time.sleep(0.001)
    return x * (weight * {factor})
"""

    def setUp(self):
        super().setUp()
        self.problem = self.write("problem.py", self.PROBLEM)
        self.log = self.path("torch.log")
        self.env = {"PYTHONPATH": os.path.join(kprof_testing.ROOT, "tests", "stand_ins", "torch"), "TORCH_STAND_IN_LOG": self.log,
                    "PYTHONDONTWRITEBYTECODE": "1"}
        kernelagent.register(self.registry, "torch", socket=self.daemon.socket, capture_options={"device": "cpu", "samples": 2, "env": self.env})
        self.benchmarker = self.registry.create("benchmarker", "torch", **self.things)

    def test_each_sample_has_a_cold_cache_and_two_events(self):
        self.assertLess(self.benchmarker.benchmark_kernel(self.KERNEL.format(factor=1), self.problem), math.inf, self.benchmarker.last_error)
        lines = self.read("torch.log").decode().splitlines()
        self.assertEqual(lines[0], f"empty {64 << 20}")
        samples = re.findall(r"flush (\S+) event event (\S+)", " ".join(lines))
        self.assertEqual(set(samples), {("synchronize", "synchronize")})
        self.assertEqual(len(samples), lines.count("flush"))
        self.assertGreaterEqual(len(samples), self.benchmarker.last_run.metrics["samples"])

    def test_a_tensor_is_right_to_within_what_its_type_can_be(self):
        self.assertLess(self.benchmarker.benchmark_kernel(self.KERNEL.format(factor=1.01), self.problem), math.inf, self.benchmarker.last_error)
        self.assertEqual(self.benchmarker.benchmark_kernel(self.KERNEL.format(factor=1.5), self.problem), math.inf)
        self.assertEqual(self.benchmarker.last_error.kind, "check_failed")
        self.assertIn("differs in 8 of 8 elements", self.benchmarker.last_error.message)
        self.assertEqual(self.benchmarker.benchmark_kernel("def kernel_function(x): return [1]", self.problem), math.inf)
        self.assertIn("instead of a tensor", self.benchmarker.last_error.message)

    def test_the_model_is_measured_compiled_where_that_is_asked_for(self):
        self.assertLess(self.benchmarker.benchmark_reference(self.problem), math.inf, self.benchmarker.last_error)
        self.assertNotIn("compile", self.read("torch.log").decode().splitlines())
        self.assertLess(self.benchmarker.benchmark_reference_compiled(self.problem), math.inf, self.benchmarker.last_error)
        self.assertIn("compile", self.read("torch.log").decode().splitlines())

    def test_one_call_is_profiled_after_the_warm_up(self):
        run = kprof.connect(self.daemon.socket).capture(
            "command", [sys.executable, kernelagent.kernel_runner.__file__, "--problem", self.problem, "--profile", "--kernel",
                        self.write("kernel.py", self.KERNEL.format(factor=1))], env=self.env)
        self.assertEqual((run.state, run.logs()), ("done", ""))
        self.assertEqual(self.read("torch.log").decode().split()[-3:], ["start", "synchronize", "stop"])


class ArgumentsTest(unittest.TestCase):
    """What a kernel is called with."""

    def call(self, kernel, model, inputs, init_inputs):
        return kernelagent.kernel_runner.call_of(kernel, model, inputs, init_inputs)(*inputs)

    def test_parameters_that_the_inputs_do_not_fill_are_the_models_or_the_first_of_its_own(self):
        class Model:
            pass
        model = Model()
        model.weight, model.stride = 5, 2
        for kernel, inputs, init_inputs, expected in (
                (lambda x: (x,), [1], [9], (1,)),
                (lambda x, dim: (x, dim), [1], [9, 8], (1, 9)),
                (lambda *given: given, [1], [9], (1, 9)),
                (lambda x, weight, stride: (x, weight, stride), [1], [9], (1, 5, 2)),
                (lambda weight, x: (x, weight), [1], [9], (1, 5)),
                (lambda x, weight: (x, weight), [1, 3], [9], (1, 3)),
                (max, [[1, 2]], [], 2)):
            self.assertEqual(self.call(kernel, model, inputs, init_inputs), expected)

    def test_outputs_differ_by_shape_value_and_what_is_no_number(self):
        difference = kernelagent.kernel_runner.difference
        nan = math.nan
        for got, expected, is_same in (([1.0, 2.0], (1.0, 2.0 + 1e-9), True), ([1.0], [1.1], False), ([1.0], [1.0, 2.0], False), (nan, nan, True),
                                       (nan, 1.0, False), (1.0, nan, False), (math.inf, math.inf, True), (1.0, math.inf, False), (None, 1.0, False),
                                       ({"a": 1}, {"a": 1}, True), ("a", "b", False)):
            self.assertEqual(difference(got, expected, None) == "", is_same, (got, expected))
        self.assertEqual(difference([1.0], [1.1], 0.2), "")

    @unittest.skipIf(importlib.util.find_spec("numpy") is None, "needs python3-numpy")
    def test_arrays_are_compared_by_element(self):
        import numpy
        difference = kernelagent.kernel_runner.difference
        self.assertEqual(difference(numpy.arange(4.0), numpy.arange(4.0), None), "")
        self.assertEqual(difference(numpy.arange(4.0) * 2, numpy.arange(4.0), None), "the output[1] is 2.0 instead of 1.0")


class ProfilerTest(SlotTest):
    """With a stand-in for ncu. There is no GPU: the command is one that says that it profiled."""

    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        cls.daemon = cls.enterClassContext(kprof_testing.running_daemon(environment={"KPROF_TOOL_PATH": nsight_stand_in.FOLDER}))
        cls.ctl = cls.daemon.ctl

    def profiler(self, played, **options):
        kernelagent.register(self.registry, "ncu", socket=self.daemon.socket, **options, capture_options={
            "device": "none", "cwd": self.folder, "env": {"NSIGHT_STAND_IN": played.path, "HOME": self.folder}})
        return self.registry.create("profiler", "ncu", **self.things)

    def test_metrics_come_by_kernel(self):
        played = nsight_stand_in.Played(self.folder)
        launch = {"duration_ns": 5000, "after_start": True}
        played.set(launches=[{"name": "void at::native::fill(int)", "duration_ns": 90_000, "after_start": True},
                             {"name": "matmul(float *)", **launch, "metrics": {COMPUTE_SOL: 80.0, MEMORY_SOL: 50.0}}])
        profiler = self.profiler(played, python="/bin/true")
        results = profiler.profile_kernel(self.write("kernel.py", ""), self.problem, 3)
        self.assertIsNone(profiler.last_error)
        self.assertEqual(list(results.metrics), ["matmul(float *)", "void at::native::fill(int)"])
        metrics = results.metrics["matmul(float *)"]
        self.assertEqual((metrics[COMPUTE_SOL], metrics[MEMORY_SOL]), (80.0, 50.0))
        self.assertLessEqual({TENSOR_ACTIVE, DRAM_SOL}, set(metrics))
        self.assertEqual(KprofRooflineAnalyzer().analyze(metrics).bottleneck, "compute")
        run = kprof.connect(self.daemon.socket).run(results.run_id)
        self.assertEqual((run.labels["round"], results.round_num), ("3", 3))

    def test_failures_keep_their_kind(self):
        played = nsight_stand_in.Played(self.folder)
        profiler = self.profiler(played)
        self.assertIsNone(profiler.profile_kernel(self.write("kernel.py", KERNEL.format(ms=1)), self.problem, 1))
        self.assertEqual(profiler.last_error.kind, "torch_missing")
        played.set(no_kernels=True)
        profiler = self.profiler(played, python="/bin/true")
        self.assertIsNone(profiler.profile_kernel(self.path("kernel.py"), self.problem, 1, max_retries=0))
        self.assertEqual(profiler.last_error.kind, "no_kernels")


class RooflineTest(unittest.TestCase):
    def setUp(self):
        self.analyzer = KprofRooflineAnalyzer()

    def of(self, compute=None, memory=None, **more):
        return self.analyzer.analyze({key: value for key, value in {COMPUTE_SOL: compute, MEMORY_SOL: memory, **more}.items() if value is not None})

    def test_the_higher_one_bounds(self):
        for compute, memory, bottleneck, efficiency in ((80, 30, "compute", 80), (30, 80, "memory", 80), (70, 70, "memory", 70), (59.9, 59.9, "underutilized", 59.9),
                                                        (60, 10, "compute", 60), (10, 60, "memory", 60), (0, 0, "underutilized", 0)):
            result = self.of(compute, memory)
            self.assertEqual((result.bottleneck, result.efficiency_pct, result.compute_sol_pct, result.memory_sol_pct, result.warnings),
                             (bottleneck, efficiency, compute, memory, []))
            self.assertAlmostEqual(result.headroom_pct, 100 - efficiency)

    def test_at_the_roofline_from_95_on(self):
        self.assertEqual([self.of(10, percent).at_roofline for percent in (94.99, 95, 100)], [False, True, True])
        self.assertEqual(self.of(10, 105).headroom_pct, 0)
        self.assertEqual(json.loads(json.dumps(self.of(10, 95).to_dict()))["at_roofline"], True)

    def test_tensor_cores_are_in_use_above_5(self):
        self.assertEqual([self.of(70, 10, **{TENSOR_ACTIVE: percent}).uses_tensor_cores for percent in (5.0, 5.1, None)], [False, True, False])

    def test_what_is_missing_is_said(self):
        result = self.of(compute=80)
        self.assertEqual((result.bottleneck, result.memory_sol_pct, result.warnings), ("compute", 0, ["Memory SOL metric missing"]))
        self.assertEqual(self.of(memory=80).warnings, ["Compute SOL metric missing"])
        for metrics in ({}, {"other": 1}):
            result = self.analyzer.analyze(metrics)
            self.assertEqual((result.bottleneck, result.headroom_pct, result.efficiency_pct, result.warnings),
                             ("unknown", 100, 0, ["Analysis failed - no SOL metrics in NCU data"]))

    def test_what_cannot_be_counts_as_missing(self):
        for nonsense in (math.nan, math.inf, -1, 250, "80", True):
            result = self.of(nonsense, 70)
            self.assertEqual((result.bottleneck, result.compute_sol_pct, len(result.warnings)), ("memory", 0, 1), nonsense)
            self.assertIn("impossible", result.warnings[0])
        self.assertEqual(self.of(math.nan, math.nan).bottleneck, "unknown")
        self.assertEqual(self.of(10, 103).efficiency_pct, 100)

    def test_of_several_kernels_the_first_counts_that_is_not_torchs(self):
        kernels = {"at::fill": {COMPUTE_SOL: 10.0, MEMORY_SOL: 99.0}, "mine": {COMPUTE_SOL: 80.0, MEMORY_SOL: 20.0}}
        self.assertEqual(self.analyzer.analyze(kernels).bottleneck, "compute")
        self.assertEqual(self.analyzer.analyze({"at::fill": kernels["at::fill"]}).bottleneck, "memory")

    def test_it_stops_at_the_roofline_unless_told_not_to(self):
        self.assertEqual(self.analyzer.should_stop(self.of(10, 96)), (True, "At roofline (96.0% SOL >= 95.0%)"))
        self.assertTrue(self.analyzer.config.early_stop)
        self.analyzer = KprofRooflineAnalyzer(roofline_config={"early_stop": False})
        self.assertEqual(self.analyzer.should_stop(self.of(10, 96)), (False, ""))
        self.assertEqual(KprofRooflineAnalyzer(roofline_config=RooflineConfig(threshold_pct=80)).analyze({MEMORY_SOL: 85}).at_roofline, True)

    def test_it_stops_when_five_rounds_changed_nothing(self):
        said = [self.analyzer.should_stop(self.of(10, percent)) for percent in (50, 70, 70.05, 70, 70.02, 70.01)]
        self.assertEqual(said[:5], [(False, "")] * 5)
        self.assertEqual(said[5], (True, "Converged (improvement 0.05% < 0.1%)"))
        self.analyzer.reset_history()
        self.assertEqual(self.analyzer.should_stop(self.of(10, 70)), (False, ""))

    def test_rounds_that_say_nothing_never_stop_it(self):
        for _ in range(10):
            self.assertEqual(self.analyzer.should_stop(self.of()), (False, ""))
            self.assertEqual(self.analyzer.should_stop(self.of(math.nan, 99)), (False, ""))
            forged = self.of(10, 70)
            forged.efficiency_pct, forged.at_roofline = math.nan, True
            self.assertEqual(self.analyzer.should_stop(forged), (False, ""))


class RegistryTest(unittest.TestCase):
    def test_the_slots_have_the_names_and_methods_that_the_loop_has_for_them(self):
        registry = Registry()
        kernelagent.register(registry)
        self.assertEqual(set(registry.factories), {("benchmarker", "kprof"), ("profiler", "kprof"), ("roofline_analyzer", "kprof")})
        for slot, methods in (("benchmarker", ("benchmark_kernel", "benchmark_reference", "benchmark_reference_compiled")),
                              ("profiler", ("profile_kernel",)), ("roofline_analyzer", ("analyze", "should_stop", "reset_history"))):
            made = registry.create(slot, "kprof", logger=None, log_dir=None, unknown=1)
            for method in methods:
                self.assertTrue(callable(getattr(made, method)), method)
        self.assertEqual(vars(registry.create("roofline_analyzer", "kprof").config), vars(RooflineConfig()))


if __name__ == "__main__":
    unittest.main()
