"""Times a candidate as a referee does: in a process of its own, on inputs that it has not seen, with its outputs checked.

    python3 -m kprof.event kernel.py --task task.py
    kprofctl capture event -- python3 -m kprof.event kernel.py:fast_sum --task task.py

    # kernel.py, the candidate's          # task.py, of whoever wants to know
    def kernel(numbers):                  import array, random
        return sum(numbers)               cases = {"n=1000": 1000, "n=100000": 100_000}
                                          def make_inputs(case, seed):
                                              random.seed(seed)
                                              return (array.array("d", [random.random() for _ in range(case)]),)
                                          def reference(numbers):
                                              return float(sum(numbers))

This process, the referee, loads the task and never the candidate. The candidate's process never has the channel to kprofd, the seed
of inputs, expected outputs or the inputs of a later call. docs/event.md has the whole of it, and what it cannot promise. Samples go to
kprofd where it listens; the table is printed in any case.

Exit codes: 0: all samples are there; 1: the candidate failed; 2: the question is wrong; 3: outputs are wrong.

Needs Python 3.9 on Linux and nothing else.
"""

import sys

if __name__ == "__main__" and not sys.flags.isolated:
    # `python -m` looks first in the folder where it is started, often the candidate's: no library of ours is there.
    import os
    sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) != os.getcwd()]

import argparse
import dataclasses
import gc
import hashlib
import os
import secrets
import time
import typing

from kprof import event_device, event_times, event_values
from kprof.event_candidate import CandidateFailed, CandidateProcess, Strays, inputs_file
from kprof.event_channel import MOST_CASE_BYTES, open_channel
from kprof.event_task import NoTask, Task, TaskFailed

EMPTY_SAMPLES = 12  # before the candidate is started, and again when it has ended
TRIES = 3
WARM_UP = 3
MOST_INPUT_BYTES = 1 << 30
MOST_OUTPUT_BYTES = 256 << 20  # where it is not known beforehand how many are right
CHECKS_S = 20  # so long all outputs are checked; later one of so many, nobody knows which, and the last:
CHECKED_LATER = 8
EXIT_CODES = {"": 0, "check": 3}  # else 1


class UsageError(Exception):
    """The question is wrong."""


class CheckFailed(Exception):
    """Outputs are wrong."""

    def __init__(self, message, case):
        super().__init__(message)
        self.case = case


@dataclasses.dataclass
class Case:
    """`ns`: what came of it, of one call, for each sample."""

    name: typing.Optional[str]
    flops: typing.Optional[float] = None  # of a call
    bytes: typing.Optional[float] = None
    outputs: bytes = b""  # what empty calls return, encoded
    before: list = dataclasses.field(default_factory=list)  # samples of empty calls
    after: list = dataclasses.field(default_factory=list)
    samples: list = dataclasses.field(default_factory=list)
    overhead_ns: float = 0
    stream_count: typing.Optional[int] = None  # of a device, that worked for it at least
    ns: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Result:
    """`checked`: outputs that were right. `notes`: reasons not to trust it, by code. `failure`: why it broke off; `failure_kind`: check,
    load, call, outputs, ended, timeout or protocol; `failed_case`: its name."""

    calls: int  # of a sample
    clock: str
    cases: dict = dataclasses.field(default_factory=dict)
    checked: int = 0
    notes: dict = dataclasses.field(default_factory=dict)
    failure: str = ""
    failure_kind: str = ""
    failed_case: typing.Optional[str] = None


class _Bench:
    """One run of a candidate. Seeds, inputs and expected outputs stay in here."""

    def __init__(self, task, channel, calls, tries, result):
        self.task, self.channel, self.calls, self.tries, self.result = task, channel, calls, tries, result
        self.checks_left_s = CHECKS_S
        self.seen_inputs = set()

    def make(self, case, *what):
        """Pairs of seed and inputs for the calls of a sample, and all inputs encoded."""
        made, data = [], bytearray()
        for call in range(self.calls):
            seed = self.channel.seed_of(case.name, *what, call)
            inputs = self.task.inputs(case.name, seed)
            try:
                data += event_values.encode(inputs)
            except event_values.NoValue as error:
                raise TaskFailed(f"inputs of case {case.name}: {error} cannot be handed over") from None
            if len(data) > MOST_INPUT_BYTES:
                raise TaskFailed(f"inputs of case {case.name} are more than {MOST_INPUT_BYTES} bytes")
            made.append((seed, inputs))
        return made, data

    def look_for_repeats(self, case, data):
        if not self.task.is_checked:
            return
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest in self.seen_inputs:
            self.result.notes.setdefault("inputs_repeat", f"case {case.name}: make_inputs gave the same inputs for two seeds: outputs "
                                                          "may be replayed")
        self.seen_inputs.add(digest)

    def prepare(self, case, empty):
        """Has empty calls return outputs as they should be, and times some."""
        if self.task.has_reference:
            [(_, inputs), *_], _ = self.make(case, "empty")
            try:
                case.outputs = bytes(event_values.encode(self.task.expected(inputs)))
            except event_values.NoValue as error:
                raise TaskFailed(f"reference of case {case.name} returned {error}, which cannot be compared") from None
        case.before = self.empty_calls(case, empty, "before")

    def empty_calls(self, case, empty, when):
        """Samples."""
        empty.echo(case.outputs)
        return [event_times.Sample.of([self.call(empty, self.make(case, when, index, one)[1]).call for one in range(self.tries)])
                for index in range(EMPTY_SAMPLES)]

    def call(self, process, data):
        with inputs_file(data) as inputs:
            return process.call(inputs, len(data), self.calls)

    def check(self, case, made, outputs):
        """Raises CheckFailed."""
        if not self.task.is_checked:
            return
        at = 0
        for seed, inputs in made:
            try:
                value, at = event_values.decode(outputs, at)
            except event_values.NoValue as error:
                raise CheckFailed(f"outputs cannot be read: {error}", case.name) from None
            complaint = self.task.complaint(case.name, inputs, value)
            if complaint:
                raise CheckFailed(f"{complaint} (make_inputs with seed {seed})", case.name)
            self.result.checked += 1

    def checked_call(self, case, process, is_last, *what):
        made, data = self.make(case, *what)
        answer = self.call(process, data)
        self.look_for_repeats(case, data)
        start_s = time.monotonic()
        if is_last or self.checks_left_s > 0 or secrets.randbelow(CHECKED_LATER) == 0:
            self.check(case, made, answer.outputs)
        self.checks_left_s -= time.monotonic() - start_s
        return answer.call

    def run(self, case, process, samples, warmup):
        process.most_output_bytes = 2 * self.calls * len(case.outputs) + 4096 if case.outputs else MOST_OUTPUT_BYTES
        for index in range(warmup):
            self.checked_call(case, process, False, "warm-up", index)
        for index in range(samples):
            calls = [self.checked_call(case, process, index == samples - 1, "sample", index, one) for one in range(self.tries)]
            case.samples.append(event_times.Sample.of(calls))


def _judge(case, result):
    """Works out what samples took, and whether they can be believed."""
    if not case.samples:
        return
    case.overhead_ns, resolution_ns = event_times.overhead_of(case.before, case.after)
    is_device = result.clock != "host"
    case.stream_count = None if not result.clock.startswith("cuda") else 2 if event_times.has_other_streams(case.samples) else 1
    if case.stream_count == 2:
        for sample in case.samples:
            sample.best.claim_ns += sample.best.longer_ns
    case.ns = [round(event_times.ns_of(sample.best, case.overhead_ns, resolution_ns, is_device) / result.calls, 1)
               for sample in case.samples]
    reasons = {"uneven_calls": event_times.unevenness_of(case.samples, case.overhead_ns)}
    if result.clock != "neuron":
        reasons["timing_disputed"] = event_times.dispute_of(case.samples, case.overhead_ns)
    if case.stream_count == 2:
        reasons["several_streams"] = "other streams still worked when the default stream was done; the time that the host saw was added"
    seen_ns = event_times.summary_of([sample.best.wall_ns for sample in case.samples])[0] - case.overhead_ns
    if not is_device and seen_ns < case.overhead_ns:
        reasons["overhead_dominates"] = (f"a sample took {seen_ns:.0f} ns besides the {case.overhead_ns:.0f} ns of an empty call: time "
                                         "several calls together (--calls)")
    for code, message in reasons.items():
        if message:
            result.notes.setdefault(code, message if case.name is None else f"case {case.name}: {message}")


def _report(channel, result):
    """Tells kprofd."""
    for case in result.cases.values():
        for sample, ns in zip(case.samples, case.ns):
            cache = result.clock.partition("cuda-")[2] or None
            channel.sample(case.name, ns, flops=case.flops, bytes=case.bytes, cache=cache,
                           wall_ns=round(sample.best.wall_ns / result.calls, 1), stream_count=case.stream_count)
    if channel.dropped:
        result.notes["lines_dropped"] = f"{channel.dropped} samples are more than kprofd takes of a process"
    for code, message in result.notes.items():
        channel.note(code, message)
    if result.failure_kind == "check":
        channel.check_failed(result.failure, result.failed_case)
    elif result.checked:
        channel.check_passed(result.checked)


def _digest(path):
    """Empty: it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _chosen(cases, names):
    unknown = [name for name in names or () if name not in cases]
    if unknown:
        raise UsageError(f"there is no case {unknown[0]}; there are {', '.join(map(str, cases))}")
    for name in cases:
        if name is not None and (not isinstance(name, str) or not 0 < len(name.encode()) <= MOST_CASE_BYTES):
            raise UsageError(f"a case is named by 1 to {MOST_CASE_BYTES} bytes of text, not {str(name)[:80]!r}")
    return list(names or cases)


def _measure(run, start, file, function, samples, warmup):
    """Empty calls, then samples of all cases, then empty calls. `start`: of a process, with a candidate's file or none."""
    result = run.result
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        with start("") as empty:
            for case in result.cases.values():
                run.prepare(case, empty)
            with start(file) as process:
                process.load(function)
                result.notes.update(process.notes)
                for case in result.cases.values():
                    run.run(case, process, samples, warmup)
            for case in result.cases.values():
                case.after = run.empty_calls(case, empty, "after")
    finally:
        if was_collecting:
            gc.enable()


def bench(candidate, task=None, cases=None, samples=None, calls=1, tries=TRIES, warmup=WARM_UP, clock="host", timeout_s=60, isolate=True,
          strays=None):
    """Times `candidate`, "FILE.py" or "FILE.py:function", on the inputs of the file `task`. A Result. Raises UsageError,
    TaskFailed, and event_device.NoTimer where the clock is not here.

    `cases`: names of those to run; None: all. `samples`: of each case; None: as many as kprofd asks for, else 100. `calls`: that are
    timed together, each on inputs of its own, for short code. `tries`: of a sample, the shortest of which counts. `warmup`: calls
    before. `clock`: one of event_device.CLOCKS. `timeout_s`: of a call. `strays`: ends what a candidate that is not shut in leaves
    behind; for a process without other children.

    Others can no longer look into this process, and kprofd's variables leave its environment: a second call in it reports to nobody.
    """
    file, _, function = os.fspath(candidate).partition(".py:")
    file, function = (file + ".py", function) if function else (os.fspath(candidate), "kernel")
    paths = [path for path in (file, task) if path]
    for path in paths:
        if not os.path.isfile(path):
            raise UsageError(f"there is no file {path}")
    if calls < 1 or tries < 1 or warmup < 0 or timeout_s <= 0 or (samples is not None and samples < 1):
        raise UsageError("calls, tries and samples are 1 or more, warmup is 0 or more, and there is a time-out")
    if clock not in event_device.CLOCKS:
        raise UsageError(f"there is no clock {clock}; there are {', '.join(event_device.CLOCKS)}")
    digests = [_digest(path) for path in paths]
    channel = open_channel()
    result = Result(calls, clock)

    def start(path):
        return CandidateProcess(path, clock, isolate and bool(path), timeout_s)

    try:
        if task:
            told = Task(task)
        else:
            result.notes["not_checked"] = "there is no task: inputs are the same each time, and outputs are not checked"
            with start(file) as process:
                try:
                    told = NoTask(process.load(function))
                except event_values.NoValue as error:
                    raise CandidateFailed("load", f"its cases cannot be taken: {error}") from None
        result.cases = {name: Case(name, told.number("flops", name), told.number("bytes", name)) for name in _chosen(told.cases, cases)}
        _measure(_Bench(told, channel, calls, tries, result), start, file, function, samples or channel.samples, warmup)
    except CandidateFailed as failure:
        result.failure, result.failure_kind = str(failure), failure.kind
        result.notes["candidate_failed"] = str(failure)
    except CheckFailed as failure:
        result.failure, result.failure_kind, result.failed_case = str(failure), "check", failure.case
    finally:
        left = strays.end() if strays else 0
    if left:
        result.notes["processes_left"] = f"the candidate left {left} processes behind; they were ended"
    if digests != [_digest(path) for path in paths]:
        result.notes["files_changed"] = "the candidate's file or the task is not what it was before the run"
    for case in result.cases.values():
        _judge(case, result)
    _report(channel, result)
    channel.close()
    return result


def _microseconds(ns):
    return f"{ns / 1000:.2f}"


def _shown(text):
    """Text that a candidate may have chosen, for a terminal."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def table_of(result):
    """The result as text for people."""
    rows = [("case", "samples", "median us", "p5", "p95", "claimed us", "overhead us")]
    for case in result.cases.values():
        if case.ns:
            claim_ns = event_times.summary_of([sample.best.claim_ns / result.calls for sample in case.samples])[0]
            numbers = [*event_times.summary_of(case.ns), claim_ns, case.overhead_ns / result.calls]
            rows.append((_shown(case.name or "-"), str(len(case.ns)), *map(_microseconds, numbers)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(text.ljust(width) if at == 0 else text.rjust(width) for at, (text, width) in enumerate(zip(row, widths)))
             for row in rows]
    if result.failure:
        lines.append(f"{'wrong outputs' if result.failure_kind == 'check' else 'the candidate failed'}: {_shown(result.failure)}")
    elif result.checked:
        lines.append(f"{result.checked} outputs checked, all right")
    lines += [f"not to be trusted: {code}: {_shown(message)}" for code, message in result.notes.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="python3 -m kprof.event", description=__doc__.partition("\n")[0],
                                     epilog="Exit codes: 1: the candidate failed; 2: usage; 3: outputs are wrong.")
    parser.add_argument("candidate", metavar="FILE.py[:FUNCTION]", help="the function is `kernel` where none is named")
    parser.add_argument("--task", metavar="FILE.py", help="make_inputs, and reference or check; without it nothing is checked")
    parser.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--samples", type=int, metavar="N", help="of each case; default: as many as kprofd asks for, else 100")
    parser.add_argument("--calls", type=int, default=1, metavar="N", help="that are timed together, for short code (1)")
    parser.add_argument("--tries", type=int, default=TRIES, metavar="N", help=f"of a sample; the shortest counts ({TRIES})")
    parser.add_argument("--warmup", type=int, default=WARM_UP, metavar="N", help=f"calls before the first sample ({WARM_UP})")
    parser.add_argument("--clock", choices=event_device.CLOCKS, default="host", help="default: host")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="of a sample (60)")
    given = parser.parse_args()
    try:
        result = bench(given.candidate, given.task, given.case, given.samples, given.calls, given.tries, given.warmup, given.clock,
                       given.timeout, strays=Strays())
    except (UsageError, TaskFailed, event_device.NoTimer, OSError) as error:
        sys.stderr.write(f"kprof.event: {error}\n")
        return 2
    print(table_of(result))
    return EXIT_CODES.get(result.failure_kind, 1)


if __name__ == "__main__":
    sys.exit(main())
