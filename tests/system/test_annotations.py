"""Annotations of a real Nsight Systems export, held against what nsightful made of the same file: the ranges that launched kernels, projected onto them."""

import collections
import gzip
import json
import os
import unittest

import kprof_testing
from kprof_testing import DATA, DaemonTest

EXPORT = os.path.join(DATA, "nsys", "t4_power_iteration.sqlite")
ORACLE = os.path.join(DATA, "nsys", "t4_power_iteration.chrome.json.gz")


class AnnotationsTest(DaemonTest):
    @unittest.skipUnless(os.path.exists(EXPORT) and os.path.exists(ORACLE), f"no {EXPORT}, or no {ORACLE}")
    def test_ranges_are_projected_as_nsightful_does(self):
        run = self.ctl.json("import", EXPORT, limit_s=4 * kprof_testing.LIMIT_S)["id"]
        rows = self.ctl.json("analyze", "annotations", run, "--operations", "kernels")["result"]["annotations"]
        with gzip.open(ORACLE, "rt", encoding="utf-8") as file:
            theirs = [event for event in json.load(file) if event.get("cat") == "nvtx-kernel"]
        self.assertEqual(len(theirs), 698)
        first = min(round(event["ts"] * 1000) for event in theirs) - min(row["device_start_ns"] for row in rows)
        self.assertEqual(collections.Counter((row["name"], row["device_start_ns"] + first, row["device_ns"]) for row in rows),
                         collections.Counter((event["name"], round(event["ts"] * 1000), round(event["dur"] * 1000))
                                             for event in theirs))


if __name__ == "__main__":
    unittest.main()
