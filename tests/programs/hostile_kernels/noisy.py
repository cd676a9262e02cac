"""The control that is right, and takes another time each time."""

import random
import time

from honest import kernel as smooth


def kernel(numbers, rounds):
    time.sleep(random.random() / 200)
    return smooth(numbers, rounds)
