"""The control that is wrong, by an honest mistake: one round too few."""

from honest import kernel as smooth


def kernel(numbers, rounds):
    return smooth(numbers, rounds - 1)
