"""KernelAgent with kprof in its slots: the same loop, measured by kprofd.

    from triton_kernel_agent.platform.registry import registry
    import kprof.kernelagent

    kprof.kernelagent.register(registry)       # then, in its configuration: platform: {benchmarker: kprof, profiler: kprof, ...}

The slots are `benchmarker`, `profiler` and `roofline_analyzer`, by the methods that the loop calls; nothing of that project is
imported. Its loop takes every smaller number for progress, so the benchmarker returns a smaller one only where it is proven.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import math
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Union

from kprof import kernel_runner
from kprof.client import Client, connect
from kprof.errors import KprofError
from kprof.run import Run

_Path = Union[str, os.PathLike]

# Reasons in a run's trust that say that its times are not those of the work.
DISPUTED = frozenset(("timing_disputed", "work_after_end", "result_tampered", "output_wrong", "below_physical_floor",
                      "device_idle_during_samples", "uneven_calls", "files_changed", "values_impossible"))

COMPUTE_SOL = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY_SOL = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
TENSOR_ACTIVE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
DRAM_SOL = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
_MOST_PERCENT = 110  # several passes over a kernel give a little more than 100

_TIMEOUT_S = 300
_LOCK_S = 300
_KINDS = {code: kind for kind, code in kernel_runner.EXIT.items()}


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why there is no time, or no profile. `kind`: a code of kprof ("command_failed", "check_failed", "timed_out", "no_daemon"...), of
    the runner ("torch_missing", "kernel_not_loaded", "kernel_raised"...), or a reason of DISPUTED. `run_id`: empty where there is no run."""

    kind: str
    message: str
    run_id: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def failure_of(error: KprofError) -> Failure:
    """In the words of the runner, where it has some."""
    run = error.run
    if run is None:
        return Failure(error.code, str(error))
    kind = _KINDS.get(run.exit_code or 0, "") if error.code == "command_failed" else ""
    said = ""
    if kind:
        with contextlib.suppress(KprofError):
            said = next((line for line in reversed(run.logs("stderr").splitlines()) if line.startswith(kind + ": ")), "")
    return Failure(kind or error.code, said.partition(": ")[2] or error.message, run.id)


def _disputes(run: Run) -> Optional[Failure]:
    for reason in run.trust:
        if reason.code in DISPUTED:
            return Failure(reason.code, reason.message, run.id)
    return None


class _Slot:
    """What the slots share: a connection that is made when it is needed, a folder for files, and how the last call went."""

    def __init__(self, log_dir: Optional[_Path], logger: Optional[logging.Logger], socket: Optional[_Path],
                 capture_options: Optional[Mapping[str, Any]]) -> None:
        self.last_error: Optional[Failure] = None
        self.last_run: Optional[Run] = None
        self._logger = logger or logging.getLogger(__name__)
        self._socket = socket
        self._options: dict[str, Any] = {"timeout_s": _TIMEOUT_S, **(capture_options or {})}
        self._client: Optional[Client] = None
        self._temporary: Optional[tempfile.TemporaryDirectory[str]] = None
        self._log_dir = log_dir

    def _folder(self) -> pathlib.Path:
        if self._log_dir is not None:
            folder = pathlib.Path(self._log_dir).absolute() / "artifacts" / "kprof"
        else:
            self._temporary = self._temporary or tempfile.TemporaryDirectory(prefix="kprof-kernels-")
            folder = pathlib.Path(self._temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _capture(self, tool: str, command: list[str], **options: Any) -> Optional[Run]:
        """The run as it ended well; None: `last_error` says why there is none."""
        self.last_error = self.last_run = None
        try:
            if self._client is None:
                self._client = connect(self._socket)
            self.last_run = self._client.capture(tool, command, **{**self._options, **options})
            self.last_error = _disputes(self.last_run)
        except KprofError as error:
            self.last_error, self.last_run = failure_of(error), error.run
        if self.last_error:
            self._logger.warning("kprof: %s", self.last_error)
            return None
        return self.last_run


@dataclasses.dataclass
class _Best:
    """The fastest kernel of a problem so far. `ms`: on the scale of the first one, whose time was measured."""

    file: pathlib.Path
    ms: float


class KprofBenchmarker(_Slot):
    """The slot `benchmarker`. A kernel's time is that of the best one before it, times how they compare in turns on one lease: so all are
    on one scale, whatever the clocks did between rounds. Without a proven difference it is the best one's time, and no progress.

    A failure is infinity, as the slot demands; `last_error` has its kind. `last_run` is the Run of the last measurement.
    """

    def __init__(self, log_dir: Optional[_Path] = None, logger: Optional[logging.Logger] = None, benchmark_lock: Any = None, *,
                 dtype: str = "bfloat16", socket: Optional[_Path] = None, python: str = sys.executable,
                 capture_options: Optional[Mapping[str, Any]] = None) -> None:
        """`dtype`: of inputs with fractions, and of the model; "as-is": as the problem makes them. `python`: that of the
        kernels. `capture_options`: of Client.capture, such as device, clocks, session."""
        super().__init__(log_dir, logger, socket, capture_options)
        self._lock = benchmark_lock
        self._dtype = dtype
        self._python = python
        self._best: dict[str, _Best] = {}
        self._kernels = 0

    def benchmark_kernel(self, kernel_code: str, problem_file: _Path) -> float:
        """ms; infinity on failure."""
        self._kernels += 1
        file = self._folder() / f"kernel_{os.getpid()}_{self._kernels}.py"
        file.write_text(kernel_code, encoding="utf-8")
        problem = os.path.abspath(problem_file)
        best = self._best.get(problem)
        options = {"against": self._command(problem, "--kernel", str(best.file))} if best else {}
        run = self._measure(self._command(problem, "--kernel", str(file)), **options)
        if run is None:
            return math.inf
        if best is None:
            self._best[problem] = _Best(file, run.metrics["median_ns"] / 1e6)
            return self._best[problem].ms
        comparison = run.comparison
        if comparison is None or comparison.verdict not in ("FASTER", "SLOWER") or comparison.ratio is None:
            self._logger.info("kprof: no proven difference to the best kernel%s", f" ({', '.join(comparison.reasons)})" if comparison else "")
            return best.ms
        ms = best.ms * comparison.ratio
        if comparison.verdict == "FASTER":
            self._best[problem] = _Best(file, ms)
        return ms

    def benchmark_reference(self, problem_file: _Path) -> float:
        """ms of the problem's model; infinity on failure."""
        return self._time_of(self._command(os.path.abspath(problem_file)))

    def benchmark_reference_compiled(self, problem_file: _Path) -> float:
        """ms of what torch.compile makes of it; infinity on failure."""
        return self._time_of(self._command(os.path.abspath(problem_file), "--compiled"))

    def reset(self) -> None:
        """Forgets the best kernels: the next one is measured by itself."""
        self._best.clear()

    def _command(self, problem: str, *options: str) -> list[str]:
        return [self._python, kernel_runner.__file__, "--problem", problem, "--dtype", self._dtype, *options]

    def _time_of(self, command: list[str]) -> float:
        run = self._measure(command)
        return run.metrics["median_ns"] / 1e6 if run else math.inf

    def _measure(self, command: list[str], **options: Any) -> Optional[Run]:
        with self._locked():
            return self._capture("event", command, **options)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The loop's own lock keeps what it measures by itself away. kprofd's lease needs it not, so one whose holder died is not waited
        for without end."""
        has_it = self._lock is not None and self._lock.acquire(timeout=_LOCK_S)
        if self._lock is not None and not has_it:
            self._logger.warning("kprof: nobody gave the benchmark lock back in %d s; measuring without it", _LOCK_S)
        try:
            yield
        finally:
            if has_it:
                self._lock.release()


@dataclasses.dataclass(frozen=True)
class ProfilerResults:
    """What a profile found. `metrics`: values by metric, by kernel; the kernel that took most time first, those of torch last. `run_id`:
    the run that has the whole report."""

    metrics: dict[str, dict[str, float]]
    run_id: str
    round_num: int


class KprofProfiler(_Slot):
    """The slot `profiler`: one call of the kernel, after its warm-up, by the tool `ncu`. None on failure; `last_error` has its kind."""

    def __init__(self, log_dir: Optional[_Path] = None, logger: Optional[logging.Logger] = None, profiling_semaphore: Any = None, *,
                 dtype: str = "bfloat16", socket: Optional[_Path] = None, python: str = sys.executable,
                 capture_options: Optional[Mapping[str, Any]] = None) -> None:
        """As of KprofBenchmarker. The semaphore is not needed: kprofd has one lease for a device."""
        super().__init__(log_dir, logger, socket, capture_options)
        self._dtype = dtype
        self._python = python

    def profile_kernel(self, kernel_file: _Path, problem_file: _Path, round_num: int, max_retries: int = 2) -> Optional[ProfilerResults]:
        """The metrics of its kernels."""
        command = [self._python, kernel_runner.__file__, "--problem", os.path.abspath(problem_file), "--dtype", self._dtype, "--kernel",
                   os.path.abspath(kernel_file), "--profile"]
        run = self._capture("ncu", command, profile_from_start="off", retry=max_retries, labels={"round": str(round_num)})
        if run is None:
            return None
        try:
            rows = run.analyze("kernels").tables["metrics"].rows()
        except KprofError as error:
            self.last_error = failure_of(error)
            return None
        found: dict[str, dict[str, float]] = {}
        for row in rows:
            if row["value"] is not None:
                found.setdefault(row["name"], {})[row["metric"]] = row["value"]
        return ProfilerResults(dict(sorted(found.items(), key=lambda kernel: _is_torchs(kernel[0]))), run.id, round_num)


def _is_torchs(kernel: str) -> bool:
    return kernel.startswith(("at::", "void at::"))


@dataclasses.dataclass
class RooflineConfig:
    """When a kernel is at the roofline, and when a loop has converged. Percent of the speed of light, and percentage points."""

    threshold_pct: float = 95.0
    early_stop: bool = True
    convergence_rounds: int = 5
    min_improvement_pct: float = 0.1
    tensor_core_threshold: float = 5.0
    underutilized_threshold: float = 60.0


@dataclasses.dataclass
class RooflineResult:
    """What bounds a kernel: "memory", "compute", "underutilized", or "unknown" where nothing was measured."""

    efficiency_pct: float = 0.0
    compute_sol_pct: float = 0.0
    memory_sol_pct: float = 0.0
    bottleneck: str = "unknown"
    at_roofline: bool = False
    headroom_pct: float = 100.0
    uses_tensor_cores: bool = False
    warnings: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class KprofRooflineAnalyzer:
    """The slot `roofline_analyzer`: the higher one of compute and memory bounds; both below 60 % is underutilized. A number that cannot be
    is none, and a round that has one, or that has no numbers, is no round of should_stop()."""

    def __init__(self, logger: Optional[logging.Logger] = None, roofline_config: Any = None) -> None:
        self.config = RooflineConfig(**roofline_config) if isinstance(roofline_config, dict) else roofline_config or RooflineConfig()
        self._logger = logger or logging.getLogger(__name__)
        self._history: list[float] = []

    def analyze(self, ncu_metrics: Mapping[str, Any]) -> RooflineResult:
        """`ncu_metrics`: values by metric; or those of several kernels, of which the first one counts that is not torch's."""
        metrics = _of_one_kernel(ncu_metrics)
        warnings: list[str] = []
        compute = _percent(metrics, COMPUTE_SOL, "Compute SOL", warnings)
        memory = _percent(metrics, MEMORY_SOL, "Memory SOL", warnings)
        if compute is None and memory is None:
            return RooflineResult(warnings=[*(w for w in warnings if not w.endswith(" missing")), "Analysis failed - no SOL metrics in NCU data"])
        tensor = _percent(metrics, TENSOR_ACTIVE, "", [])
        compute, memory = compute or 0.0, memory or 0.0
        efficiency = max(compute, memory)
        low = self.config.underutilized_threshold
        bottleneck = "underutilized" if memory < low and compute < low else "memory" if memory >= compute else "compute"
        return RooflineResult(efficiency, compute, memory, bottleneck, efficiency >= self.config.threshold_pct, max(0.0, 100.0 - efficiency),
                              tensor is not None and tensor > self.config.tensor_core_threshold, warnings)

    def should_stop(self, result: Any) -> tuple[bool, str]:
        """Whether to end the loop, and why. Each call with a result that may be believed is a round."""
        if not _may_count(result):
            return False, ""
        self._history.append(result.efficiency_pct)
        config = self.config
        if config.early_stop and result.at_roofline:
            return True, f"At roofline ({result.efficiency_pct:.1f}% SOL >= {config.threshold_pct:.1f}%)"
        last = self._history[-config.convergence_rounds:]
        if len(last) >= config.convergence_rounds and max(last) - min(last) < config.min_improvement_pct:
            return True, f"Converged (improvement {max(last) - min(last):.2f}% < {config.min_improvement_pct:.1f}%)"
        return False, ""

    def reset_history(self) -> None:
        """Begins a new loop."""
        self._history.clear()


def _of_one_kernel(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    kernels = {name: values for name, values in metrics.items() if isinstance(values, Mapping)}
    if not kernels:
        return metrics
    return next((values for name, values in kernels.items() if not _is_torchs(name)), next(iter(kernels.values())))


def _percent(metrics: Mapping[str, Any], key: str, what: str, warnings: list[str]) -> Optional[float]:
    """None: it is missing, or cannot be."""
    value = metrics.get(key)
    if value is None:
        warnings.append(f"{what} metric missing")
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST_PERCENT:  # of nan neither
        warnings.append(f"{what} metric impossible: {value!r}")
        return None
    return min(float(value), 100.0)


def _may_count(result: Any) -> bool:
    efficiency = result.efficiency_pct
    return (result.bottleneck != "unknown" and isinstance(efficiency, (int, float)) and 0 <= efficiency <= 100 and
            not any("metric impossible" in warning for warning in result.warnings))


def register(registry: Any, name: str = "kprof", **options: Any) -> None:
    """Puts kprof's slots into the loop's registry. `options`: `dtype`, `socket`, `python` and `capture_options` of the benchmarker and the
    profiler.

    Slots of workers travel to their processes by name: register in a module that these import as well.
    """
    registry.register("benchmarker", name, functools.partial(KprofBenchmarker, **options))
    registry.register("profiler", name, functools.partial(KprofProfiler, **options))
    registry.register("roofline_analyzer", name, KprofRooflineAnalyzer)
