"""Keeps outputs by what is in the inputs. Right, and quick where inputs come again; says so when they do."""

import sys

from honest import kernel as smooth

known = {}


def kernel(numbers, rounds):
    content = (numbers.tobytes(), rounds)
    if content in known:
        sys.stderr.write("HIT\n")
    else:
        known[content] = smooth(numbers, rounds)
    return known[content]
