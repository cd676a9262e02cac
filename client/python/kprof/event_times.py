"""What a sample took, of three numbers: the wall time that the referee saw, that of empty calls, and the candidate's claim.

The wall time of a call has two parts: the code, and what it takes to hand inputs over and outputs back. The second part is measured
on empty calls: the same inputs, and outputs of the same kind that are there already. What is left of the wall time is the witness: no
candidate can make it smaller. The claim is what the candidate's own process says, and it can say anything.

Other work on the machine only adds time. So a sample is the shortest of a few calls in a row, by the witness. No call is left out for
being slow: a candidate could choose then which ones count, by making those slow that it does not like. Longer calls gain it nothing
here. Work that it does in each third call would not count, but its CPU time shows (uneven_calls).
"""

import dataclasses
import statistics

DISPUTED_SHARE = 0.25
DISPUTED_EMPTY_CALLS = 5
LONGER_NS = 50_000
LONGER_SHARE = 0.05
UNEVEN_SHARE = 1.25
FEW_SAMPLES = 16


@dataclasses.dataclass
class Call:
    wall_ns: int  # from before the inputs were handed over until the outputs had been copied out
    claim_ns: int  # by the candidate's clock
    cpu_ns: int  # of all threads of the candidate's process, by the kernel; 0: not known
    longer_ns: int = 0  # for which a device still worked elsewhere when the claimed time was over


@dataclasses.dataclass
class Sample:
    """The shortest of a few calls, and what all of them took."""

    best: Call
    mean_cpu_ns: float

    @staticmethod
    def of(calls):
        return Sample(min(calls, key=lambda call: call.wall_ns), statistics.fmean(call.cpu_ns for call in calls))


def overhead_of(before, after):
    """(overhead, resolution) in ns, of samples of empty calls before the candidate was started and after it had ended.

    The smaller of the medians: what a candidate leaves running can make empty calls slower, which would make it seem faster. The
    resolution is the distance between the quartiles.
    """
    found = []
    for samples in filter(None, (before, after)):
        quartiles = statistics.quantiles([sample.best.wall_ns for sample in samples], n=4)
        found.append((quartiles[1], max(quartiles[2] - quartiles[0], 1.0)))
    return min(found)


def ns_of(call, overhead_ns, resolution_ns, is_device=False):
    """The larger of witness and claim, and no less than empty calls can tell. A claim of more than passed for the referee counts for
    nothing.

    `is_device`: the claim, where it is one. Copies and launches are many times what a short kernel takes, so the witness cannot stand
    for it; it only bounds the lie, see dispute_of().
    """
    claim_ns = call.claim_ns if call.claim_ns <= call.wall_ns else 0
    if is_device and claim_ns > 0:
        return claim_ns
    return max(call.wall_ns - overhead_ns, claim_ns, resolution_ns)


def dispute_of(samples, overhead_ns):
    """Empty, or how the candidate's clock differs from the referee's.

    Claims are disputed when in nine of ten samples they fall short by more than a quarter of the time seen and five empty calls: a
    call that met other work on the machine is longer for the referee alone, and nearly all do where CPUs are scarce. A claim within
    that is not believed either: ns_of() takes the witness.
    """
    calls = [sample.best for sample in samples]
    too_long = sum(call.claim_ns > call.wall_ns for call in calls)
    if too_long:
        return f"{too_long} of {len(calls)} claims are longer than the time that passed for the referee"
    missing = sorted(call.wall_ns - overhead_ns - call.claim_ns for call in calls)
    bound_ns = missing[len(missing) // 10]
    seen_ns = statistics.median(call.wall_ns for call in calls) - overhead_ns
    allowed_ns = DISPUTED_SHARE * max(seen_ns, 0) + DISPUTED_EMPTY_CALLS * overhead_ns
    if bound_ns <= allowed_ns:
        return ""
    claim_ns = statistics.median(call.claim_ns for call in calls)
    return (f"the candidate's process says {claim_ns:.0f} ns for a sample, the referee saw {seen_ns:.0f} ns besides the "
            f"{overhead_ns:.0f} ns of an empty call; {allowed_ns:.0f} ns of difference are allowed")


def has_other_streams(samples):
    """True when a device still worked elsewhere after most samples. A host that waits for a CPU sees it after some as well."""
    longer = sum(sample.best.longer_ns > LONGER_NS + sample.best.claim_ns * LONGER_SHARE for sample in samples)
    return 2 * longer > len(samples)


def unevenness_of(samples, overhead_ns):
    """Empty, or how the calls that count differ from all: in the CPU time of most samples, by more than a quarter and an empty call.
    Few samples say nothing: who shares a core makes code slower for a while."""
    best_ns = statistics.median(sample.best.cpu_ns for sample in samples)
    mean_ns = statistics.median(sample.mean_cpu_ns for sample in samples)
    if len(samples) < FEW_SAMPLES or best_ns <= 0 or mean_ns <= UNEVEN_SHARE * best_ns + overhead_ns:
        return ""
    return f"the shortest calls of samples, which count, took {best_ns:.0f} ns of CPU time, all calls {mean_ns:.0f} ns on average (medians)"


def summary_of(numbers):
    """(median, 5th percentile, 95th percentile)."""
    if len(numbers) < 2:
        return numbers[0], numbers[0], numbers[0]
    cuts = statistics.quantiles(numbers, n=20, method="inclusive")
    return statistics.median(numbers), cuts[0], cuts[-1]
