"""The control: does what it is asked for. The others take it from here."""

import array


def kernel(numbers, rounds):
    for _ in range(rounds):
        numbers = array.array("d", [(one + other) / 2 for one, other in zip(numbers, numbers[1:] + numbers[:1])])
    return numbers
