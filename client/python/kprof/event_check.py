"""Compares a candidate's outputs with those expected: the same types and shapes, numbers within a tolerance, NaN only where NaN is
expected."""

import array
import math

from kprof.event_values import numpy_if_loaded

USUAL_TOLERANCE = {"rtol": 1e-6, "atol": 1e-9}


def tolerance_of(told):
    """{"rtol": r, "atol": a} of what a task says: a number (relative), a dict of one or both, or None."""
    if told is None:
        return dict(USUAL_TOLERANCE)
    if isinstance(told, dict):
        unknown = set(told) - {"rtol", "atol"}
        if unknown:
            raise ValueError(f"tolerance: there are rtol and atol, not {', '.join(sorted(unknown))}")
        return {"rtol": float(told.get("rtol", 0)), "atol": float(told.get("atol", 0))}
    return {"rtol": float(told), "atol": 0.0}


def _is_close(got, expected, tolerance):
    if expected != expected:
        return got != got
    if math.isinf(expected) or got != got or math.isinf(got):
        return got == expected
    return abs(got - expected) <= tolerance["atol"] + tolerance["rtol"] * abs(expected)


def _differing(got, expected, tolerance):
    """Indices of numbers that differ, of two sequences of one length."""
    numpy = numpy_if_loaded()
    if numpy is None:
        exact = isinstance(expected, array.array) and expected.typecode not in "fd"
        return [at for at, (one, other) in enumerate(zip(got, expected))
                if (one != other if exact else not _is_close(one, other, tolerance))]
    got, expected = numpy.asarray(got).reshape(-1), numpy.asarray(expected).reshape(-1)
    if expected.dtype.kind not in "fc":
        return numpy.flatnonzero(got != expected)
    with numpy.errstate(all="ignore"):
        close = numpy.abs(got - expected) <= tolerance["atol"] + tolerance["rtol"] * numpy.abs(expected)
        is_finite = numpy.isfinite(got) & numpy.isfinite(expected)
        same = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
    return numpy.flatnonzero(~numpy.where(is_finite, close, same))


def _compare_numbers(got, expected, tolerance, where):
    differing = _differing(got, expected, tolerance)
    if len(differing) == 0:
        return ""
    at = int(differing[0])
    numpy = numpy_if_loaded()
    flat = (lambda values: values.reshape(-1)) if numpy and isinstance(expected, numpy.ndarray) else (lambda values: values)
    return (f"{where}[{at}] is {flat(got)[at]}, {flat(expected)[at]} is expected; {len(differing)} of {len(flat(expected))} values "
            f"differ")


def difference(got, expected, tolerance, where="outputs"):
    """Empty where they are the same within the tolerance; else where and how they differ."""
    if hasattr(expected, "detach"):
        expected = expected.detach().cpu().numpy()
    if hasattr(got, "detach"):
        got = got.detach().cpu().numpy()
    numpy = numpy_if_loaded()
    if type(got) is not type(expected):
        return f"{where} is of type {type(got).__name__}, {type(expected).__name__} is expected"
    if isinstance(expected, (list, tuple)):
        if len(got) != len(expected):
            return f"{where} has {len(got)} items, {len(expected)} are expected"
        for at, (one, other) in enumerate(zip(got, expected)):
            text = difference(one, other, tolerance, f"{where}[{at}]")
            if text:
                return text
        return ""
    if numpy and isinstance(expected, (numpy.ndarray, numpy.generic)):
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return f"{where} is {got.dtype} of shape {got.shape}, {expected.dtype} of {expected.shape} is expected"
        return _compare_numbers(numpy.atleast_1d(got), numpy.atleast_1d(expected), tolerance, where)
    if isinstance(expected, (array.array, memoryview)):
        code = "typecode" if isinstance(expected, array.array) else "format"
        if len(got) != len(expected) or getattr(got, code) != getattr(expected, code):
            return f"{where} has {len(got)} numbers of type {getattr(got, code)}, {len(expected)} of {getattr(expected, code)} are expected"
        return _compare_numbers(got, expected, tolerance, where)
    if isinstance(expected, float):
        return "" if _is_close(got, expected, tolerance) else f"{where} is {got}, {expected} is expected"
    return "" if got == expected else f"{where} is {str(got)[:80]!r}, {str(expected)[:80]!r} is expected"
