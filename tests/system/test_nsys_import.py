"""Real exports of Nsight Systems, from the file to the answers: what SQL says of an export and kprofctl of its run."""

import os
import sqlite3
import unittest

from kprof_testing import DATA, OwnDaemonTest

# Table, categories of its events, when they begin and end.
TABLES = (
    ("CUPTI_ACTIVITY_KIND_KERNEL", ("kernel",), "start", "end"),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", ("gpu_memcpy",), "start", "end"),
    ("CUPTI_ACTIVITY_KIND_MEMSET", ("gpu_memset",), "start", "end"),
    ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", ("cuda_sync",), "start", "end"),
    ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", ("cuda_event",), "timestamp", None),
    ("CUPTI_ACTIVITY_KIND_RUNTIME", ("cuda_runtime", "cuda_driver"), "start", "end"),
    ("NVTX_EVENTS", ("nvtx",), "start", "end"),
    ("OSRT_API", ("os_runtime",), "start", "end"),
    ("OSRT_FILE_ACCESS_EVENTS", ("os_file",), "startedAt", "endedAt"),
    ("PROFILER_OVERHEAD", ("overhead",), "start", "end"),
    ("COMPOSITE_EVENTS", ("cpu_sample",), "start", None),
    ("SCHED_EVENTS", ("sched",), "start", None),
    ("DIAGNOSTIC_EVENT", ("diagnostic",), "timestamp", None),
)


class NsysImportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()

    def ask(self, run, sql):
        return self.daemon.ctl.json("query", "--run", run, sql)["rows"]

    def of_table(self, export, table, start, end):
        """How many rows a table has, the sum of when they begin, and of how long they are."""
        if not export.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]:
            return 0, 0, 0
        long = f'"{end}" - "{start}"' if end else "0"
        return export.execute(
            f'SELECT count(*), coalesce(sum("{start}"), 0), coalesce(sum({long}), 0) FROM "{table}"').fetchone()

    def of_run(self, run, categories):
        events, starts, long = 0, 0, 0
        named = ", ".join(f"'{category}'" for category in categories)
        for kind in ("slice", "instant", "metadata"):
            duration = "coalesce(sum(dur_ns), 0)" if kind == "slice" else "0"
            row = self.ask(run, f"SELECT count(*), coalesce(sum(ts_ns), 0), {duration} FROM {kind} "
                                f"WHERE category IN ({named})")[0]
            events, starts, long = events + row[0], starts + row[1], long + row[2]
        return events, starts, long

    def assert_is_the_export(self, name):
        path = os.path.join(DATA, "nsys", name)
        if not os.path.exists(path):
            self.skipTest(f"{path} is not there")
        run = self.daemon.ctl.json("import", path)
        self.assertEqual([reason for reason in run["trust"] if reason["code"] == "source_incomplete"], [])
        with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as export:
            events = 0
            for table, categories, start, end in TABLES:
                expected = self.of_table(export, table, start, end)
                self.assertEqual(self.of_run(run["id"], categories), expected, table)
                events += expected[0]
        told = run["trace"]
        metadata = self.ask(run["id"], "SELECT count(*) FROM metadata")[0][0]
        self.assertEqual(told["slices"] + told["instants"] + metadata, events)

    def test_counts_and_sums_of_a_t4(self):
        self.assert_is_the_export("t4_power_iteration.sqlite")

    def test_counts_and_sums_of_two_gpus_before(self):
        self.assert_is_the_export("2gpu_mfu_before.sqlite")

    def test_counts_and_sums_of_two_gpus_after(self):
        self.assert_is_the_export("2gpu_mfu_after.sqlite")

    def test_counts_and_sums_without_kernels(self):
        self.assert_is_the_export("rtx4060_no_kernels.sqlite")


if __name__ == "__main__":
    unittest.main()
