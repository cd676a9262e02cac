"""Reports of Nsight Compute (.ncu-rep) and what it prints as CSV, imported and asked by SQL."""

import gzip
import json
import math
import os
import unittest

import ncu_report_writer as ncu
from kprof_testing import DATA, OwnDaemonTest, temporary_folder

REAL_PAGE = os.path.join(DATA, "ncu", "t4_copy_blocked_details.csv")
KERNEL = "void copy<float>(float *, int)"
HEAD = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"')


def cells(number, kernel=KERNEL):
    return f'"{number}","4711","/usr/bin/bench","private-host","{kernel}","1","7","(256, 1, 1)","(64, 2, 1)","0","9.0"'


class NcuImportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def take(self, name, content, *options):
        path = os.path.join(self.files, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.daemon.ctl.json("import", *options, path)

    def ask(self, sql):
        return self.daemon.ctl.json("query", "--run", "@last", "--limit", "1000000", sql)["rows"]

    def facts(self):
        [[facts]] = self.ask("SELECT facts FROM trace")
        return json.loads(facts)

    def test_a_report_is_every_launch_with_all_that_was_measured(self):
        metrics = {"gpu__time_duration.sum": 2500.0, "dram__bytes.sum.per_second": 3_000_000_000_000, "launch__registers_per_thread": 32,
                   "launch__func_cache_config": "CachePreferNone", "sm__cycles_active.avg": math.nan}
        launches = [ncu.launch(KERNEL, {**metrics, "gpu__time_duration.sum": 2500.0 + i}, mangled="_Z4copyPf", function="copy", grid=(64, 2, 1), source=3,
                               ranges=("step", "attention") if i == 1 else (), stream=7 + i,
                               instances={"inst_executed": {0x7f0000000000 + 16 * n: n + i for n in range(3)}, "sass__inst_executed_per_opcode": {"FFMA": 5}},
                               sections=[ncu.section("SpeedOfLight", {"gpu__time_duration.sum": "Duration", "sm__x": "X"}, "GPU Speed Of Light Throughput")],
                               rules=[ncu.rule("SOLBottleneck", "See the @url:Guide:https://docs/x@.", speedup=12.5, metric="sm__x", metric_value=76.5,
                                               reason="76.5 > 60"), ncu.rule("CPIStall")]) for i in range(3)]
        code = ncu.cubin({"_Z4copyPf": [("/src/copy.cu", 12), ("/src/copy.cu", 13), ("/src/vec.h", 5)]}, ptx=".visible .entry f(\n  mov.u32 %r1;\n  ld.global;",
                         ptx_lines={"_Z4copyPf": [2, 3, 3]})
        content = ncu.report(launches, sources=[ncu.source(3, code, {"_Z4copyPf": 0x7f0000000000}, code="__global__\nvoid copy() {}")])
        run = self.take("report.ncu-rep", content)
        self.assertEqual([reason["message"].split(": ", 1)[1] for reason in run["trust"]], ["3 values are not finite (NaN, infinity): they are absent"])
        self.assertEqual(self.ask("SELECT source_format FROM trace"), [["ncu-rep"]])
        self.assertEqual(self.ask("SELECT kernel, launch, value, unit FROM metric WHERE name = 'gpu__time_duration.sum' AND launch IS NOT NULL"),
                         [[KERNEL, i, 2500 + i, "ns"] for i in range(3)])
        self.assertEqual(self.ask("SELECT name, value, unit FROM metric WHERE launch = 1 AND name NOT LIKE 'device%' ORDER BY name"),
                         [["dram__bytes.sum.per_second", 3e12, "byte/s"], ["gpu__time_duration.sum", 2501, "ns"],
                          ["launch__registers_per_thread", 32, "register/thread"]])
        self.assertEqual(self.ask("SELECT launch, function, mangled, kind, process_id, process, device, device_name, compute_capability, stream, grid_x, grid_y, "
                                  "block_x, unix_ns / 1000000000, range FROM kernel_launch"),
                         [[i, "copy", "_Z4copyPf", "kernel", 4711, "python3.11", 0, ncu.DEVICE, "9.0", 7 + i, 64, 2, 128, 1_750_000_000,
                           "step/attention" if i == 1 else None] for i in range(3)])
        self.assertEqual(self.ask("SELECT launch, text FROM kernel_text WHERE name = 'launch__func_cache_config'"), [[i, "CachePreferNone"] for i in range(3)])
        self.assertEqual(self.ask("SELECT rule, section, type, message, speedup_type, speedup_percent, metric, metric_value, reason FROM kernel_rule WHERE launch = 2"),
                         [["SOLBottleneck", "SpeedOfLight", "OPT", "See the Guide (https://docs/x).", "global", 12.5, "sm__x", 76.5, "76.5 > 60"]])
        self.assertEqual(self.ask("SELECT section, title, place, metric, label FROM kernel_section WHERE launch = 0"),
                         [["SpeedOfLight", "GPU Speed Of Light Throughput", 10, "gpu__time_duration.sum", "Duration"],
                          ["SpeedOfLight", "GPU Speed Of Light Throughput", 10, "sm__x", "X"]])
        # Samples of an instruction, with the lines that it comes from.
        self.assertEqual(self.ask("SELECT n.value, i.byte_offset, i.file, i.line, i.ptx FROM kernel_instance n JOIN kernel_instruction i "
                                  "ON i.launch = n.launch AND i.address = n.number WHERE n.launch = 1 AND n.name = 'inst_executed' ORDER BY 2"),
                         [[1, 0, "/src/copy.cu", 12, "mov.u32 %r1;"], [2, 16, "/src/copy.cu", 13, "ld.global;"], [3, 32, "/src/vec.h", 5, "ld.global;"]])
        self.assertEqual(self.ask("SELECT key, number, value FROM kernel_instance WHERE launch = 0 AND name LIKE 'sass%'"), [["FFMA", None, 5]])
        self.assertEqual(self.ask("SELECT file, language, line, text FROM kernel_source WHERE line = 2"),
                         [["source 3.cu", "cuda", 2, "void copy() {}"], ["source 3.ptx", "ptx", 2, "  mov.u32 %r1;"]])
        self.assertEqual(self.ask("SELECT device, value FROM device_attribute WHERE name LIKE '%multiprocessor_count'"), [[0, 132]])
        facts = self.facts()
        self.assertEqual(json.loads(facts["source.versions"]), {"CUDA Version": "13.0", "Nsight Compute Target": "2025.3.1.0"})
        self.assertEqual(json.loads(facts["source.command_line"]), "ncu --set full -o report python bench.py")
        for private in ("private-host", "192.0.2.7", "/home/who/bin"):
            self.assertNotIn(private, json.dumps(facts))
        # The catalog has the means over launches.
        [[mean]] = self.daemon.ctl.json("query", f"SELECT value FROM metric WHERE run = '{run['id']}' AND name = 'gpu__time_duration.sum'")["rows"]
        self.assertEqual(mean, 2501)

    def test_a_report_that_ends_early_or_is_of_another_version_is_read_and_said_so(self):
        whole = ncu.report([ncu.launch(KERNEL, {"gpu__time_duration.sum": 5.0}), ncu.launch(KERNEL, {"gpu__time_duration.sum": 6.0})], version=8)
        run = self.take("cut.ncu-rep", whole[:-len(ncu.session()) - 120])
        self.assertEqual([reason["code"] for reason in run["trust"]], ["tool_version_unknown", "source_incomplete"])
        self.assertEqual(self.ask("SELECT value FROM metric WHERE name = 'gpu__time_duration.sum' AND launch IS NOT NULL"), [[5]])

    def test_a_report_may_be_packed_and_a_folder_has_reports(self):
        content = ncu.report([ncu.launch(KERNEL, {"gpu__time_duration.sum": 5.0})])
        self.take("a.ncu-rep.gz", gzip.compress(content))
        self.assertEqual(self.ask("SELECT count(*) FROM kernel_launch"), [[1]])
        folder = os.path.join(self.files, "out")
        os.mkdir(folder)
        with open(os.path.join(folder, "k.ncu-rep"), "wb") as file:
            file.write(content)
        self.assertEqual(self.daemon.ctl.json("import", "--again", folder)["state"], "done")

    def test_what_has_no_launch_is_refused_with_what_to_do(self):
        for name, content, why in (("a.ncu-rep", ncu.report([]), "nothing was profiled"), ("b.csv", "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM\n", "ERR_NVGPUCTRPERM")):
            path = os.path.join(self.files, name)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            failed = self.daemon.ctl.run("import", path, expect="bad_input")
            self.assertIn(why, failed.err.decode())

    def test_pages_of_csv_and_a_report_say_the_same(self):
        metrics = {"gpu__time_duration.sum": 2500.0, "dram__bytes.sum.per_second": 196_500_000_000.0, "launch__registers_per_thread": 32,
                   "sm__throughput.avg.pct_of_peak_sustained_elapsed": 61.25}
        launches = [ncu.launch(KERNEL, metrics, grid=(64, 2, 1), block=(256, 1, 1), device=None) for _ in range(2)]
        raw = (HEAD + "".join(f',"{name}"' for name in metrics) + "\n" + '""' + ',""' * 10 + ',"usecond","Gbyte/second","register/thread","%"\n' +
               "".join(cells(i) + ',"2,50","196,50","32","61,25"\n' for i in range(2)))
        shown = [("GPU Speed Of Light Throughput", "Duration", "usecond", "2.50"), ("Memory Workload Analysis", "Memory Throughput", "byte/s", "196,500,000,000"),
                 ("Launch Statistics", "Registers Per Thread", "register/thread", "32"), ("GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%", "61.25")]
        details = HEAD + ',"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"\n' + "".join(
            cells(i) + "".join(f',"{cell}"' for cell in row) + ",\n" for i in range(2) for row in shown)
        answers = []
        for name, content, options in (("a.ncu-rep", ncu.report(launches), ()), ("raw.csv", raw, ()), ("details.csv", details, ()),
                                       ("job.log", "x" * 9000 + "\nloss 1.5\n" + details, ("--format", "ncu-csv"))):
            run = self.take(name, content, *options)
            self.assertEqual(run["trust"], [], name)
            answers.append((self.ask("SELECT launch, kernel, name, value, unit FROM metric WHERE launch IS NOT NULL ORDER BY 1, 3"),
                            self.ask("SELECT launch, kernel, process_id, context, stream, grid_x, grid_y, grid_z, block_x FROM kernel_launch")))
        for answer in answers[1:]:
            self.assertEqual(answer, answers[0])
        self.assertEqual(len(answers[0][0]), 8)

    @unittest.skipUnless(os.path.exists(REAL_PAGE), "needs the real files (KPROF_TEST_DATA)")
    def test_the_real_page_is_read_in_full(self):
        run = self.daemon.ctl.json("import", REAL_PAGE)
        self.assertEqual((run["trust"], run["state"]), ([], "done"))
        self.assertEqual(self.ask("SELECT (SELECT count(*) FROM metric WHERE launch IS NOT NULL), (SELECT count(*) FROM kernel_text), (SELECT count(*) FROM kernel_rule), "
                                  "(SELECT count(*) FROM kernel_section), (SELECT count(*) FROM kernel_launch)"), [[71, 1, 11, 72, 1]])
        self.assertEqual(self.ask("SELECT value, unit FROM metric WHERE launch = 0 AND name = 'gpu__time_duration.sum'"), [[21_058_944, "ns"]])
        self.assertEqual(self.ask("SELECT rule, speedup_percent FROM kernel_rule WHERE section = 'SourceCounters'"), [["UncoalescedGlobalAccess", 74.14]])
        self.assertEqual(self.ask("SELECT function, compute_capability, grid_x, block_x FROM kernel_launch"), [["copy_blocked", "7.5", 1024, 256]])


if __name__ == "__main__":
    unittest.main()
