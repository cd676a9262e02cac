"""A run's report: from a capture with each of NVIDIA's tools, on stand-ins, to the words that scripts look for."""

import json
import os
import unittest
import xml.etree.ElementTree

import kprof_testing
from test_vendor_tools import ToolTest, WithToolsOfCallers, WithToolsOnANode

HEADINGS = ["## Profile: mla v4", "### Configuration", "### Stages", "### Bottleneck: ", "### Top 3 Opportunities (ranked by estimated impact)",
            "### vs Baseline (if applicable)"]
PARAMS = '{"h":128,"dtype":"bfloat16","b":32,"s":16,"t":4096}'

TIMELINE = ["### Timeline", "#### Devices", "#### Overlap", "#### Launches", "#### Longest Gaps"]

class ReadsReports:
    """Checks the words of a report that its readers look for."""

    def check_headings(self, text, more=()):
        found = [line for line in text.splitlines() if line.startswith("#")]
        expected = [*HEADINGS[:3], *more, *HEADINGS[3:]]
        self.assertEqual(len(found), len(expected), found)
        for line, heading in zip(found, expected):
            self.assertTrue(line == heading or (heading.endswith(": ") and line.startswith(heading)), line)
        self.assertIn("| b | s | t | dtype | h |\n|---|---|---|-------|---|\n| 32 | 16 | 4096 | bfloat16 | 128 |\n", text)
        self.assertIn("| Stage | Duration (us) | TC% | DRAM% | Occ% | Bottleneck | Key Issue |\n", text)


class ReportTest(ReadsReports, ToolTest):
    def profile(self, tool, *options):
        return self.capture(tool, "--kernel", "mla", "--version", "v4", "--params", PARAMS, *options)

    def report(self, run, *options):
        return self.ctl.run("report", run["id"], *options).text

    def test_of_ncu(self):
        text = self.report(self.profile("ncu"))
        self.check_headings(text)
        self.assertRegex(text, r"\| matmul_kernel \| \d+\.\d\d \|")
        # What the copy would gain is little of the whole: it takes 4 of 167 us.
        self.assertIn("1. copy_bound_kernel — est. 1.2% gain — trigger: gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed=91.25 %\n   copy_kernel<float>: Fuse", text)
        self.assertIn(" of the device's peak. No rule finds anything to gain in it.\n", text)
        self.assertIn(", tool ncu, NVIDIA H200.\n", text)  # no device was leased, so no clock was locked

    def test_of_annotation(self):
        self.write("stages.json", '{"multiply": {"flops": 1e12, "bytes": 2e9, "dtype": "bfloat16"}}')
        run = self.profile("annotation", "--stages", "@stages.json")
        self.check_headings(self.report(run))
        stages = json.loads(self.report(run, "--format", "json"))["stages"]
        multiply = [stage for stage in stages if stage["name"] == "multiply"]
        self.assertEqual(len(multiply), 1, stages)
        self.assertEqual(multiply[0]["intensity_flop_per_byte"], 500)
        for number in ("tensor_percent", "dram_percent", "occupancy_percent", "compute_sol_percent"):
            self.assertIsInstance(multiply[0][number], (int, float), number)
        # The analysis has the stages of the capture without being told.
        asked = self.ctl.json("analyze", "roofline", run["id"])["result"]["stages"]
        self.assertEqual([(row["stage"], row["flops"], row["bottleneck"]) for row in asked], [("multiply", 1e12, multiply[0]["bottleneck"])])

    def test_of_stages_in_another_form(self):
        for stages in ('[{"name": "multiply", "flops": 1e12, "bytes": 2e9, "note": "both GEMMs"}]',
                       '{"stages": {"multiply": {"flops": 1e12, "bytes": 2e9}}}'):
            multiply = self.stage_of(self.profile("annotation", "--stages", stages), "multiply")
            self.assertEqual(multiply["intensity_flop_per_byte"], 500)
            self.assertGreater(multiply["attainable_tflop_per_s"], 0)  # by the dtype of the parameters

    def test_of_stages_among_the_parameters(self):
        params = '{"dtype": "bfloat16", "stages": [{"name": "multiply", "flops": 1e12, "bytes": 2e9}, {"name": "load"}]}'
        for tool in ("ncu", "annotation"):
            multiply = self.stage_of(self.capture(tool, "--params", params), "multiply")
            self.assertEqual(multiply["intensity_flop_per_byte"], 500)
            self.assertGreater(multiply["attainable_tflop_per_s"], 0)
        self.assertEqual(len(self.artifact(self.capture("annotation", "--params", params, "--stages", '{"load": {}}'), "report.csv")
                             .splitlines()), 3)

    def test_of_stages_that_nobody_checked_leaves_them_out(self):
        text = self.report(self.capture("nsys", "--params", '{"stages": {"multiply": 3}}'))
        self.assertIn("the stages that were given are left out: ", text)

    def stage_of(self, run, name):
        found = [stage for stage in json.loads(self.report(run, "--format", "json"))["stages"] if stage["name"] == name]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_of_annotation_without_stages_has_its_ranges(self):
        report = json.loads(self.report(self.profile("annotation"), "--format", "json"))
        self.assertEqual([stage["name"] for stage in report["stages"]], ["multiply", "load", "matmul_kernel", "copy_kernel<float>"])
        self.assertEqual(report["stages"][0]["bottleneck"], "compute")
        self.assertEqual(report["stages"][0]["tensor_percent"], report["stages"][2]["tensor_percent"])

    def test_a_version_that_fails_its_check_is_none(self):
        good = self.profile("ncu")
        self.ctl.run("capture", "ncu", "--device", "none", "--check", "exit 1", "--version", "v5", *self.played.option, "--", "echo", "ran",
                     cwd=self.folder, expect="check_failed")
        bad = self.ctl.json("runs", "--limit", "1")["runs"][0]
        answer = self.ctl.json("analyze", "rounds", good["id"], bad["id"])
        self.assertEqual(answer["result"]["best_run"], good["id"])
        self.assertEqual([(one["version"], one["failure"]) for one in answer["result"]["rounds"]], [("v4", None), ("v5", "check_failed")])
        self.assertIn("run_failed", [reason["code"] for reason in answer["trust"]])
        rows = self.ctl.json("query", "--run", good["id"], "--run", bad["id"], "SELECT failure FROM analyze_rounds ORDER BY round")["rows"]
        self.assertEqual(rows, [[None], ["check_failed"]])
        self.assertIn("Trust: run_failed: the run failed: check_failed", self.report(bad))

    def test_another_policy_judges(self):
        run = self.profile("ncu")
        self.assertIn("\nJudged by sol-95-60 version 1 ", self.report(run))
        other = self.report(run, "--policy", "tc60-dram70,tc=90")
        self.assertIn("### Bottleneck: Latency-bound\n", other)
        self.assertIn("\nJudged by tc60-dram70 version 1 ", other)
        self.ctl.run("report", run["id"], "--policy", "none", expect="usage")

    def test_into_a_folder_that_is_not_there(self):
        run = self.profile("ncu")
        self.ctl.run("report", run["id"], "-o", self.path("new/"))
        self.assertIn("report-verbose.md", os.listdir(self.path("new")))

    def test_of_nsys_has_the_timeline(self):
        text = self.report(self.profile("nsys"))
        self.check_headings(text, ["### Timeline", "#### Devices", "#### Overlap", "#### Launches", "#### Longest Gaps"])
        self.assertIn("| communication that nothing hides |", text)
        self.assertIn("| idle |", text)

    def test_of_nsys_keeps_a_picture_of_the_timeline(self):
        run = self.profile("nsys")
        self.assertIn("timeline.svg", [artifact["name"] for artifact in run["artifacts"]])
        self.ctl.run("artifacts", run["id"], "get", "timeline.svg", "-o", self.path("kept.svg"))
        os.mkdir(self.path("report"))
        self.ctl.run("report", run["id"], "-o", self.path("report"))
        self.assertEqual(self.read("report/timeline.svg"), self.read("kept.svg"))
        root = xml.etree.ElementTree.parse(self.path("kept.svg")).getroot()
        words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("Timeline: mla v4", words)
        self.assertTrue(any(word.startswith("GPU 0 stream ") for word in words), words)

    def test_of_a_detached_run(self):
        id_ = self.ctl.json("capture", "ncu", "--detach", "--device", "none", "--kernel", "mla", "--version", "v4", "--params", PARAMS,
                            *self.played.option, "--", "echo", "ran", cwd=self.folder)["id"]
        self.check_headings(self.report(self.ctl.wait(id_)))

    def test_beside_its_baseline(self):
        before = self.profile("ncu")
        run = self.profile("ncu", "--baseline", "@last")
        text = self.report(run)
        self.assertIn("| Metric | Previous | Current | Change |\n", text)
        self.assertRegex(text, r"\| Duration \(us\) \| (\d+\.\d\d) \| \1 \| \+0\.0 % \|")
        self.assertIn(f"Previous: run {before['id']}.", text)
        self.assertIn("| Duration          |", self.report(run, "--devlog"))
        self.assertIn("**Bottleneck**: ", self.report(run, "--devlog"))
        other = self.profile("ncu")
        self.assertIn(f"Previous: run {other['id']}.", self.report(run, "--baseline", other["id"]))

    def test_a_baseline_that_is_gone_is_said(self):
        before = self.profile("ncu")
        run = self.profile("ncu", "--baseline", before["id"])
        self.ctl.run("delete", before["id"])
        text = self.report(run)
        self.assertIn("None was given", text)
        self.assertIn(f"the baseline {before['id']}, which it was captured with, is not there any more", text)
        self.ctl.run("report", run["id"], "--baseline", before["id"], expect="not_found")

    def test_as_json(self):
        run = self.profile("ncu")
        report = json.loads(self.report(run, "--format", "json"))
        self.assertEqual(report["schema"], "kprof.report.v1")
        self.assertEqual((report["run"], report["tool"], report["kernel"], report["version"]), (run["id"], "ncu", "mla", "v4"))
        self.assertEqual(report["configuration"]["b"], "32")
        self.assertEqual(len(report["stages"]), 2)
        self.assertEqual(report, json.loads(self.ctl.run("--json", "report", run["id"]).text))

    def test_into_a_folder(self):
        run = self.profile("ncu")
        os.mkdir(self.path("report"))
        self.ctl.run("report", run["id"], "-o", self.path("report"))
        self.assertEqual(sorted(os.listdir(self.path("report"))),
                         ["devlog.md", "findings.csv", "kernels.csv", "report-verbose.md", "report.json", "report.md", "roofline.csv",
                          "roofline.svg", "roofline.txt", "stages.svg"])
        self.assertTrue(self.read("report/kernels.csv").startswith(b"rank,name,launches,"), self.read("report/kernels.csv")[:60])
        self.assertTrue(self.read("report/stages.svg").startswith(b"<svg "))

    def test_has_all_that_was_measured_of_each_kernel(self):
        for tool in ("ncu", "annotation"):
            text = self.report(self.profile(tool), "--file", "report-verbose.md")
            self.assertTrue(text.startswith("# Kernel report: mla v4\n"), text[:60])
            for words in ("## 1. matmul_kernel\n", "### Speed of light\n", "| Grid  ", "## Session\n", "| 1 | matmul_kernel"):
                self.assertIn(words, text)

    def test_shows_sources_of_kernels(self):
        run = self.profile("ncu", "--source")
        os.mkdir(self.path("report"))
        self.ctl.run("report", run["id"], "-o", self.path("report"))
        for name in ("source-matmul_kernel.md", "sass-matmul_kernel.csv", "ptx-matmul_kernel.ptx"):
            self.assertIn(name, os.listdir(self.path("report")))
        source = self.read("report/source-matmul_kernel.md").decode()
        self.assertRegex(source, r"\n    >    3 +\d+ +90\.0% +long_scoreboard +[\d,]+ +a\[threadIdx\.x\] = b\[threadIdx\.x\];\n")
        self.assertIn("`STG.E [R6.64], R4`", source)
        self.assertIn(b",\"LDG.E R4, [R2.64]\",/src/matmul_kernel.cu,3,", self.read("report/sass-matmul_kernel.csv"))
        self.assertIn(b".visible .entry matmul_kernel()\n", self.read("report/ptx-matmul_kernel.ptx"))
        self.assertIn("source-matmul_kernel.md", self.report(run, "--file", "report-verbose.md"))
        self.ctl.run("export", run["id"], "--format", "profiles", "-o", self.path("profiles"))
        found = [files for _, _, files in os.walk(self.path("profiles")) if files]
        for name in ("report.md", "report-verbose.md", "source-matmul_kernel.md", "sass-matmul_kernel.csv", "ptx-matmul_kernel.ptx", "source.csv"):
            self.assertIn(name, found[0])

    def test_gives_one_file(self):
        run = self.profile("ncu")
        self.assertEqual(self.report(run, "--file", "report.md"), self.report(run))
        self.assertTrue(self.report(run, "--file", "kernels.csv").startswith("rank,name,launches,"))
        self.ctl.run("report", run["id"], "--file", "report-verbose.md", "-o", self.path("verbose.md"))
        self.assertTrue(self.read("verbose.md").startswith(b"# Kernel report: mla v4\n"))
        os.mkdir(self.path("report"))
        self.ctl.run("report", run["id"], "--file", "stages.svg", "-o", self.path("report"))
        self.assertEqual(os.listdir(self.path("report")), ["stages.svg"])

    def test_a_file_that_it_does_not_have_is_refused_with_those_that_it_has(self):
        run = self.profile("ncu")
        for name in ("source-matmul_kernel.md", "report.pdf"):
            refused = self.ctl.run("--json", "report", run["id"], "--file", name, expect="not_found").error
            self.assertIn(f"the report of this run has no file '{name}'", refused["message"])
            self.assertTrue(refused["remedy"].startswith("ask for one of report.md, "), refused)
            self.assertIn(", report-verbose.md, kernels.csv, roofline.csv, findings.csv", refused["remedy"])
        self.ctl.run("report", run["id"], "--file", "report.md", "--devlog", expect="usage")
        self.ctl.run("report", run["id"], "--file", "report.md", "--format", "md", expect="usage")

    def test_as_a_tree_of_profiles(self):
        run = self.profile("ncu")
        self.ctl.run("export", run["id"], "--format", "profiles", "-o", self.path("."))
        found = [os.path.relpath(at, self.folder) for at, _, files in os.walk(self.path("out")) if files]
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], r"^out/profiles/ncu/mla/b=32_s=16_t=4096_dtype=bfloat16_h=128/\d{8}-\d{6}$")
        files = os.listdir(self.path(found[0]))
        for name in ("report.md", "params.json", "report.ncu-rep", "report.csv", "roofline.svg"):
            self.assertIn(name, files)
        self.ctl.run("export", run["id"], "--format", "profiles", "-o", self.path("out/profiles"), expect="usage")
        os.mkdir(self.path("profiles"))
        self.ctl.run("export", run["id"], "--format", "profiles", "-o", self.path("profiles"))
        self.assertEqual(os.listdir(self.path("profiles")), ["ncu"])

    def test_collected_folders_stand_in_the_tree_of_profiles(self):
        self.write("bench.sh", "mkdir -p tiling compiled/scores ir; echo '{}' > tiling/scores.json; echo {} > tiling/params.json; "
                               "echo module > compiled/scores/main.mlir; echo other > ir/main.mlir; echo mine > report.md")
        run = self.ctl.json("capture", "ncu", "--device", "none", "--kernel", "mla", "--version", "v4", "--params", PARAMS,
                            *self.played.option, "--collect", "tiling", "--collect", "compiled/**", "--collect", "ir/*.mlir",
                            "--collect", self.path("report.md"), "--", "sh", "bench.sh", cwd=self.folder)
        run = self.ctl.show(run["id"])
        paths = {artifact["name"]: artifact["path"] for artifact in run["artifacts"]}
        self.assertEqual(paths["scores.json"], "tiling/scores.json")
        self.assertEqual({paths["main.mlir"], paths["2_main.mlir"]}, {"compiled/scores/main.mlir", "ir/main.mlir"})
        self.assertIsNone(paths["params.json"])
        self.assertIsNone(paths["report.ncu-rep"])
        self.assertEqual(self.ctl.json("query", f"SELECT path FROM artifact WHERE path IS NOT NULL AND run = '{run['id']}' ORDER BY path")["rows"],
                         [["compiled/scores/main.mlir"], ["ir/main.mlir"], ["report.md"], ["tiling/params.json"],
                          ["tiling/scores.json"]])
        self.assertRegex(self.ctl.run("artifacts", run["id"]).text, r"scores\.json +tiling/scores\.json\n")
        self.ctl.run("export", run["id"], "--format", "profiles", "-o", self.path("profiles"))
        root = next(at for at, _, files in os.walk(self.path("profiles")) if "params.json" in files and "report.ncu-rep" in files)
        found = {os.path.relpath(os.path.join(at, name), root) for at, _, files in os.walk(root) for name in files}
        self.assertLessEqual({"report.md", "params.json", "report.ncu-rep", "tiling/scores.json", "tiling/params.json",
                              "compiled/scores/main.mlir", "ir/main.mlir"}, found)
        self.assertEqual(kprof_testing.read_file(os.path.join(root, "ir/main.mlir")), b"other\n")
        self.assertEqual(kprof_testing.read_file(os.path.join(root, "compiled/scores/main.mlir")), b"module\n")
        self.assertIn(b"## Profile: mla v4", kprof_testing.read_file(os.path.join(root, "report.md")))
        self.assertEqual(kprof_testing.read_file(os.path.join(root, "2_report.md")), b"mine\n")

    def test_of_a_run_without_a_trace(self):
        text = self.report(self.capture("command"))
        self.assertIn("### Bottleneck: Unknown\n", text)
        self.assertIn("nothing says what bounds it", text)

    def test_of_what_is_not_there(self):
        self.ctl.run("report", "nothing", expect="not_found")
        self.ctl.run("report", "@last", "--format", "pdf", expect="usage")


class ImportedReportTest(kprof_testing.DaemonTest):
    def report_of_golden(self, name, *options):
        run = self.ctl.json("import", os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", name))
        return self.ctl.run("report", run["id"], *options).text

    def test_of_a_trace_of_two_ranks(self):
        text = self.report_of_golden("two_ranks")
        self.assertEqual(text.count("\n| gemm_128x128 | "), 1)  # of both ranks
        self.assertIn("\n| 0 | 0 | 0.700 | 31.6 | 21.3 | 1.4 | 55.8 | 48.6 | 0.0 | 7.2 |\n| 1 | 1 | 0.700 | ", text)
        self.assertIn("\n| 0 | 0 | communication | 0.149 | 0.071 | 0.079 | 47.3 |\n", text)
        self.assertIn("\n| 1 | 1 | 0.501 | 199.20 | host_wait | nothing | Memset", text)
        timeline = json.loads(self.report_of_golden("two_ranks", "--format", "json"))["timeline"]
        self.assertEqual([device["rank"] for device in timeline["devices"]], [0, 1])
        self.assertEqual(timeline["devices"][1]["total_ns"], 700_000)
        self.assertEqual([of["launches"] for of in timeline["launches"]], [5, 3])

    def test_occupancy_is_what_the_profiler_of_the_trace_estimated(self):
        text = self.report_of_golden("occupancy.json")
        self.assertRegex(text, r"\n\| \w+ \| \d+\.\d\d \| -- \| -- \| \d+\.\d \| ")
        self.assertIn("Note: Occ% is what the trace's profiler estimated from the launches, and not a measurement\n", text)

    def test_of_a_public_table(self):
        path = os.path.join(kprof_testing.DATA, "ncu", "t4_copy_blocked_details.csv")
        if not os.path.exists(path):
            self.skipTest(f"no {path}")
        run = self.ctl.json("import", path)
        text = self.ctl.run("report", run["id"]).text
        self.assertIn("## Profile: copy_blocked\n", text)
        self.assertIn("| copy_blocked | 21058.94 | -- | 61.8 | 96.3 | memory | ncu_UncoalescedGlobalAccess |\n", text)
        self.assertIn("### Bottleneck: Memory-bound\n", text)
        self.assertIn("1. ncu_UncoalescedGlobalAccess — est. 74.1% gain — trigger: ", text)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ReportsOfCallersTest(ReadsReports, WithToolsOfCallers, unittest.TestCase):
    """In system mode, in the foreground, of a user who is not kprofd's."""

    def test_of_each_tool(self):
        for tool, more in (("annotation", ()), ("ncu", ()), ("nsys", TIMELINE)):
            with self.subTest(tool):
                run = self.capture(tool, "--kernel", "mla", "--version", "v4", "--params", PARAMS)
                self.check_headings(self.alice.run("report", run["id"]).text, more)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ReportsOnANodeTest(ReadsReports, WithToolsOnANode, unittest.TestCase):
    """With the helper, detached."""

    def test_of_each_tool(self):
        self.alice.environment["HOME"] = self.home
        for tool, more in (("annotation", ()), ("ncu", ()), ("nsys", TIMELINE)):
            with self.subTest(tool):
                id_ = self.alice.json("capture", tool, "--detach", "--device", "none", "--kernel", "mla", "--version", "v4",
                                      "--params", PARAMS, "--", "echo", "ran", cwd=self.home)["id"]
                self.assertEqual(self.alice.wait(id_)["state"], "done")
                self.check_headings(self.alice.run("report", id_).text, more)


if __name__ == "__main__":
    unittest.main()
