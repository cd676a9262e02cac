"""Captures with NVIDIA's tools, on stand-ins: from the command line to the artifacts and the error that says what to do."""

import json
import os
import unittest

import kprof_testing
import nsight_stand_in
from kprof_node import ALICE, AsAlice, Node, OnANode, SystemDaemon
from kprof_testing import DaemonTest, distrust, unique_seconds, wait_until

NCU_LEFT = ["ncu.log", "report.csv", "report.ncu-rep", "roofline.svg", "stages.svg", "stdout.log", "tool.json"]


def names_of(run):
    return [artifact["name"] for artifact in run["artifacts"]]


def codes_of(run):
    return [reason["code"] for reason in distrust(run)]


class ToolTest(DaemonTest):
    """In user mode, the stand-ins by KPROF_TOOL_PATH of the daemon."""

    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        cls.daemon = cls.enterClassContext(
            kprof_testing.running_daemon(environment={"KPROF_TOOL_PATH": nsight_stand_in.FOLDER}))
        cls.ctl = cls.daemon.ctl

    def setUp(self):
        super().setUp()
        self.played = nsight_stand_in.Played(self.folder)
        self.ctl.environment["HOME"] = self.folder  # what ncu answers is kept there

    def capture(self, tool, *options, command=("echo", "ran"), **rest):
        return self.ctl.json("capture", tool, "--device", "none", *self.played.option, *options, "--", *command,
                             cwd=self.folder, **rest)

    def artifact(self, run, name):
        path = self.path("got")
        self.ctl.run("artifacts", run["id"], "get", name, "-o", path)
        return self.read("got").decode()

    def error_of(self, tool, *options, **rest):
        ran = self.ctl.run("--json", "capture", tool, "--device", "none", *self.played.option, *options, "--", "echo", "ran",
                           cwd=self.folder, **rest)
        return ran.error


class NcuTest(ToolTest):
    def test_a_capture_leaves_its_report(self):
        run = self.capture("ncu", "--launch-count", "2")
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), NCU_LEFT)
        self.assertEqual(codes_of(run), [])
        self.assertEqual(self.ctl.run("logs", run["id"]).text, "ran\n")
        table = self.artifact(run, "report.csv").splitlines()
        self.assertIn('"gpu__time_duration.sum"', table[0])
        self.assertEqual(len(table), 4)  # names, units, two launches
        told = json.loads(self.artifact(run, "tool.json"))
        self.assertEqual((told["tool"], told["version"], told["clock_control"]), ("ncu", "2024.3.1.0", "none"))
        self.assertIn("smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct", told["metrics_left_out"])
        self.assertIn("Profiling \"matmul_kernel\"", self.artifact(run, "ncu.log"))
        rows = self.ctl.json("query", "--run", run["id"],
                             "SELECT launch, kernel, value, unit FROM metric WHERE name = 'gpu__time_duration.sum' ORDER BY launch")["rows"]
        self.assertEqual([(row[0], row[2], row[3]) for row in rows if row[0] is not None], [(0, 4096, "ns"), (1, 81920, "ns")])
        self.assertTrue(rows[-1][1].startswith("matmul_kernel("))

    def test_a_detached_one_too(self):
        id_ = self.ctl.json("capture", "ncu", "--detach", "--device", "none", *self.played.option, "--", "echo", "ran",
                            cwd=self.folder)["id"]
        self.assertEqual(names_of(self.ctl.wait(id_)), NCU_LEFT)

    def test_what_the_command_leaves_in_the_folder_is_kept(self):
        run = self.capture("ncu", command=("sh", "-c", 'echo x > "$KPROF_OUTPUT_DIR/tiling.txt"; env > env.txt'))
        self.assertIn("tiling.txt", names_of(run))
        environment = self.read("env.txt").decode()
        self.assertNotIn("KPROF_TOOL_PATH", environment)
        self.assertNotIn("KPROF_NCU_FOLDER", environment)

    def test_ncu_is_asked_for_its_metrics_once(self):
        self.assertEqual(codes_of(self.capture("ncu")), [])
        self.played.set(knows_metrics=False)
        run = self.capture("ncu")  # it is known by now
        self.assertEqual(codes_of(run), [])
        self.assertTrue(json.loads(self.artifact(run, "tool.json"))["metrics_checked"])
        self.ctl.environment["HOME"] = self.path("elsewhere")
        run = self.capture("ncu")
        self.assertEqual((run["state"], codes_of(run)), ("done", ["metrics_unchecked"]))

    def test_filters_reach_ncu(self):
        run = self.capture("ncu", "--kernel-name", "^matmul", "--launch-skip", "1")
        self.assertEqual(len(self.artifact(run, "report.csv").splitlines()), 3)
        run = self.capture("ncu", "--nvtx", "load")
        self.assertEqual(len(self.artifact(run, "report.csv").splitlines()), 3)
        run = self.capture("ncu", "--nvtx-exclude", "multiply")
        self.assertEqual(len(self.artifact(run, "report.csv").splitlines()), 3)
        run = self.capture("ncu", "--kernel-id", "::matmul_kernel:2")
        self.assertEqual(len(self.artifact(run, "report.csv").splitlines()), 3)
        self.capture("ncu", "--profile-from-start", "off", expect="no_kernels")

    def test_a_report_that_is_cut_is_the_tools_failure(self):
        self.played.set(truncated=3)
        run = self.capture("ncu", expect="tool_failed")
        self.assertIn("report.ncu-rep", run["error"]["message"])
        self.assertIn("report.ncu-rep", names_of(run))

    def test_source_is_a_table_of_its_own(self):
        run = self.capture("ncu", "--source")
        self.assertEqual(names_of(run), sorted([*NCU_LEFT, "source.csv"]))
        self.assertIn("MOV R1", self.artifact(run, "source.csv"))

    def test_a_command_that_fails_is_its_own_failure(self):
        run = self.capture("ncu", command=("sh", "-c", "exit 3"), expect="command_failed")
        self.assertEqual((run["error"]["code"], run["exit_code"]), ("command_failed", 3))
        self.assertIn("ncu.log", names_of(run))

    def test_a_command_that_is_not_there(self):
        run = self.capture("ncu", command=("no-such-program",), expect="spawn_failed")
        self.assertIn("no-such-program", run["error"]["message"])
        self.assertIn("no such program", run["error"]["message"])

    def test_failures_say_what_to_do(self):
        for told, code, words in (
                ({"permission": True}, "tool_failed", ("ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0")),
                ({"report_refused": True}, "tool_failed", ("ncu says: Failed to open report file", "this user may write")),
                ({"busy": 1}, "tool_failed", ("DCGM", "dcgmi profile --pause")),
                ({"no_kernels": True}, "no_kernels", ("no kernel was profiled", "--kernel-name")),
                ({"no_report": True}, "tool_failed", ("left no file that matches 'report.ncu-rep'",)),
                ({"lacks": ["sm__throughput"], "knows_metrics": False}, "tool_failed",
                 ("Failed to find metric sm__throughput", "--query-metrics"))):
            with self.subTest(told=told):
                self.played.set(**told)
                self.ctl.environment["HOME"] = self.path(f"home{code}{len(words)}{sorted(told)[0]}")
                asked = ["--metrics", "sm__throughput.max"] if "lacks" in told else []  # of its own accord kprof asks for none now
                error = self.error_of("ncu", *asked, expect=code)
                self.assertEqual(error["code"], code)
                for word in words:
                    self.assertIn(word, error["message"] + " " + (error["remedy"] or ""))

    def test_anothers_lock_file(self):
        self.played.set(lock_refused=True)
        error = self.error_of("ncu", expect="tool_failed")
        self.assertIn("nsight-compute-lock", error["message"])
        self.assertIn("TMPDIR", error["remedy"])

    def test_the_command_keeps_its_tmpdir(self):
        os.mkdir(self.path("tmp"))
        run = self.capture("ncu", "--env", f"TMPDIR={self.path('tmp')}", command=("sh", "-c", 'echo "$TMPDIR"'))
        self.assertEqual(self.ctl.run("logs", run["id"]).text, self.path("tmp") + "\n")
        told = json.loads(self.artifact(run, "tool.json"))["argv"]
        self.assertIn("/usr/bin/env", told)
        self.assertEqual(os.listdir(self.path("tmp")), [])
        self.assertEqual(os.listdir(os.path.join(self.daemon.folder, "ncu")), ["nsight-compute-lock"])

    def test_an_unknown_version_runs_and_is_said(self):
        self.played.set(version="2031.1.0.0")
        run = self.capture("ncu")
        self.assertEqual((run["state"], codes_of(run)), ("done", ["tool_version_unknown"]))

    def test_retries_are_for_what_passes(self):
        self.played.set(autotunes=1)
        run = self.capture("ncu", "--retry", "2")
        self.assertEqual(run["state"], "done")
        self.assertEqual(codes_of(run), ["retried"])
        self.assertEqual(run["metrics"]["tries"], 2)
        self.assertIn("try1.log", names_of(run))
        self.assertEqual(self.ctl.run("logs", run["id"]).text, "ran\nran\n")

    def test_retries_come_to_an_end(self):
        self.played.set(busy=5)
        run = self.capture("ncu", "--retry", "2", expect="tool_failed")
        self.assertEqual(codes_of(run), ["retried", "retried"])
        self.assertEqual(run["metrics"]["tries"], 3)
        self.assertIn("try2.log", names_of(run))

    def test_other_failures_are_not_retried(self):
        run = self.capture("ncu", "--retry", "3", command=("sh", "-c", "echo once; exit 1"), expect="command_failed")
        self.assertEqual(self.ctl.run("logs", run["id"]).text, "once\n")

    def test_a_table_that_cannot_be_printed_is_said(self):
        self.played.set(fails_at="--import")
        run = self.capture("ncu")
        self.assertEqual((run["state"], codes_of(run)), ("done", ["step_failed"]))
        self.assertIn("report.ncu-rep", names_of(run))

    def test_one_that_hangs_is_ended_by_the_timeout(self):
        for hangs in ({"hang_at": "-o"}, {"hang_at": "--import"}):
            with self.subTest(hangs=hangs):
                self.played.set(**hangs)
                began = self.ctl.json("capture", "ncu", "--detach", "--device", "none", *self.played.option, "--timeout", "1s",
                                      "--", "echo", "ran", cwd=self.folder)["id"]
                if "-o" in hangs.values():
                    run = self.ctl.wait(began, expect=None)
                    self.assertEqual(run["error"]["code"], "timed_out")
                else:
                    self.ctl.wait_for_state(began, "running", "collecting")
                    wait_until(lambda: kprof_testing.processes_with("--import"), "the import to hang")
                    self.ctl.run("cancel", began)
                    self.assertEqual(self.ctl.wait(began, expect=None)["state"], "cancelled")
                self.assert_nothing_runs(run=began)

    def test_a_question_that_hangs_is_ended(self):
        self.played.set(hang_at="--query-metrics")
        id_ = self.ctl.json("capture", "ncu", "--detach", "--device", "none", *self.played.option, "--", "echo", "ran",
                            cwd=self.folder)["id"]
        wait_until(lambda: kprof_testing.processes_with("--query-metrics"), "the question to hang")
        self.ctl.run("cancel", id_)
        self.assertEqual(self.ctl.wait(id_, expect=None)["state"], "cancelled")
        self.assert_nothing_runs(run=id_)

    def test_a_flood_is_cut_and_a_slow_start_is_waited_for(self):
        self.played.set(flood_bytes=64 << 20, slow_s=0.2)
        run = self.capture("ncu")
        self.assertEqual(run["state"], "done")
        self.assertIn("output_dropped", codes_of(run))

    def test_without_one_it_is_missing(self):
        with kprof_testing.running_daemon(environment={"PATH": "/usr/bin:/bin", "KPROF_TOOL_PATH": ""}) as daemon:
            daemon.ctl.environment["PATH"] = "/usr/bin:/bin"
            error = daemon.ctl.run("--json", "capture", "ncu", "--device", "none", "--", "true", expect="tool_missing").error
            self.assertIn("install Nsight Compute", error["message"] + (error["remedy"] or ""))
            doctor = {row["check"]: row for row in daemon.ctl.json("doctor")["diagnoses"]}
            self.assertIn("captures with annotation, ncu need", doctor["tool_ncu"]["message"])
            self.assertIn("captures with nsys need", doctor["tool_nsys"]["message"])

    def test_doctor_names_them(self):
        doctor = {row["check"]: row for row in self.ctl.json("doctor")["diagnoses"]}
        self.assertIn(f"ncu 2024.3.1.0 ({nsight_stand_in.FOLDER}/ncu)", doctor["tools"]["message"])
        self.assertIn("nsys 2026.1.1.204", doctor["tools"]["message"])
        self.assertNotIn("tool_ncu", doctor)

    def test_path_counts_after_tool_path(self):
        with kprof_testing.running_daemon(environment={"KPROF_TOOL_PATH": ""}) as daemon:
            daemon.ctl.environment["PATH"] = nsight_stand_in.FOLDER + ":" + os.environ["PATH"]
            run = daemon.ctl.json("capture", "ncu", "--device", "none", "--", "true")
            self.assertEqual(names_of(run), sorted(set(NCU_LEFT) - {"stdout.log"}))


class SubjectTest(ToolTest):
    """What is measured: --kernel, --version, --params, --baseline."""

    PARAMS = '{"b": 32, "s":16, "t":4096, "dtype":"bfloat16"}'

    def test_they_are_labels_and_params_json(self):
        before = self.capture("command")
        run = self.capture("ncu", "--kernel", "mla", "--version", "v4", "--params", self.PARAMS, "--baseline", "@last")
        self.assertEqual(run["labels"], {"kernel": "mla", "version": "v4", "baseline": before["id"],
                                         "params": '{"b":32,"s":16,"t":4096,"dtype":"bfloat16"}'})
        self.assertEqual(json.loads(self.artifact(run, "params.json")),
                         {"tool": "ncu", "kernel": "mla", "version": "v4", "b": 32, "s": 16, "t": 4096, "dtype": "bfloat16"})
        found = self.ctl.json("runs", "--label", "kernel=mla")["runs"]
        self.assertEqual([one["id"] for one in found], [run["id"]])

    def test_params_may_be_a_file_and_every_tool_has_them(self):
        self.write("p.json", self.PARAMS)
        run = self.capture("command", "--params", "@p.json")
        self.assertEqual(json.loads(self.artifact(run, "params.json"))["t"], 4096)
        long = json.dumps({"text": "x" * 2000})
        run = self.capture("command", "--params", long)
        self.assertNotIn("params", run["labels"])
        self.assertEqual(len(json.loads(self.artifact(run, "params.json"))["text"]), 2000)

    def test_a_failed_and_a_stopped_run_have_them_too(self):
        run = self.capture("command", "--params", "{}", "--kernel", "k", command=("false",), expect="command_failed")
        self.assertEqual(names_of(run), ["params.json"])
        run = self.capture("command", "--params", "{}", "--timeout", "200ms", command=("sleep", unique_seconds()),
                           expect="timed_out")
        self.assertEqual(names_of(run), ["params.json"])

    def test_bad_ones_are_refused_before_anything_is_queued(self):
        count = len(self.ctl.json("runs", "--limit", "1000")["runs"])
        for options, words in ((("--params", '{"b":}'), ("byte 5",)), (("--params", "[1]"), ("no object",)),
                               (("--params", "@none.json"), ("none.json",)),
                               (("--kernel", "a", "--label", "kernel=b"), ("different things",)),
                               (("--params", "{}", "--label", "params=x"), ("both given",))):
            error = self.error_of("command", *options, expect=None)
            self.assertIn(error["code"], ("usage", "not_found", "bad_input"))
            for word in words:
                self.assertIn(word, error["message"])
        self.assertEqual(self.error_of("command", "--baseline", "nothing", expect="not_found")["code"], "not_found")
        self.assertEqual(len(self.ctl.json("runs", "--limit", "1000")["runs"]), count)


class AnnotationTest(ToolTest):
    def test_stages_are_profiled_and_kept(self):
        self.write("stages.json", '{"multiply": {"flops": 1e12, "bytes": 2e9}}')
        run = self.capture("annotation", "--stages", "@stages.json", "--kernel", "mla")
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), sorted([*NCU_LEFT, "params.json", "stages.csv", "stages.json"]))
        self.assertEqual(json.loads(self.artifact(run, "stages.json")), {"multiply": {"flops": 1e12, "bytes": 2e9}})
        self.assertEqual(len(self.artifact(run, "report.csv").splitlines()), 4)
        self.assertIn('"multiply"', self.artifact(run, "stages.csv"))

    def test_without_stages_every_kernel_is(self):
        run = self.capture("annotation")
        self.assertEqual(len(self.artifact(run, "report.csv").splitlines()), 5)
        self.assertIn('"load"', self.artifact(run, "stages.csv"))

    def test_stages_are_ranges_of_their_very_names(self):
        names = ["layers[0]", "mm, seq = 3", "a/b", "x*", "@+", "plain"]
        launches = [{"name": f"kernel_{at}(int)", "range": name, "duration_ns": 1000} for at, name in enumerate(names)]
        launches.append({"name": "nested(int)", "range": ["a", "b"], "duration_ns": 1000})
        launches.append({"name": "apart(int)", "range": ["a", "x", "b"], "duration_ns": 1000})
        launches.append({"name": "started(int)", "start_end": ["x*"], "duration_ns": 1000})
        self.played.set(launches=launches)
        for stages, kernels in ((names[:1], ["kernel_0"]), (names[1:2], ["kernel_1"]), (["a/b"], ["kernel_2", "nested"]),
                                (["x*"], ["kernel_3", "started"]), (["@+", "plain"], ["kernel_4", "kernel_5"])):
            run = self.capture("annotation", "--stages", json.dumps({name: {} for name in stages}))
            found = [line.split('","')[4].split("(")[0] for line in self.artifact(run, "report.csv").splitlines()[2:]]
            self.assertEqual(found, kernels)
        for name in ("*", "layers", "x/b/c"):
            self.error_of("annotation", "--stages", json.dumps({name: {}}), expect="no_kernels")
        error = self.error_of("annotation", "--stages", '{"a\\\\b": {}}', expect="usage")
        self.assertIn("may have a backslash", error["message"])

    def test_bad_stages_are_refused(self):
        count = len(self.ctl.json("runs", "--limit", "1000")["runs"])
        for options, why in ((("--stages", "{}"), "names no stage"),
                             (("--stages", '{"qk": {"flops": -1}}'), "byte 17: flops of stage 'qk'"),
                             (("--stages", '[{"name": "qk", "dtype": 16}]'), "the dtype of stage 'qk'"),
                             (("--params", '{"stages": {"qk": {"bytes": "3"}}}'), "bytes of stage 'qk'")):
            self.assertIn(why, self.error_of("annotation", *options, expect="usage")["message"])
        self.assertEqual(len(self.ctl.json("runs", "--limit", "1000")["runs"]), count)


class NsysTest(ToolTest):
    def test_a_capture_becomes_a_trace(self):
        run = self.capture("nsys")
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), ["export.log", "report.nsys-rep", "report.sqlite", "roofline.svg", "stages.svg", "stdout.log", "timeline.svg", "tool.json"])
        told = json.loads(self.artifact(run, "tool.json"))
        self.assertEqual((told["tool"], told["argv"][1], "export" in told["argv"]), ("nsys", "profile", False))
        self.assertNotIn("report.sqlite", self.ctl.run("logs", run["id"]).text)  # what our own step printed is no output of the command
        self.assertEqual(run["trace"]["slices"], 8)  # three kernels, three launches, two ranges
        rows = self.ctl.json("query", "--run", run["id"],
                             "SELECT count(*), sum(dur_ns) FROM slice WHERE category = 'kernel'")["rows"]
        self.assertEqual(rows, [[3, 4096 + 81920 + 80896]])
        ranges = self.ctl.json("analyze", "annotations", run["id"])["result"]["annotations"]
        self.assertEqual([(one["name"], one["kernels"]) for one in ranges], [("load", 1), ("multiply", 2)])

    def test_a_window_leaves_the_command_alone(self):
        run = self.capture("nsys", "--duration", "100ms", command=("sh", "-c", "sleep 0.5; echo went on"))
        self.assertEqual((run["state"], run["exit_code"]), ("done", 0))
        self.assertIn("went on", self.ctl.run("logs", run["id"]).text)

    def test_a_window_that_never_opens(self):
        error = self.error_of("nsys", "--delay", "20s", expect="tool_failed")
        self.assertIn("nsys left no report", error["message"])
        self.assertIn("--delay", error["remedy"])

    def test_a_range_of_any_name_begins_the_trace(self):
        options = ("--capture-range", "nvtx", "--nvtx", "multiply")
        run = self.capture("nsys", *options)
        rows = self.ctl.json("query", "--run", run["id"], "SELECT name FROM slice WHERE category = 'kernel'")["rows"]
        self.assertEqual([name.split("(")[0] for name, in rows], ["matmul_kernel"] * 2)
        # As nsys does by itself: none of these names is a registered string.
        error = self.error_of("nsys", *options, "--env", "NSYS_NVTX_PROFILER_REGISTER_ONLY=1", expect="tool_failed")
        self.assertIn("check that the command reaches the range", error["remedy"])
        self.played.set(registered=True)
        self.assertEqual(self.capture("nsys", *options, "--env", "NSYS_NVTX_PROFILER_REGISTER_ONLY=1")["state"], "done")

    def test_a_broken_report_is_the_tools_failure(self):
        self.played.set(truncated=10)
        error = self.error_of("nsys", expect="tool_failed")
        self.assertIn("export the report", error["message"])

    def test_a_release_before_its_reports_is_refused(self):
        self.played.set(version="2021.3.3.2-b99c4d6")
        error = self.error_of("nsys", expect="tool_missing")
        self.assertIn("is of 2021.3.3.2, which writes reports of an older form (.qdrep)", error["message"])
        self.assertIn("2021.4 or later", error["message"])

    def test_its_options_are_checked_first(self):
        error = self.error_of("nsys", "--delay", "ten", expect="usage")
        self.assertIn("no duration", error["message"])


class WithToolsOfCallers(AsAlice):
    """In system mode: the stand-ins by the configuration's tool_path, the command of a user who is not kprofd's."""

    @classmethod
    def make_daemon(cls, kind):
        tools = nsight_stand_in.install(os.path.join(cls.folder, "nsight"))
        cls.home = os.path.join(cls.folder, "alice")
        os.mkdir(cls.home, 0o700)
        os.chown(cls.home, ALICE, ALICE)
        return kind(cls.folder, config=f'[devices]\ntool_path = "{tools}"\n')

    @classmethod
    def begin_daemon(cls):
        cls.daemon = cls.make_daemon(SystemDaemon)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.start()

    def capture(self, tool, *options, **rest):
        self.alice.environment["HOME"] = self.home
        # Without the helper nobody has made a folder for ncu's lock, and that of /tmp may be somebody else's.
        return self.alice.json("capture", tool, "--device", "none", "--env", f"TMPDIR={self.home}", *options, "--", "echo", "ran",
                               cwd=self.home, **rest)


class WithToolsOnANode(OnANode, WithToolsOfCallers):
    """The same with the helper, detached: it starts the supervisor, and has made the folder for ncu's lock."""

    @classmethod
    def begin_daemon(cls):
        cls.daemon = cls.make_daemon(Node)
        cls.addClassCleanup(cls.daemon.end)
        cls.daemon.start_helper()
        cls.daemon.start()


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ToolsOfCallersTest(WithToolsOfCallers, unittest.TestCase):
    def test_a_capture_in_the_foreground(self):
        run = self.capture("ncu", "--params", '{"b":1}')
        self.assertEqual(names_of(run), sorted([*NCU_LEFT, "params.json"]))
        self.assertEqual(self.capture("nsys")["trace"]["slices"], 8)

    def test_a_tool_path_that_others_may_change_does_not_count(self):
        folder = os.path.join(self.folder, "nsight")
        os.chmod(folder, 0o777)
        try:
            self.assertEqual(self.capture("ncu", expect="tool_missing")["error"]["code"], "tool_missing")
        finally:
            os.chmod(folder, 0o755)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ToolsOnANodeTest(WithToolsOnANode, ToolsOfCallersTest):
    def test_a_detached_capture(self):
        self.alice.environment["HOME"] = self.home
        id_ = self.alice.json("capture", "ncu", "--detach", "--device", "none", "--", "echo", "ran", cwd=self.home)["id"]
        self.assertEqual(names_of(self.alice.wait(id_)), NCU_LEFT)


if __name__ == "__main__":
    unittest.main()
