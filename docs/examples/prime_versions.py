"""Versions of a function: how many primes are there below a limit? Tried one after another by optimise_loop.py."""

import math
import time

CLOCKS = {name: getattr(time, name) for name in ("perf_counter_ns", "monotonic_ns", "process_time_ns", "time_ns")}


def every_divisor(limit):
    return sum(all(n % d for d in range(2, math.isqrt(n) + 1)) for n in range(2, limit))


def odd_divisors(limit):
    return 1 + sum(all(n % d for d in range(3, math.isqrt(n) + 1, 2)) for n in range(3, limit, 2))


def prime_divisors(limit):
    primes = [2]
    for n in range(3, limit, 2):
        for prime in primes:
            if prime * prime > n:
                primes.append(n)
                break
            if n % prime == 0:
                break
    return len(primes)


def sieve(limit):
    is_prime = [True] * limit
    for n in range(2, math.isqrt(limit) + 1):
        if is_prime[n]:
            for multiple in range(n * n, limit, n):
                is_prime[multiple] = False
    return sum(is_prime[2:])


def byte_sieve(limit):
    is_prime = bytearray([1]) * limit
    for n in range(2, math.isqrt(limit) + 1):
        if is_prime[n]:
            is_prime[n * n::n] = bytes(len(range(n * n, limit, n)))
    return sum(is_prime[2:])


# These are no progress.


def forgets_the_two(limit):
    """Fast, and wrong."""
    return byte_sieve(limit) - 1


def slows_the_clock(limit):
    """As slow as the first one, and the clocks of its process go at a thousandth from now on."""
    for name in CLOCKS:
        setattr(time, name, lambda real=CLOCKS[name]: real() // 1000)
    return every_divisor(limit)


def number_set(limit):
    left = set(range(2, limit))
    for n in range(2, math.isqrt(limit) + 1):
        if n in left:
            left.difference_update(range(n * n, limit, n))
    return len(left)


def sieve_by_every_number(limit):
    is_prime = bytearray([1]) * limit
    for n in range(2, limit // 2):
        is_prime[2 * n::n] = bytes(len(range(2 * n, limit, n)))
    return sum(is_prime[2:])


def filtered_list(limit):
    numbers = list(range(2, limit))
    for n in range(2, math.isqrt(limit) + 1):
        numbers = [number for number in numbers if number == n or number % n]
    return len(numbers)
