"""Numbers that were measured of kernels: counters of a trace as rows of `metric`, and what a command writes to
$KPROF_METRICS."""

import json
import os
import unittest

import kprof_testing
from kprof_node import ALICE, Caller, Node
from kprof_testing import DaemonTest, distrust, temporary_folder


def counted_trace(launches, counters):
    """A Kineto trace with what CUPTI's profiler counted in each launch of two kernels."""
    events = [{"ph": "X", "cat": "cuda_profiler_range", "name": f"gemm<{i % 2}>", "pid": 0, "tid": 0, "ts": 10 + i, "dur": 1,
               "args": {f"counter_{j}.sum": i * counters + j for j in range(counters)}} for i in range(launches)]
    events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 9, "args": {"n": 7}})
    return json.dumps({"traceEvents": events}).encode()


def codes_of(run):
    return [reason["code"] for reason in run["trust"]]


class CountersTest(DaemonTest):
    def import_trace(self, content):
        path = os.path.join(self.folder, "counted.json")
        with open(path, "wb") as file:
            file.write(content)
        return self.ctl.json("import", path)

    def ask(self, run, sql):
        return self.ctl.json("query", "--run", run, "--limit", "1000000", sql)["rows"]

    def test_counters_of_launches_are_rows_of_metric(self):
        run = self.import_trace(counted_trace(5, 3))
        self.assertEqual(run["trace"]["slices"], 6)
        rows = self.ask(run["id"], "SELECT kernel, launch, name, value, unit, part FROM metric WHERE launch IS NOT NULL")
        self.assertEqual(rows, [[f"gemm<{i % 2}>", i, f"counter_{j}.sum", 3 * i + j, "", "trace"]
                                for i in range(5) for j in range(3)])
        # The events are as they were.
        args = self.ask(run["id"], "SELECT args FROM slice WHERE category = 'cuda_profiler_range' ORDER BY ts_ns LIMIT 1")
        self.assertEqual(json.loads(args[0][0]), {"counter_0.sum": 0, "counter_1.sum": 1, "counter_2.sum": 2})

    def test_the_catalog_keeps_a_row_for_each_kernel_and_metric(self):
        run = self.import_trace(counted_trace(6, 2))
        sql = f"SELECT kernel, launch, name, value FROM metric WHERE run = '{run['id']}' AND kernel IS NOT NULL ORDER BY 1, 3"
        means = [["gemm<0>", None, "counter_0.sum", 4], ["gemm<0>", None, "counter_1.sum", 5],
                 ["gemm<1>", None, "counter_0.sum", 6], ["gemm<1>", None, "counter_1.sum", 7]]
        self.assertEqual(self.ctl.json("query", sql)["rows"], means)
        self.assertEqual(self.ask(run["id"], "SELECT count(*) FROM metric WHERE part IS NULL AND kernel IS NOT NULL"), [[4]])
        self.assertEqual(run["metrics"]["kernel_metric_rows"], 12)
        self.assertNotIn("kernel_metrics_in_trace_alone", run["metrics"])
        self.assertEqual(self.ctl.show(run["id"])["metrics"], run["metrics"])

    def test_many_are_kept_in_the_part_and_few_in_the_catalog(self):
        run = self.import_trace(counted_trace(1000, 300))
        self.assertEqual(self.ask(run["id"], "SELECT count(*), sum(value) FROM metric WHERE launch IS NOT NULL"),
                         [[300_000, sum(range(300_000))]])
        self.assertEqual(run["metrics"]["kernel_metrics_in_trace_alone"], 2 * 300 - 2 * 32)
        [[stored]] = self.ctl.json("query", f"SELECT count(*) FROM metric WHERE run = '{run['id']}'")["rows"]
        self.assertLess(stored, 100)

    def test_a_trace_without_counters_has_none(self):
        run = self.import_trace(counted_trace(0, 1))
        self.assertEqual(self.ask(run["id"], "SELECT name FROM metric"), [["wall_ns"]])


class KernelReportTest(DaemonTest):
    """A report of kernels: the numbers that a profiler measured of each launch."""

    def test_an_import_ends_with_kernels_what_bounds_them_and_findings(self):
        path = os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", "kernel_report.json")
        screen = self.ctl.run("import", path).out.decode()
        self.assertIn("MEASURED KERNELS", screen)
        self.assertIn("\nverdict     gemm_bf16<128, 128> is compute-bound: compute at 75.1 %, memory at ", screen)
        self.assertRegex(screen, r"\n  try: \w+")
        gemm = next(line for line in screen.splitlines() if "gemm_bf16" in line and not line.startswith("verdict"))
        self.assertIn("compute", gemm)
        self.assertIn("75.1 %", gemm)
        self.assertIn("FINDINGS", screen)
        self.assertIn("tail_effect", screen)

    def test_stages_may_stand_in_a_file(self):
        path = os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", "kernel_report.json")
        run = self.ctl.json("import", path)["id"]
        stages = os.path.join(self.folder, "stages.json")
        with open(stages, "w", encoding="utf-8") as file:
            json.dump({"gemm_bf16": {"flops": 1e11, "bytes": 4e8, "dtype": "bf16"}}, file)
        [stage] = self.ctl.json("analyze", "roofline", run, "--stages", "@" + stages)["result"]["stages"]
        self.assertEqual((stage["stage"], stage["launches"], stage["duration_ns"]), ("gemm_bf16", 2, 210_000))
        self.ctl.run("analyze", "roofline", run, "--stages", "@" + stages + ".none", expect="bad_input")

    def test_sql_has_the_verdicts(self):
        path = os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", "kernel_report.json")
        run = self.ctl.json("import", path)["id"]
        sql = "SELECT bottleneck FROM analyze_roofline WHERE policy = 'tc60-dram70' AND name LIKE 'gemm%'"
        self.assertEqual(self.ctl.json("query", "--run", run, sql)["rows"], [["compute"]])
        sql = "SELECT count(*) FROM analyze_findings_diagnosis WHERE category = 'unknown'"
        self.assertEqual(self.ctl.json("query", "--run", run, sql)["rows"], [[1]])


class ReportedTest(DaemonTest):
    """User mode."""

    def metrics_of(self, run, sql="SELECT kernel, launch, name, value, unit FROM metric WHERE position >= 6"):
        return self.ctl.json("query", "--run", run["id"], sql)["rows"]

    def test_what_a_command_writes_is_its_runs(self):
        script = ("echo '{\"name\":\"loss\",\"value\":0.5,\"unit\":\"nats\"}' > $KPROF_METRICS\n"
                  "echo '{\"name\":\"loss\",\"value\":0.25,\"unit\":\"nats\"}' >> $KPROF_METRICS\n"
                  "echo '{\"name\":\"dram\",\"value\":7,\"kernel\":\"gemm\",\"launch\":3}' > $KPROF_METRICS")
        run = self.ctl.capture("sh", "-c", script)
        self.assertEqual(run["state"], "done")
        self.assertEqual(run["metrics"]["loss"], 0.25)
        self.assertNotIn("dram", run["metrics"])
        self.assertEqual(distrust(run), [])
        self.assertEqual(self.metrics_of(run), [[None, None, "loss", 0.25, "nats"], ["gemm", 3, "dram", 7, ""]])
        rows = self.ctl.json("query", f"SELECT name FROM metric WHERE run = '{run['id']}' AND kernel = 'gemm'")["rows"]
        self.assertEqual(rows, [["dram"]])
        self.assertFalse([name for name in self.ctl.show(run["id"])["environment"] if name.startswith("KPROF_")])

    def test_a_worker_in_python_writes_it_too(self):
        code = ("import json, os, subprocess, sys\n"
                "if len(sys.argv) > 1:\n"
                "    with open(os.environ['KPROF_METRICS'], 'a') as out:\n"
                "        print(json.dumps({'name': 'tokens', 'value': 12.5}), file=out)\n"
                "else:\n"
                "    subprocess.run([sys.executable, __file__, 'worker'], check=True)\n")
        path = os.path.join(self.folder, "worker.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        self.assertEqual(self.ctl.capture("/usr/bin/python3", path)["metrics"]["tokens"], 12.5)

    def test_a_detached_run_and_one_that_fails_have_theirs(self):
        run = self.ctl.detach("sh", "-c", "echo '{\"name\":\"a\",\"value\":1}' > $KPROF_METRICS; exit 3")
        ended = self.ctl.json("wait", run, expect="command_failed")
        self.assertEqual((ended["exit_code"], ended["metrics"]["a"]), (3, 1))

    def test_what_is_no_metric_is_counted_and_named(self):
        run = self.ctl.capture("sh", "-c", "printf 'nonsense\\n{\"name\":\"wall_ns\",\"value\":1}\\n' > $KPROF_METRICS")
        self.assertEqual(run["state"], "done")
        [message] = [reason["message"] for reason in run["trust"] if reason["code"] == "metrics_not_understood"]
        self.assertIn("2 of 2 lines in $KPROF_METRICS are no metrics; the first, line 1: it is no JSON object", message)
        self.assertGreater(run["metrics"]["wall_ns"], 1)

    def test_a_flood_is_bounded_and_holds_nobody_up(self):
        code = ("import os\n"
                "with open(os.environ['KPROF_METRICS'], 'w') as out:\n"
                "    for i in range(100_000): out.write('{\"name\":\"n%d\",\"value\":1}\\n' % i)\n")
        run = self.ctl.capture("/usr/bin/python3", "-c", code)
        self.assertEqual(run["state"], "done")
        self.assertIn("metrics_dropped", codes_of(run))
        self.assertEqual(len([name for name in run["metrics"] if name.startswith("n")]), 256)

    def test_a_child_that_keeps_it_open_holds_nobody_up(self):
        run = self.ctl.capture("sh", "-c", "echo '{\"name\":\"a\",\"value\":1}' > $KPROF_METRICS; sleep 1000 & exit 0")
        self.assertEqual((run["state"], run["metrics"]["a"]), ("done", 1))


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ReportedInSystemModeTest(unittest.TestCase):
    SCRIPT = "echo '{\"name\":\"loss\",\"value\":0.5}' > $KPROF_METRICS; bash -c 'exec 100>&-; echo bad > $KPROF_METRICS'; true"

    def setUp(self):
        kprof_testing.need_programs()
        self.node = Node(self.enterContext(temporary_folder()))
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.alice = Caller(self.node, ALICE)

    def assert_reported(self, run):
        self.assertEqual((run["state"], run["metrics"].get("loss")), ("done", 0.5))
        self.assertIn("metrics_not_understood", codes_of(run))

    def test_in_the_foreground(self):
        self.assert_reported(self.alice.capture("sh", "-c", self.SCRIPT))

    def test_detached(self):
        self.assert_reported(self.alice.wait(self.alice.detach("sh", "-c", self.SCRIPT)))


if __name__ == "__main__":
    unittest.main()
