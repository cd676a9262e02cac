"""What the candidates beside it are asked for: to smooth a row of numbers, so often. Milliseconds of work in plain Python."""

import array
import random

cases = {"n=500,rounds=40": (500, 40)}
tolerance = 1e-9


def make_inputs(case, seed):
    count, rounds = case
    make = random.Random(seed)
    return array.array("d", [make.random() for _ in range(count)]), rounds


def reference(numbers, rounds):
    for _ in range(rounds):
        numbers = array.array("d", [(one + other) / 2 for one, other in zip(numbers, numbers[1:] + numbers[:1])])
    return numbers


def flops(case):
    return 2 * case[0] * case[1]
