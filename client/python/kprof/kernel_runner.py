"""Runs one kernel of an optimisation loop, as `kprofctl capture event` and `ncu` want it run: a process of its own.

    python kernel_runner.py --problem problem.py --kernel kernel.py

The problem defines `Model`, `get_inputs()` and, where it wants, `get_init_inputs()` and `get_benchmark_config()`; the kernel defines
`kernel_function`. Both are run on the same inputs: where the outputs differ, before the samples or after them, the run fails with
`check_failed`. Each sample is one call, with a cold L2 on a GPU, over $KPROF_EVENT. --reference runs the model instead, --compiled
what torch.compile makes of it; --profile calls it within cudaProfilerStart and Stop and reports nothing.

Needs Python 3.9; torch only where the files do. It runs in one process with the kernel, so it is fair to honest ones: a kernel that
may cheat is for kprof.event, which keeps it in a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import inspect
import json
import math
import os
import random
import sys
import time
from typing import Any, Callable, Optional

# How it ends where it does not get as far as a sample; by kinds.
EXIT = {"torch_missing": 81, "problem_not_loaded": 82, "kernel_not_loaded": 83, "kernel_raised": 84, "reference_raised": 85}

USUAL_SAMPLES = 100
USUAL_WARM_UPS = 25
MOST_WARM_UP_S = 2.0
USUAL_L2_BYTES = 256 << 20
TOLERANCES = {"torch.bfloat16": 2e-2, "torch.float16": 1e-2, "torch.float32": 1e-3}  # relative and absolute
USUAL_TOLERANCE = 1e-6
# Of a layer of the model, by the names that kernels have for them.
LAYER_FACTS = {"weight": "weight", "w": "weight", "bias": "bias", "conv_bias": "bias", "stride": "stride", "padding": "padding",
               "dilation": "dilation", "output_padding": "output_padding", "groups": "groups", "eps": "eps",
               "kernel_size": "kernel_size", "num_groups": "num_groups", "normalized_shape": "normalized_shape"}


class Failed(Exception):
    """`kind` is one of EXIT."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def load(path: str, name: str, wants: tuple[str, ...]) -> Any:
    """The module at the path. Raises Failed."""
    try:
        spec: Any = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        if isinstance(error, ImportError) and (error.name or "").split(".")[0] == "torch":
            raise Failed("torch_missing", f"{path} needs torch, which {sys.executable} does not have") from error
        raise Failed(f"{name}_not_loaded", f"{path}: {type(error).__name__}: {error}") from error
    for wanted in wants:
        if not callable(getattr(module, wanted, None)):
            raise Failed(f"{name}_not_loaded", f"{path} does not define {wanted}")
    return module


def attempt(kind: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """What the call gives. Raises Failed."""
    try:
        return call(*arguments)
    except Exception as error:
        raise Failed(kind, f"{type(error).__name__}: {error}") from error


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Device:
    """Where it runs. Without torch, or without a GPU: the processor and the host's clock."""

    def __init__(self, dtype: str) -> None:
        self.torch: Any = sys.modules.get("torch")
        self.is_gpu = self.torch is not None and self.torch.cuda.is_available()
        self._dtype = getattr(self.torch, dtype) if self.torch and dtype != "as-is" else None
        self._flushed: Any = None
        if self.is_gpu:
            size = getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 0) or USUAL_L2_BYTES
            self._flushed = self.torch.empty(size, dtype=self.torch.int8, device="cuda")

    def place(self, value: Any) -> Any:
        """A tensor, or a model, where and as it is to be. Integers stay integers."""
        if self.torch is None or not isinstance(value, (self.torch.Tensor, self.torch.nn.Module)):
            return value
        value = value.to("cuda" if self.is_gpu else "cpu")
        is_model = isinstance(value, self.torch.nn.Module)
        return value.to(self._dtype) if self._dtype and (is_model or value.is_floating_point()) else value

    def finish(self) -> None:
        if self.is_gpu:
            self.torch.cuda.synchronize()

    def inference(self) -> Any:
        return self.torch.inference_mode() if self.torch else contextlib.nullcontext()

    def time(self, call: Callable[[], Any]) -> dict[str, Any]:
        """One sample: ns of the call alone, and of all until it was done, as the host saw it."""
        clock = time.perf_counter_ns
        if not self.is_gpu:
            begin = clock()
            call()
            return {"ns": clock() - begin}
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._flushed.zero_()
        self.finish()
        begin = clock()
        events[0].record()
        call()
        events[1].record()
        self.finish()
        return {"ns": events[0].elapsed_time(events[1]) * 1e6, "wall_ns": clock() - begin, "cache": "cold"}


def facts_of(model: Any) -> dict[str, Any]:
    """What a kernel may take from the model, by the names of its parameters: of the first layer that has it."""
    if not hasattr(model, "modules"):
        return {name: value for name, value in vars(model).items() if not name.startswith("_")}
    facts: dict[str, Any] = {}
    for layer in model.modules():
        for name, attribute in LAYER_FACTS.items():
            value = getattr(layer, attribute, None)
            if isinstance(value, tuple) and len(set(value)) == 1 and name != "normalized_shape":
                value = value[0]
            if value is not None:
                facts.setdefault(name, value)
    return facts


def call_of(kernel: Callable[..., Any], model: Any, inputs: list[Any], init_inputs: list[Any]) -> Callable[..., Any]:
    """The kernel as a function of the problem's inputs. Parameters that these do not fill are the model's, where it has such, else the
    first of init_inputs."""
    try:
        parameters = inspect.signature(kernel).parameters.values()
    except (TypeError, ValueError):
        return lambda *given: kernel(*given, *init_inputs)
    if any(parameter.kind == inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return lambda *given: kernel(*given, *init_inputs)
    names = [parameter.name for parameter in parameters if parameter.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
    missing = len(names) - len(inputs)
    if missing <= 0:
        return kernel
    facts = facts_of(model)
    taken = {name: facts[name] for name in names if name in facts}
    if taken and len(names) - len(taken) >= len(inputs):
        free = [name for name in names if name not in taken]
        return lambda *given: kernel(**dict(zip(free, given)), **taken)
    return lambda *given: kernel(*given, *init_inputs[:missing])


def difference(got: Any, expected: Any, tolerance: Optional[float], where: str = "the output") -> str:
    """In what they differ; empty: in nothing. A value that is none is equal to none alone."""
    if hasattr(expected, "is_floating_point"):  # a tensor
        if not hasattr(got, "is_floating_point"):
            return f"{where} is {type(got).__name__} instead of a tensor"
        if got.shape != expected.shape:
            return f"{where} has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}"
        near = tolerance or TOLERANCES.get(str(expected.dtype), USUAL_TOLERANCE)
        got, expected = got.detach().double().cpu(), expected.detach().double().cpu()
        wrong = ~got.isclose(expected, rtol=near, atol=near, equal_nan=True)
        count = int(wrong.sum())
        if count == 0:
            return ""
        at = tuple(int(index) for index in wrong.nonzero()[0])
        return f"{where} differs in {count} of {wrong.numel()} elements: at {at} it is {float(got[at])!r} instead of {float(expected[at])!r}"
    if hasattr(expected, "tolist"):
        expected = expected.tolist()
    if hasattr(got, "tolist"):
        got = got.tolist()
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(expected):
            return f"{where} is no list of {len(expected)}"
        return next((found for i, pair in enumerate(zip(got, expected)) if (found := difference(*pair, tolerance, f"{where}[{i}]"))), "")
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        near = tolerance or USUAL_TOLERANCE
        is_same = math.isnan(got) and math.isnan(expected) or math.isclose(got, expected, rel_tol=near, abs_tol=near)
        return "" if is_same else f"{where} is {got!r} instead of {expected!r}"
    return "" if got == expected else f"{where} is {got!r} instead of {expected!r}"


def seed_all(seed: int) -> None:
    random.seed(seed)
    for name in ("torch", "numpy"):
        module: Any = sys.modules.get(name)
        if module is not None and name == "torch":
            module.manual_seed(seed % (1 << 63))
        elif module is not None:
            module.random.seed(seed % (1 << 32))


class Case:
    """The problem, and what is measured of it."""

    def __init__(self, options: Any) -> None:
        problem = load(options.problem, "problem", ("Model", "get_inputs"))
        self._make_inputs = problem.get_inputs
        init_inputs = as_list(attempt("problem_not_loaded", getattr(problem, "get_init_inputs", list)))
        config = attempt("problem_not_loaded", getattr(problem, "get_benchmark_config", dict)) or {}
        self.warm_ups = int(config.get("warmup", USUAL_WARM_UPS))
        self.tolerance = config.get("tolerance")
        self.device = Device(options.dtype)
        model = attempt("problem_not_loaded", lambda: self.device.place(problem.Model(*init_inputs)))
        if hasattr(model, "eval"):
            model.eval()
        self.reference = model if callable(model) else model.forward
        self.has_kernel = bool(options.kernel)
        self.kind = "kernel_raised" if self.has_kernel else "reference_raised"
        self.inputs = self.fresh_inputs()
        if options.compiled:
            if self.device.torch is None:
                raise Failed("torch_missing", "nothing compiles a model without torch")
            self.call = self.device.torch.compile(model)
        elif self.has_kernel:
            kernel = load(options.kernel, "kernel", ("kernel_function",))
            self.call = call_of(kernel.kernel_function, model, self.inputs, init_inputs)
        else:
            self.call = self.reference

    def fresh_inputs(self) -> list[Any]:
        return [self.device.place(value) for value in as_list(attempt("problem_not_loaded", self._make_inputs))]

    def once(self) -> None:
        self.call(*self.inputs)

    def check(self, inputs: list[Any]) -> str:
        """In what the kernel's output differs from the model's on these inputs."""
        if not self.has_kernel:
            return ""
        expected = attempt("reference_raised", self.reference, *copy.deepcopy(inputs))
        got = attempt("kernel_raised", self.call, *copy.deepcopy(inputs))
        self.device.finish()
        return difference(got, expected, self.tolerance)

    def warm_up(self) -> None:
        give_up = time.monotonic() + MOST_WARM_UP_S
        for _ in range(max(1, self.warm_ups)):
            attempt(self.kind, self.once)
            self.device.finish()
            if time.monotonic() > give_up:
                return


def measure(case: Case, seed: int, samples: int, report: Callable[[dict[str, Any]], None]) -> None:
    """`report` takes an object for each line."""
    seed_all(seed)
    wrong = case.check(case.fresh_inputs())
    if not wrong:
        case.warm_up()
        lines = [attempt(case.kind, case.device.time, case.once) for _ in range(samples)]
        seed_all(seed + 1)
        wrong = case.check(case.fresh_inputs())
        for line in lines:
            report(line)
    if wrong:
        report({"check": "failed", "message": wrong})
    elif case.has_kernel:
        report({"check": "passed", "checked": 2})


def profile(case: Case) -> None:
    """One call, after those that tune and compile."""
    if not case.device.is_gpu:
        raise Failed("torch_missing", "there is no GPU that torch can use, and nothing to profile")
    case.warm_up()
    cudart = case.device.torch.cuda.cudart()
    cudart.cudaProfilerStart()
    attempt(case.kind, case.once)
    case.device.finish()
    cudart.cudaProfilerStop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem", required=True)
    parser.add_argument("--kernel")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32", "float64", "as-is"])
    options = parser.parse_args()
    # The kernel is loaded later, and has no need of these.
    path = os.environ.pop("KPROF_EVENT", "")
    seed = int(os.environ.pop("KPROF_EVENT_SEED", "0"))
    samples = int(os.environ.pop("KPROF_EVENT_SAMPLES", USUAL_SAMPLES))
    channel = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if path else -1

    def report(line: dict[str, Any]) -> None:
        text = json.dumps(line)
        if channel < 0:
            print(text)
        else:
            os.write(channel, text.encode()[:4000] + b"\n")

    try:
        case = Case(options)
        with case.device.inference():
            if options.profile:
                profile(case)
            else:
                measure(case, seed, samples, report)
    except Failed as failure:
        print(f"{failure.kind}: {failure}", file=sys.stderr)
        return EXIT[failure.kind]
    return 0


if __name__ == "__main__":
    # By its path: beside it lie modules whose names a kernel may use for its own.
    _FOLDER = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [_path for _path in sys.path if os.path.abspath(_path or os.curdir) != _FOLDER]
    sys.exit(main())
