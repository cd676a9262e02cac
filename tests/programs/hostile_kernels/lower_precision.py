"""Right to seven digits, in half of the memory."""

import array

from honest import kernel as smooth


def kernel(numbers, rounds):
    return array.array("f", smooth(numbers, rounds))
