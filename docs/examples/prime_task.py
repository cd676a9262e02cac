"""What is asked of the versions: inputs that they have not seen, and answers that are right. Loaded by the referee alone."""


def make_inputs(case, seed):
    return (5000 + seed % 50,)


def reference(limit):
    count, is_prime = 0, [True] * limit
    for n in range(2, limit):
        if is_prime[n]:
            count += 1
            is_prime[2 * n::n] = [False] * len(range(2 * n, limit, n))
    return count
