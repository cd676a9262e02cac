"""Captures with the Neuron tools, on stand-ins: a NEFF, the NEFF that a command leaves, what somebody captured, the runtime's own
trace; from the command line to the artifacts and the error that says what to do."""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

import kprof_testing
import neuron_stand_in
from kprof_node import ALICE, AsAlice, Node, OnANode, SystemDaemon
from kprof_testing import DaemonTest, distrust

sys.path.insert(0, neuron_stand_in.STAND_INS)
import neuron_profiles  # noqa: E402

WORKLOAD = os.path.join(neuron_stand_in.STAND_INS, "neuron_workload.py")
TABLES = ["DmaPacket.parquet", "Instruction.parquet", "Metadata.parquet", "Summary.parquet"]


def names_of(run):
    return [artifact["name"] for artifact in run["artifacts"]]


def codes_of(run):
    return [reason["code"] for reason in distrust(run)]


class NeuronCaptureTest(DaemonTest):
    """In user mode, the stand-ins by KPROF_TOOL_PATH of the daemon."""

    programs = neuron_stand_in.PROGRAMS

    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        folder = cls.enterClassContext(kprof_testing.temporary_folder())
        tools = neuron_stand_in.install_programs(os.path.join(folder, "tools"), cls.programs)
        cls.daemon = cls.enterClassContext(kprof_testing.running_daemon(environment={"KPROF_TOOL_PATH": tools}))
        cls.ctl = cls.daemon.ctl

    def setUp(self):
        super().setUp()
        self.node_path = self.path("node.json")
        self.calls_path = self.path("calls")
        self.ctl.environment["HOME"] = self.folder
        self.play()
        self.neff = self.path("file.neff")
        neuron_profiles.write_neff(self.neff, "attention")

    def play(self, devices=1, **profiler):
        with open(self.node_path, "w", encoding="utf-8") as file:
            json.dump({"devices": devices, "profiler": dict(profiler, calls=self.calls_path)}, file)

    def calls(self):
        with open(self.calls_path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def verbs(self):
        return [call["argv"][0] for call in self.calls() if call["argv"][0] in ("capture", "view") and "--help" not in call["argv"]]

    def options(self, *options):
        return ["--device", "none", "--env", f"KPROF_NEURON_STAND_IN={self.node_path}", *options]

    def capture(self, tool, *options, command=(), **rest):
        behind = ["--", *command] if command else []
        return self.ctl.json("capture", tool, *self.options(*options), *behind, cwd=self.folder, **rest)

    def error_of(self, tool, *options, command=(), expect="tool_failed"):
        behind = ["--", *command] if command else []
        error = self.ctl.run("--json", "capture", tool, *self.options(*options), *behind, cwd=self.folder, expect=expect).error
        self.assertEqual(error["code"], expect)
        return error["message"] + " " + (error["remedy"] or "")

    def artifact(self, run, name):
        path = self.path("got")
        self.ctl.run("artifacts", run["id"], "get", name, "-o", path)
        with open(path, "rb") as file:
            return file.read()


class NeffTest(NeuronCaptureTest):
    def test_a_neff_is_executed_and_its_profile_kept(self):
        self.play(log=["level=info msg=\"reading\""])
        run = self.capture("neuron", "file.neff")
        self.assertEqual(run["state"], "done")
        self.assertEqual(names_of(run), sorted(["file.neff", "profile_exec_2.ntff", "profile_exec_2.summary.json", "stdout.log",
                                                "tool.json", *TABLES]))
        summary = json.loads(self.artifact(run, "profile_exec_2.summary.json"))  # without the lines of the log
        [counters] = summary.values()
        self.assertGreater(counters["tensor_engine_active_time"], 0)
        told = json.loads(self.artifact(run, "tool.json"))
        self.assertEqual((told["tool"], told["version"], told["view"]), ("neuron", "2.33.38.0", "tables"))
        self.assertEqual(self.artifact(run, "file.neff"), self.read("file.neff"))
        self.assertEqual(self.verbs(), ["capture", "view", "view"])

    def test_a_detached_one_too(self):
        id_ = self.capture("neuron", "file.neff", "--detach")["id"]
        self.assertIn("profile_exec_2.ntff", names_of(self.ctl.wait(id_)))

    def test_json_where_it_is_asked_for(self):
        run = self.capture("neuron", "file.neff", "--view", "json")
        self.assertIn("profile_exec_2.view.json", names_of(run))
        profile = json.loads(self.artifact(run, "profile_exec_2.view.json"))
        self.assertTrue(profile["instruction"] and profile["summary"])

    def parts(self, run):
        return self.ctl.json("query", "--run", run["id"], "SELECT part, rank FROM trace ORDER BY part")["rows"]

    def test_several_executions_and_workers(self):
        run = self.capture("neuron", "file.neff", "--num-exec", "5", "--workers-per-node", "2", "--view", "summary")
        self.assertEqual([name for name in names_of(run) if name.endswith(".ntff")],
                         [f"profile_rank_{rank}_exec_{at}.ntff" for rank in (0, 1) for at in (2, 4)])
        self.assertIn("profile_rank_1_exec_4.view.json", names_of(run))
        self.assertEqual(self.parts(run), [[f"rank{rank}_exec{at}", rank] for rank in (0, 1) for at in (2, 4)])
        self.assertNotIn("rank_twice", [reason["code"] for reason in run["trust"]])

    def test_an_execution_is_no_rank(self):
        run = self.capture("neuron", "file.neff", "--num-exec", "6", "--view", "json")
        self.assertEqual(self.parts(run), [["exec2", None], ["exec4", None], ["exec6", None]])
        answer = self.ctl.json("analyze", "engines", run["id"])
        rows = answer["result"]["engines"]
        keys = {(row["engine"], row["core"], row["execution"]) for row in rows}
        self.assertEqual(len(keys), len(rows))
        self.assertEqual({row["execution"] for row in rows}, {2, 4, 6})

    def test_failures_say_what_to_do(self):
        for told, options, words in (
                ({"devices": 0}, (), ("no Neuron device", "kprofctl doctor")),
                ({"fails_at": "capture", "fails_with": "nrt error: RESOURCE_EXHAUSTED"}, (), ("memory is too small", "5 GB")),
                ({"fails_at": "capture", "fails_with": "error: open /dev/neuron0: permission denied"}, (), ("/dev/neuron*",)),
                ({"fails_at": "view", "fails_with": "fatal error: out of cheese"}, (), ("it says: fatal error: out of cheese",)),
                ({"ntff_version": 115}, (), ("of a version", "of the SDK")),
                ({"cut_ntff": 300}, (), ("profile_exec_2.ntff is cut",)),
                ({"empty_ntff": True}, (), ("executed nothing",)),
                ({"no_ntff": True}, (), ("--num-exec 2",)),
                ({}, ("--inputs", "q=none.npy"), ("a file is not there",))):
            with self.subTest(told=told):
                self.play(**told)
                message = self.error_of("neuron", "file.neff", *options)
                for word in words:
                    self.assertIn(word, message)

    def test_a_neff_that_is_not_there(self):
        self.assertIn("no NEFF 'other.neff'", self.error_of("neuron", "other.neff"))

    def test_what_makes_no_sense_is_not_queued(self):
        self.assertIn("neither a NEFF nor a command", self.error_of("neuron", expect="usage"))
        self.assertIn("--profile-nth-exec", self.error_of("neuron", "file.neff", "--num-exec", "1", expect="usage"))

    def test_without_a_home_it_says_so(self):
        del self.ctl.environment["HOME"]
        self.assertIn("--env HOME=/tmp", self.error_of("neuron", "file.neff"))

    def test_a_node_without_neuron_devices_leases_none(self):
        run = self.ctl.json("capture", "neuron", "--env", f"KPROF_NEURON_STAND_IN={self.node_path}", "file.neff", "--num-exec", "4",
                            cwd=self.folder)
        self.assertEqual((run["device"], run["command"], codes_of(run)), ([], ["neuron", "file.neff", "--num-exec", "4"], []))
        self.assertIn("neuron file.neff --num-exec 4", self.ctl.run("runs", "--limit", "1").text)
        self.play(devices=0)
        failed = self.ctl.run("--json", "capture", "neuron", "--env", f"KPROF_NEURON_STAND_IN={self.node_path}", "file.neff",
                              cwd=self.folder, expect="tool_failed")
        self.assertIn("there is no Neuron device here", failed.error["message"])

    def test_missing_data_is_in_the_trust(self):
        self.play(incomplete="2 DMA rings")
        self.assertIn("source_incomplete", codes_of(self.capture("neuron", "file.neff")))


class CommandTest(NeuronCaptureTest):
    def test_the_neff_that_a_command_leaves_is_profiled(self):
        run = self.capture("neuron", "--disable-dge", "--debug-info", command=(WORKLOAD,))
        self.assertEqual(run["state"], "done")
        self.assertIn("MODULE_SyncTensorsGraph.0_attention.neff", names_of(run))
        self.assertIn("profile_exec_2.ntff", names_of(run))
        self.assertEqual(self.ctl.run("logs", run["id"]).text.splitlines()[0], "loss 0.25")
        compiled = self.read("compiled.env").decode().splitlines()
        self.assertEqual(compiled, ["NEURON_CC_FLAGS=--disable-dge", "NKI_DEBUG_INFO=True", "XLA_IR_DEBUG=1", "XLA_HLO_DEBUG=1",
                                    "KPROF_TOOL_PATH="])

    def test_of_several_the_newest_or_the_one_that_is_told(self):
        run = self.capture("neuron", "--view", "summary", command=(WORKLOAD, "--kernels", "first,second"))
        self.assertIn("neff_chosen", codes_of(run))
        self.assertIn("MODULE_SyncTensorsGraph.1_second.neff", names_of(run))
        run = self.capture("neuron", "--view", "summary", "--neff", "*first*", command=(WORKLOAD, "--kernels", "first,second"))
        self.assertEqual(codes_of(run), [])
        self.assertIn("MODULE_SyncTensorsGraph.0_first.neff", names_of(run))

    def test_a_command_that_leaves_none(self):
        os.unlink(self.neff)
        message = self.error_of("neuron", command=("true",))
        self.assertIn("left no .neff file", message)
        self.assertIn("NEURON_COMPILE_CACHE_URL", message)

    def test_a_command_that_fails_is_its_own_failure(self):
        run = self.capture("neuron", command=(WORKLOAD, "--exit", "3"), expect="command_failed")
        self.assertEqual(run["exit_code"], 3)
        self.assertNotIn("capture", self.verbs())

    def test_a_check_runs_when_all_is_done(self):
        run = self.capture("neuron", "file.neff", "--check", f"test -s {self.calls_path} && exit 5", expect="check_failed")
        self.assertEqual(self.verbs(), ["capture", "view", "view"])
        self.assertIn("profile_exec_2.ntff", names_of(run))


class ProfileTest(NeuronCaptureTest):
    """What nki.benchmark left, say."""

    def setUp(self):
        super().setUp()
        neuron_profiles.write_ntff(self.path("bench.ntff"), self.neff, {})

    def test_it_is_made_readable(self):
        run = self.capture("neuron", "file.neff", "--ntff", "bench.ntff")
        self.assertEqual(names_of(run), sorted(["bench.ntff", "file.neff", "bench.summary.json", "tool.json", *TABLES]))
        self.assertEqual(self.verbs(), ["view", "view"])

    def test_it_is_imported(self):
        run = self.ctl.json("import", "file.neff", "bench.ntff", "--label", "kernel=attn", cwd=self.folder,
                            env=dict(self.ctl.environment, KPROF_NEURON_STAND_IN=self.node_path))
        self.assertEqual((run["state"], run["tool"], run["labels"]), ("done", "neuron", {"kernel": "attn"}))
        self.assertIn("Instruction.parquet", names_of(run))

    def test_an_import_ends_with_a_summary_as_others_do(self):
        text = self.ctl.run("import", "file.neff", "bench.ntff", cwd=self.folder,
                            env=dict(self.ctl.environment, KPROF_NEURON_STAND_IN=self.node_path)).out
        [run] = self.ctl.json("runs", "--limit", "1")["runs"]
        report = text.decode() if isinstance(text, bytes) else text
        self.assertEqual(report.count(f"kprofctl show {run['id']}"), 1)
        self.assertIn("engine", report.split("kprofctl show")[1])  # of the first look

    def test_an_ntff_without_its_neff(self):
        error = self.ctl.run("--json", "import", "bench.ntff", cwd=self.folder, expect="usage").error
        self.assertIn("FILE.neff FILE.ntff", error["remedy"])

    def test_a_folder_with_both_is_paired(self):
        folder = self.path("bench")
        os.mkdir(folder)
        for name in ("file.neff", "bench.ntff"):
            shutil.copy(self.path(name), folder)
        run = self.ctl.json("import", "bench", cwd=self.folder, env=dict(self.ctl.environment, KPROF_NEURON_STAND_IN=self.node_path))
        self.assertEqual((run["state"], run["tool"]), ("done", "neuron"))
        self.assertIn("Instruction.parquet", names_of(run))
        shutil.copy(self.neff, os.path.join(folder, "other.neff"))
        error = self.ctl.run("--json", "import", "bench", cwd=self.folder, expect="usage").error
        self.assertIn("2 NEFFs and 1 NTFFs", error["message"])
        self.assertIn("kprofctl import bench/file.neff bench/bench.ntff", error["remedy"])

    def test_what_no_import_reads_says_the_command(self):
        error = self.ctl.run("--json", "import", "file.neff", cwd=self.folder, expect="usage").error
        self.assertIn("kprofctl capture neuron file.neff", error["remedy"])
        tree = self.path("insp/i-0_pid_7/1")
        os.makedirs(tree)
        for name in ("ntrace.pb", "trace_info.pb", "1_instid_0_vnc_0.ntff", "neff_1.neff"):
            with open(os.path.join(tree, name), "wb") as file:
                file.write(b"x")
        error = self.ctl.run("--json", "import", "insp", cwd=self.folder, expect="usage").error
        self.assertIn("neuron-explorer view -d insp --output-format json", error["remedy"])
        error = self.ctl.run("--json", "import", "insp/i-0_pid_7/1/ntrace.pb", cwd=self.folder, expect="usage").error
        self.assertIn("neuron-explorer view -d insp/i-0_pid_7/1 ", error["remedy"])

    def test_one_that_is_cut_never_reaches_the_program(self):
        with open(self.path("bench.ntff"), "r+b") as file:
            file.truncate(500)
        self.assertIn("bench.ntff is cut", self.error_of("neuron", "file.neff", "--ntff", "bench.ntff"))
        self.assertEqual(self.verbs(), [])

    def test_one_of_another_neff(self):
        neuron_profiles.write_neff(self.path("other.neff"), "other")
        self.assertIn("ids must be equal", self.error_of("neuron", "other.neff", "--ntff", "bench.ntff"))


class SystemTraceTest(NeuronCaptureTest):
    def tree(self, run):
        return [name for name in names_of(run) if name.endswith((".env", ".pb", ".neff", ".ntff"))]

    def test_the_runtimes_trace_is_kept_and_made_readable(self):
        run = self.capture("neuron-system", "--events", "hardware,^cc_exec", "--cores", "0-1", command=(WORKLOAD,))
        self.assertEqual((run["state"], codes_of(run)), ("done", []))
        self.assertEqual(self.tree(run), ["inspect.env", "ntrace.pb", "trace_info.pb"])
        profile = json.loads(self.artifact(run, "system_profile.json"))
        self.assertEqual(len(profile["trace_event"]), 15)
        self.assertEqual(glob.glob(self.path("*.json")), [self.node_path])  # none lies in the caller's folder
        variables = self.artifact(run, "inspect.env").decode()
        for words in ("NEURON_RT_INSPECT_DEVICE_PROFILE=0", "NEURON_RT_INSPECT_EVENT_FILTER_TYPE=hardware,^cc_exec",
                      "NEURON_RT_INSPECT_EVENT_FILTER_NC=0-1", "NEURON_RT_INSPECT_SYSTEM_PROFILE=1"):
            self.assertIn(words, variables)

    def test_as_tables(self):
        answers = []
        for view in ("tables", "json"):
            run = self.capture("neuron-system", "--view", view, command=(WORKLOAD, "--executions", "2"))
            self.assertEqual((run["state"], codes_of(run)), ("done", []))
            self.assertEqual("SystemProfileEvents.parquet" in names_of(run), view == "tables")
            told = self.ctl.json("analyze", "device-idle", run["id"])["result"]
            self.assertEqual([(row["instance"], row["nc"], row["busy_ns"], row["wall_ns"]) for row in told["cores"]],
                             [("i-0123456789abcdef0", 0, 2_200_000, 2_800_000)])
            for row in told["cores"] + told["gaps"]:
                row.pop("process")
            answers.append((told, self.ctl.json("analyze", "lines", run["id"])["result"]))
        self.assertEqual(*answers)

    def test_device_profiles_with_it(self):
        run = self.capture("neuron-system", "--device-profile", "session", command=(WORKLOAD,))
        self.assertEqual(self.tree(run), ["10001_instid_0_vnc_0.ntff", "inspect.env", "neff_10001.neff", "ntrace.pb",
                                          "trace_info.pb"])

    def test_dropped_events_and_empty_files_are_in_the_trust(self):
        self.play(dropped=1001)
        run = self.capture("neuron-system", "--cpu-util", command=(WORKLOAD, "--empty", "cpu_util.pb"))
        self.assertEqual(codes_of(run), ["output_empty", "events_dropped"])
        self.assertIn("1001 trace events were dropped", distrust(run)[1]["message"])
        self.assertEqual(self.ctl.json("analyze", "lines", run["id"])["result"]["total"]["dropped_events"], 1001)
        path = os.path.join(self.folder, "scalene.json")
        self.ctl.run("export", run["id"], "--format", "scalene", "--output", path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["neuron_dropped_events"], 1001)

    def test_a_command_that_does_not_use_the_runtime(self):
        self.assertIn("did not use the Neuron runtime", self.error_of("neuron-system", command=("true",)))

    def test_other_profilers_are_seen(self):
        message = self.error_of("neuron-system", "--env", "NEURON_RT_INSPECT_ENABLE=1", command=(WORKLOAD,))
        self.assertIn("unset NEURON_RT_INSPECT_ENABLE", message)
        self.write("train.py", f"import subprocess\n# torch.profiler\nsubprocess.run(['{WORKLOAD}'])\n")
        run = self.capture("neuron-system", command=("/usr/bin/python3", "train.py"))
        self.assertEqual(codes_of(run), ["profiler_conflict"])

    def test_another_inspection_of_the_users_is_seen(self):
        other = subprocess.Popen(["sleep", "60"], env={"NEURON_RT_INSPECT_ENABLE": "1", "PATH": "/usr/bin:/bin"})
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        [reason] = distrust(self.capture("neuron-system", command=(WORKLOAD,)))
        self.assertEqual(reason["code"], "profiler_conflict")
        self.assertIn(f"process {other.pid} ", reason["message"])


class OlderProgramTest(NeuronCaptureTest):
    """Of the two neuron-profile alone is there."""

    programs = ("neuron-profile",)

    def test_it_serves_with_json(self):
        self.play(refuses_parquet=True)
        run = self.capture("neuron", "file.neff")
        self.assertIn("profile_exec_2.view.json", names_of(run))
        self.assertEqual(json.loads(self.artifact(run, "tool.json"))["version"], "2.28.23.0")
        self.assertIn("install neuron-explorer", self.error_of("neuron", "file.neff", "--view", "tables"))

    def test_doctor_names_it(self):
        diagnoses = {one["check"]: one for one in self.ctl.json("doctor")["diagnoses"]}
        self.assertIn("neuron-profile 2.28.23.0", diagnoses["tools"]["message"])


class NoProgramTest(NeuronCaptureTest):
    programs = ()

    def test_neither_is_there(self):
        message = self.error_of("neuron", "file.neff", expect="tool_missing")
        self.assertIn("neuron-explorer", message)
        self.assertIn("neuron-profile", message)
        self.assertIn("aws-neuronx-tools", message)
        self.assertNotIn(self.ctl.environment["PATH"], message)
        told = self.ctl.run("capture", "neuron", *self.options("file.neff"), cwd=self.folder, expect="tool_missing").err
        self.assertEqual(str(told).count("aws-neuronx-tools"), 1, told)
        diagnoses = {one["check"]: one for one in self.ctl.json("doctor")["diagnoses"]}
        self.assertIn("captures with neuron, neuron-system need", diagnoses["tool_neuron-explorer"]["message"])
        self.assertNotIn("tool_neuron-profile", diagnoses)

    def test_doctor_sees_what_the_callers_path_has(self):
        tools = neuron_stand_in.install_programs(self.path("mine"))
        there = {one["check"]: one for one in self.ctl.json("doctor", env=dict(
            self.ctl.environment, PATH=f"{tools}:{self.ctl.environment['PATH']}"))["diagnoses"]}["tool_neuron-explorer"]
        self.assertEqual((there["level"], there["remedy"]), ("ok", None))
        self.assertIn(f"captures from this shell do: {tools}/neuron-explorer", there["message"])


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NeuronOfCallersTest(AsAlice, unittest.TestCase):
    """In system mode: the vendor's program runs as the caller."""

    @classmethod
    def make_daemon(cls, kind):
        tools = neuron_stand_in.install_programs(os.path.join(cls.folder, "neuron"))
        cls.home = os.path.join(cls.folder, "alice")
        os.mkdir(cls.home, 0o700)
        os.chown(cls.home, ALICE, ALICE)
        return kind(cls.folder, config=f'[devices]\ntool_path = "{tools}"\n')

    @classmethod
    def begin_daemon(cls):
        cls.daemon = cls.make_daemon(SystemDaemon)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.start()

    def setUp(self):
        super().setUp()
        self.alice.environment["HOME"] = self.home
        self.neff = os.path.join(self.home, "file.neff")
        neuron_profiles.write_neff(self.neff, "attention")
        shutil.chown(self.neff, ALICE)

    def capture(self, tool, *options, command=(), **rest):
        behind = ["--", *command] if command else []
        return self.alice.json("capture", tool, "--device", "none", *options, *behind, cwd=self.home, **rest)

    def test_a_neff(self):
        run = self.capture("neuron", "file.neff")
        self.assertIn("Instruction.parquet", names_of(run))

    def test_a_command_and_the_runtimes_trace(self):
        workload = os.path.join(self.folder, "neuron", "neuron_workload.py")
        self.assertIn("profile_exec_2.ntff", names_of(self.capture("neuron", command=(workload,))))
        self.assertIn("system_profile.json", names_of(self.capture("neuron-system", command=(workload,))))


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NeuronOnANodeTest(OnANode, NeuronOfCallersTest):
    """The same with the helper, detached as well."""

    @classmethod
    def begin_daemon(cls):
        cls.daemon = cls.make_daemon(Node)
        cls.addClassCleanup(cls.daemon.end)
        cls.daemon.start_helper()
        cls.daemon.start()

    def test_a_detached_one(self):
        id_ = self.capture("neuron", "file.neff", "--detach")["id"]
        self.assertIn("profile_exec_2.ntff", names_of(self.alice.wait(id_)))


if __name__ == "__main__":
    unittest.main()
