"""Findings of traces: each has a trace where it is one, with the gain that its formula gives by hand, and traces where it is none. And
the summary, which the end of an import shows."""

import os
import unittest

import kprof_testing
import test_terminal
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
HOST_WORK = {"host_work_bound": 3000}  # from 100 to 3100 no kernel runs, and the host launches none; the gap of 60 is launched late, and is less than 5 %
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

    def test_other_work_of_the_host_is_no_launch(self):
        self.assertEqual(self.found("host_does_other_work.json")[0], HOST_WORK)

    def test_gains_of_a_graph_and_of_even_ranks_are_those_by_hand(self):
        self.assertEqual(self.found("launched_one_by_one.json")[0], GRAPH)
        self.assertEqual(self.found("uneven_ranks")[0], UNEVEN)

    def test_a_trace_without_trouble_has_no_finding_and_all_are_evaluated(self):
        found, missing, _ = self.found("nothing_to_find")
        self.assertEqual((found, missing), ({}, {}))

    def test_what_a_trace_does_not_have_is_not_evaluated(self):
        found, missing, _ = self.found("host_only.json")
        self.assertEqual(found, {})
        codes = {**HOST_BOUND, **DEVICE_BOUND, **GRAPH, **HOST_WORK, **UNEVEN}
        self.assertEqual(set(missing), set(codes))

    def test_the_page_has_all_findings(self):
        with open(os.path.join(kprof_testing.ROOT, "docs", "analyses", "findings.md"), encoding="utf-8") as page:
            text = page.read()
        for code in {**HOST_BOUND, **DEVICE_BOUND, **GRAPH, **HOST_WORK, **UNEVEN}:
            self.assertIn(f"| `{code}` |", text)


class SummaryTest(test_terminal.TerminalTest):
    """What is printed when nothing was asked."""

    def trace(self, name):
        return os.path.join(TRACES, name)

    def test_an_import_ends_with_the_summary(self):
        text = self.ctl.run("import", self.trace("host_bound.json")).text
        self.assertRegex(text, r"(?m)^run         [0-9a-z]+\n(.*\n)+\nsummary     1 device, 1.000 ms, 8 kernels, 8 launches$")
        self.assertIn("busy        50.9 %: compute 50.9 %", text)
        self.assertIn("\nlaunch_bound  22.0 %, 220.000 us\n", text)
        run = text.split()[1]
        self.assertIn(f"kprofctl analyze launch-stats {run} --rank 0", text)
        self.assertEqual(self.ctl.run("analyze", "summary", run).text, text[text.index("summary     1 device"):])

    def test_json_and_detach_are_as_they_were(self):
        run = self.ctl.json("import", self.trace("device_bound.json"))
        self.assertEqual(run["schema"], "kprof.run.v1")
        said = self.ctl.run("--json", "import", self.trace("device_bound.json"), "--again")
        self.assertEqual(len(said.out.splitlines()), 1)
        said = self.ctl.run("import", self.trace("device_bound.json"), "--again", "--detach").text
        self.assertNotIn("busy", said)

    def test_of_several_runs_the_first_has_it(self):
        ran = self.ctl.run("import", self.trace("launched_one_by_one.json"), self.trace("device_bound.json"), "--separate", "--again")
        self.assertEqual(ran.text.count("\nsummary     1 device"), 1)
        self.assertIn("graph_candidate", ran.text)
        self.assertIn("kprofctl analyze summary ID", ran.err.decode())

    def test_a_capture_with_a_trace_ends_with_it_and_one_without_does_not(self):
        command = ["--", "sh", "-c", f"cp '{self.trace('host_bound.json')}' \"$KPROF_OUTPUT_DIR\"; echo its own"]
        ran = self.ctl.run("capture", "command", "--device", "none", *command)
        self.assertEqual(ran.out, b"its own\n")
        self.assertIn("summary     1 device", ran.err.decode())
        ran = self.ctl.run("capture", "command", "--device", "none", "--quiet", *command)
        self.assertNotIn("summary     1 device", (ran.out + ran.err).decode())
        ran = self.ctl.run("--json", "capture", "command", "--device", "none", *command)
        self.assertNotIn("summary     1 device", (ran.out + ran.err).decode())
        ran = self.ctl.run("capture", "command", "--device", "none", "--", "true")
        self.assertNotIn("busy", ran.err.decode())

    def test_it_fits_a_terminal(self):
        paths = [self.trace(name) for name in ("host_bound.json", "device_bound.json", "two_ranks", "host_only.json")]
        if os.path.isdir(os.path.join(kprof_testing.DATA, "kineto")):
            names = ("v100_resnet50_2021schema", "b200_eager_rank0of8", "mi300x_flux_rank0")
            paths += [os.path.join(kprof_testing.DATA, "kineto", f"{name}.json.gz") for name in names]
        for path in paths:
            run = self.ctl.json("import", path)["id"]
            for columns in (80, 120):
                with self.subTest(path=path, columns=columns):
                    shown = self.shown("analyze", "summary", run, columns=columns)
                    self.assert_fits("\n".join(line for line in shown.splitlines() if not line.startswith("kprofctl: ")), columns)
                    self.assertLessEqual(len(shown.splitlines()), 31)


if __name__ == "__main__":
    unittest.main()
