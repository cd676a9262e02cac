import array, random
cases = {"n=1000": 1000, "n=100000": 100_000}
def make_inputs(case, seed):
    random.seed(seed)
    return (array.array("d", [random.random() for _ in range(case)]),)
def reference(numbers):
    return float(sum(numbers))
