"""Findings of traces: each has a trace where it is one, with the gain that its formula gives by hand, and traces where it is none. And
the summary, which the end of an import shows."""

import os
import unittest

import kprof_testing
from kprof_testing import DaemonTest

TRACES = os.path.join(kprof_testing.ROOT, "tests", "golden", "traces")

# Of tests/golden/traces; in us, as the traces have their times. docs/analyses/findings.md has the formulas.
HOST_BOUND = {
    # Gaps that the host makes, less what it waits in them: 60 + 50 + (60 - 25) + (80 - 55) + (50 - 30) + (70 - 40).
    "launch_bound": 220,
    "data_loader_bound": 55,  # in __next__, of the gap of 80
    "allocator_stalls": 40,  # cudaFree in the second half; the cudaMalloc of 30 in the first half does not count
    "sync_bound": 25,  # cudaDeviceSynchronize of 25 ends in a gap of 60
}
DEVICE_BOUND = {
    "low_tensor_core_share": 140 - 140 / 7,  # volta_sgemm of 140
    "exposed_communication": 80,  # from 350, where compute ends, to 430
    "kernel_fragmentation": 20 * 2,  # 20 kernels of 2, a gap of 2 before each
    "pageable_copies": 30,  # one copy, with nothing beside it
    "small_copies": 11 * 2,  # 12 copies of 2 as one
}
GRAPH = {"graph_candidate": 5 * (3 * 5 - 3 * 1)}  # 5 times 3 gaps of 5, of which a graph leaves 1 each
UNEVEN = {"rank_imbalance": 100 - (100 + 60) / 2}

LONGEST_NEEDS = {"low_tensor_core_share": ["plain_matrix_kernel_ns", "matrix_kernel_ns"]}


class FindingsTest(DaemonTest):
    def analyze(self, kind, *args):
        return self.daemon.ctl.json("analyze", kind, *args)

    def imported(self, name):
        return self.daemon.ctl.json("import", os.path.join(TRACES, name))["id"]

    def found(self, name):
        result = self.analyze("findings", self.imported(name))["result"]
        missing = {row["code"]: row["missing"] for row in result["not_evaluated"]}
        return {row["code"]: row["gain_ns"] / 1000 for row in result["findings"]}, missing, result

    def test_gains_of_the_host_are_those_by_hand(self):
        found, missing, _ = self.found("host_bound.json")
        self.assertEqual(found, HOST_BOUND)
        self.assertEqual(missing, {"low_tensor_core_share": LONGEST_NEEDS["low_tensor_core_share"], "rank_imbalance":
                                   ["total_ns", "ranks", "most_compute_ns", "most_compute_rank", "mean_compute_ns"]})

    def test_gains_of_the_device_are_those_by_hand(self):
        found, missing, result = self.found("device_bound.json")
        self.assertEqual(found, DEVICE_BOUND)
        self.assertEqual(list(missing), ["rank_imbalance"])
        for row in result["findings"]:
            self.assertAlmostEqual(row["gain_percent"], row["gain_ns"] / 1_000_000 * 100)
            self.assertEqual(row["evidence"][0], {"metric": "total_ns", "value": 1_000_000, "unit": "ns"})
            self.assertTrue(row["hint"] and row["source"].startswith("https://") and row["message"])
            words = row["command"].split()
            self.assertEqual(words[:2], ["kprofctl", "analyze"])
            self.daemon.ctl.run(*words[1:])  # it can be pasted

    def test_gains_of_a_graph_and_of_even_ranks_are_those_by_hand(self):
        self.assertEqual(self.found("launched_one_by_one.json")[0], GRAPH)
        self.assertEqual(self.found("uneven_ranks")[0], UNEVEN)

    def test_a_trace_without_trouble_has_no_finding_and_all_are_evaluated(self):
        found, missing, _ = self.found("nothing_to_find")
        self.assertEqual((found, missing), ({}, {}))

    def test_what_a_trace_does_not_have_is_not_evaluated(self):
        found, missing, _ = self.found("host_only.json")
        self.assertEqual(found, {})
        codes = {**HOST_BOUND, **DEVICE_BOUND, **GRAPH, **UNEVEN}
        self.assertEqual(set(missing), set(codes))

    def test_the_page_has_all_findings(self):
        with open(os.path.join(kprof_testing.ROOT, "docs", "analyses", "findings.md"), encoding="utf-8") as page:
            text = page.read()
        for code in {**HOST_BOUND, **DEVICE_BOUND, **GRAPH, **UNEVEN}:
            self.assertIn(f"| `{code}` |", text)


if __name__ == "__main__":
    unittest.main()
