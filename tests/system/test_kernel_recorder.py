"""python -m kprof.neuron (client/python/kprof/neuron.py), on the stand-in of libnrt: a program that knows nothing of it, what it
leaves, and what goes wrong with the runtime's trace."""

import json
import os
import subprocess
import sys
import textwrap
import unittest
import zipapp

import kprof_testing
from kprof_testing import temporary_folder

RUNTIME = os.path.join(kprof_testing.ROOT, "tests", "stand_ins", "neuron", "runtime")
PACKAGE = os.path.join(kprof_testing.ROOT, "client", "python")
RECORDER = os.path.join(PACKAGE, "kprof", "neuron.py")
LIBRARY = os.path.join(kprof_testing.BIN, "libnrt_stand_in.so")

PROGRAM = """
import sys
from spike import SpikeModel

attention = SpikeModel("attention", device_ns=2_000_000)
feed_forward = SpikeModel("feed_forward", device_ns=3_000_000)


def step(x):
    attention(x)
    feed_forward(x)


if __name__ == "__main__":
    for at in range(int(sys.argv[1])):
        step(at)
    print("ran", sys.argv[1:])
"""
FIRST_LINE, SECOND_LINE = 10, 11


class RecorderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(LIBRARY):
            raise unittest.SkipTest(f"no {LIBRARY}; build nrt_stand_in_library")

    def setUp(self):
        self.folder = self.enterContext(temporary_folder())
        self.write("model.py", PROGRAM)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))

    def run_recorded(self, *words, environment=None, expect=0, by_path=True, python=sys.executable):
        """Of what it printed standard output, then standard error."""
        variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": RUNTIME, "KPROF_NRT_LIBRARY": LIBRARY,
                     "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
        if not by_path:
            variables["PYTHONPATH"] += ":" + PACKAGE
        command = [python, RECORDER] if by_path else [python, "-m", "kprof.neuron"]
        ran = subprocess.run([*command, *words], cwd=self.folder, env=variables, capture_output=True, text=True, check=False,
                             timeout=kprof_testing.LIMIT_S)
        self.assertEqual(ran.returncode, expect, ran.stderr)
        return ran.stdout, ran.stderr

    def profile(self, name="kernel_profile.json"):
        with open(self.path(name), encoding="utf-8") as file:
            profile = json.load(file)
        events = json.loads(profile["events_json"])["events"] if profile["events_json"] else []
        return profile, events

    def places(self, profile):
        return [(os.path.basename(call["filename"]), call["lineno"], call["kernel_name"]) for call in profile["kernel_calls"]]


class CallsTest(RecorderTest):
    def test_a_program_that_is_told_to_end_is_written(self):
        self.write("long.py", """
            import time
            import kprof.neuron
            with kprof.neuron.record("step"):
                pass
            print("ready", flush=True)
            time.sleep(600)
            """)
        variables = {**os.environ, "PYTHONPATH": f"{RUNTIME}:{PACKAGE}", "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen([sys.executable, "-m", "kprof.neuron", "--no-scalene", "long.py"], cwd=self.folder, env=variables,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.terminate()
            self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), 128 + 15)
        self.assertEqual([call["kernel_name"] for call in self.profile()[0]["kernel_calls"]], ["step"])

    def test_a_program_is_recorded_as_it_is(self):
        for by_path in (True, False):
            with self.subTest(by_path=by_path):
                out, _ = self.run_recorded("--no-scalene", "model.py", "2", "--flag", by_path=by_path)
                self.assertEqual(out, "ran ['2', '--flag']\n")
                profile, events = self.profile()
                self.assertEqual(self.places(profile), [("model.py", FIRST_LINE, "attention"), ("model.py", SECOND_LINE, "feed_forward")] * 2)
                self.assertEqual([call["call_index"] for call in profile["kernel_calls"]], [0, 1, 2, 3])
                self.assertEqual(len(events), 4 * 4)
                self.assertEqual(list(events[0])[:10], ["event_type", "phase", "id", "nc_idx", "nc_local_id", "tracking_id", "thread_id",
                                                        "worker_gid", "data", "timestamp_ns"])
                starts = [event for event in events if event["event_type"] == "nrt_execute" and event["phase"] == "start"]
                for call, start in zip(profile["kernel_calls"], starts):
                    self.assertLessEqual(call["start_ns"], start["timestamp_ns"])
                    self.assertLessEqual(start["timestamp_ns"], call["end_ns"])
                    self.assertEqual(call["thread_id"], start["thread_id"])
                self.assertLessEqual(profile["wall_start_ns"], profile["kernel_calls"][0]["start_ns"])
                self.assertGreaterEqual(profile["wall_stop_ns"], profile["kernel_calls"][-1]["end_ns"])
                self.assertEqual((profile["rank"], profile["world_size"], profile["troubles"]), (0, 1, []))
                self.assertEqual(sorted(os.listdir(self.folder)), ["kernel_profile.json", "model.py"])
                os.unlink(self.path("kernel_profile.json"))

    def test_a_program_sees_itself_as_python_shows_it(self):
        self.write("sees.py", """
            import os, pickle, sys
            class Thing:
                pass
            main = sys.modules["__main__"]
            print(sys.argv, main.__file__ == __file__ == os.path.abspath("sees.py"), main.Thing is Thing,
                  isinstance(pickle.loads(pickle.dumps(Thing())), Thing), sys._getframe().f_code.co_filename == __file__)
            """)
        plain = subprocess.run([sys.executable, "sees.py", "a"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        out, _ = self.run_recorded("--no-scalene", "sees.py", "a")
        self.assertEqual(out, plain)
        self.assertEqual(plain, "['sees.py', 'a'] True True True True\n")

    def test_an_archive_is_a_program_too(self):
        os.mkdir(self.path("app"))
        self.write("app/__main__.py", PROGRAM)
        zipapp.create_archive(self.path("app"), self.path("app.pyz"))
        out, _ = self.run_recorded("--no-scalene", "app.pyz", "1")
        self.assertEqual(out, "ran ['1']\n")

    def test_it_needs_no_grpc_and_hides_no_module_of_the_program(self):
        self.write("client.py", "NAME = 'the program\\'s own'\n")
        self.write("main.py", """
            import sys
            import client
            import kprof.neuron
            print(client.NAME, "grpc" in sys.modules, kprof.neuron.record("x") is not None, __name__, sys.path[0])
            """)
        out, _ = self.run_recorded("--no-scalene", "main.py")
        self.assertEqual(out, f"the program's own False True __main__ {self.folder}\n")

    def test_a_module_is_a_program_too(self):
        os.mkdir(self.path("package"))
        self.write("package/train.py", PROGRAM)
        out, _ = self.run_recorded("--no-scalene", "-m", "package.train", "1")
        self.assertEqual(out, "ran ['1']\n")
        self.assertEqual(len(self.profile()[0]["kernel_calls"]), 2)

    def test_its_end_is_the_programs_own(self):
        self.write("fails.py", "import model\nmodel.step(1)\nraise ValueError('on purpose')\n")
        _, err = self.run_recorded("--no-scalene", "fails.py", expect=1)
        self.assertIn("ValueError: on purpose", err)
        self.assertEqual(len(self.profile()[0]["kernel_calls"]), 2)  # what came before is kept
        self.write("exits.py", "import sys\nsys.exit(7)\n")
        self.run_recorded("--no-scalene", "exits.py", expect=7)

    def test_calls_are_told_by_hand(self):
        self.write("hand.py", """
            import time
            import kprof.neuron
            from spike import SpikeModel
            schedule = SpikeModel("schedule", device_ns=1_000_000, is_async=True)
            with kprof.neuron.record("attention", nc=3) as call:
                call.seq_id = 2**60 + 1
            now = time.time_ns()
            kprof.neuron.record("told", start_ns=now - 5, end_ns=now, seq_id=9, filename="/w/other.py", lineno=12)
            kprof.neuron.wrap(lambda: None, "wrapped")()
            schedule()
            """)
        self.run_recorded("--no-scalene", "hand.py")
        profile, events = self.profile()
        calls = {call["kernel_name"]: call for call in profile["kernel_calls"]}
        self.assertEqual((calls["attention"]["nc_idx"], calls["attention"]["nrta_seq_id"], calls["attention"]["lineno"]), (3, 2**60 + 1, 6))
        self.assertEqual((calls["told"]["filename"], calls["told"]["lineno"], calls["told"]["end_ns"] - calls["told"]["start_ns"]),
                         ("/w/other.py", 12, 5))
        self.assertEqual(calls["wrapped"]["lineno"], 10)
        self.assertEqual({event["event_type"] for event in events}, {"nrta_execute_schedule", "nc_exec_running"})
        self.assertIn("nrta_seq_id", events[0])

    def test_without_the_recorder_nothing_is_recorded(self):
        self.write("plain.py", """
            import kprof.neuron
            with kprof.neuron.record("a") as call:
                call.seq_id = 1
            print(kprof.neuron.wrap(len)("abc"))
            """)
        ran = subprocess.run([sys.executable, "plain.py"], cwd=self.folder, env={"PYTHONPATH": PACKAGE}, capture_output=True, text=True,
                             check=True)
        self.assertEqual(ran.stdout, "3\n")

    def test_functions_are_wrapped_by_name(self):
        self.write("kernels.py", """
            class Layer:
                def forward(self, x):
                    return x + 1
            def launch():
                pass
            """)
        self.write("main.py", "import kernels\nprint(kernels.Layer().forward(1))\nkernels.launch()\n")
        _, err = self.run_recorded("--no-scalene", "--wrap", "kernls:launch", "model.py", "1")
        self.assertIn("--wrap kernls:launch: the program imported no such function", err)
        self.assertIn("kernls:launch", self.profile()[0]["troubles"][0])
        out, err = self.run_recorded("--no-scalene", "--wrap", "kernels:Layer.forward", "--wrap", "kernels:launch", "--wrap",
                                     "kernels:none", "main.py")
        self.assertEqual(out, "2\n")
        self.assertEqual(self.places(self.profile()[0]), [("main.py", 2, "Layer.forward"), ("main.py", 3, "launch")])
        self.run_recorded("--wrap", "kernels", "main.py", expect=2)
        self.assertNotIn("no call of a kernel", err)

    def test_threads_are_told_apart_and_children_write_nothing(self):
        self.write("many.py", """
            import os
            import threading
            import model
            threads = [threading.Thread(target=model.step, args=(1,)) for _ in range(3)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            child = os.fork()
            if child == 0:
                model.step(1)
                raise SystemExit(0)
            os.waitpid(child, 0)
            """)
        self.run_recorded("--no-scalene", "many.py")
        calls = self.profile()[0]["kernel_calls"]
        self.assertEqual(len(calls), 6)
        self.assertEqual(len({call["thread_id"] for call in calls}), 3)
        starts = [call["start_ns"] for call in calls]
        self.assertEqual(starts, sorted(starts))


class RanksTest(RecorderTest):
    def test_each_rank_has_a_file(self):
        for rank in ("0", "1"):
            self.run_recorded("--no-scalene", "model.py", "1", environment={"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2"})
        for rank in (0, 1):
            self.assertEqual(self.profile(f"kernel_profile_rank{rank}.json")[0]["rank"], rank)

    def test_ranks_that_are_not_wanted_just_run(self):
        out, _ = self.run_recorded("--no-scalene", "--ranks", "0", "model.py", "1", environment={"RANK": "1", "WORLD_SIZE": "2"})
        self.assertEqual(out, "ran ['1']\n")
        self.assertEqual(os.listdir(self.folder).count("model.py"), len(os.listdir(self.folder)))

    def test_a_capture_finds_the_package(self):
        kprof_testing.need_programs()
        daemon = self.enterContext(kprof_testing.running_daemon())
        environment = {**daemon.ctl.environment, "PYTHONPATH": RUNTIME, "KPROF_NRT_LIBRARY": LIBRARY}
        run = daemon.ctl.capture(sys.executable, "-m", "kprof.neuron", "--no-scalene", "model.py", "1", env=environment, cwd=self.folder)
        self.assertEqual(run["state"], "done")
        self.assertIn("kernel_profile.json", [artifact["name"] for artifact in run["artifacts"]])

    def test_a_run_of_kprof_gets_it_into_its_folder(self):
        os.mkdir(self.path("out"))
        self.run_recorded("--no-scalene", "model.py", "1", environment={"KPROF_OUTPUT_DIR": self.path("out")})
        self.assertEqual(os.listdir(self.path("out")), ["kernel_profile.json"])


class TraceTest(RecorderTest):
    def trace(self, *words, told="", steps="2", expect_calls=None):
        _, err = self.run_recorded("--no-scalene", *words, "model.py", steps, environment={"KPROF_NRT_STAND_IN": told})
        profile, events = self.profile()
        self.assertEqual(len(profile["kernel_calls"]), 2 * int(steps) if expect_calls is None else expect_calls)
        return profile, events, err

    def test_two_physical_cores_are_two_events_each(self):
        _, events, _ = self.trace(told="lnc2")
        running = [event for event in events if event["event_type"] == "nc_exec_running"]
        self.assertEqual(len(running), 4 * 4)
        self.assertGreater(max(event["tracking_id"] for event in running), 2**53)

    def test_events_are_fetched_while_it_runs(self):
        profile, events, _ = self.trace("--every", "0.01", steps="20")
        self.assertGreater(profile["fetches"], 3)
        self.assertEqual(len({event["id"] for event in events}), 2 * 4 * 20)

    def test_a_ring_that_is_too_small_loses_the_oldest(self):
        _, events, _ = self.trace("--every", "60", "--max-events", "6", steps="3")
        self.assertLess(len(events), 24)
        self.assertEqual(events[-1]["id"], 24)

    def test_cores_and_events_are_chosen(self):
        profile, events, err = self.trace("--cores", "1-2,5")
        self.assertEqual(events, [])
        self.assertIn("no event of the runtime passed --cores 1,2,5", err)
        self.assertIn("--cores 1,2,5", profile["troubles"][0])
        self.assertEqual(profile["program"], self.path("model.py"))
        _, events, err = self.trace("--events", "nrt_execute,nothing")
        self.assertEqual({event["event_type"] for event in events}, {"nrt_execute"})
        self.assertIn("no events of the types nothing", err)

    def test_a_runtime_that_is_initialised_later(self):
        self.write("late.py", "import time\nimport model\nmodel.step(1)\ntime.sleep(0.5)\nmodel.step(2)\n")
        self.run_recorded("--no-scalene", "late.py", environment={"KPROF_NRT_STAND_IN": "late"})
        profile, events = self.profile()
        self.assertEqual((len(profile["kernel_calls"]), profile["troubles"]), (4, []))
        self.assertGreaterEqual(len(events), 8)  # those of the second step at least

    def test_what_goes_wrong_is_told_and_the_calls_are_kept(self):
        for told, words in (("start_fails", "does not start the trace (status 1)"), ("fetch_fails", "fetches of events failed"),
                            ("broken_json", "fetches of events failed")):
            with self.subTest(told=told):
                profile, _, err = self.trace(told=told)
                self.assertIn(words, err)
                self.assertTrue(any(words in trouble for trouble in profile["troubles"]), profile["troubles"])

    def test_events_have_a_bound(self):
        _, events, err = self.trace("--most-mb", "0")
        self.assertEqual(events, [])
        self.assertIn("later ones are lost: --most-mb", err)

    def test_without_a_library_the_calls_are_kept(self):
        self.write("by_hand.py", "import kprof.neuron\nwith kprof.neuron.record('a'):\n    pass\n")
        _, err = self.run_recorded("--no-scalene", "by_hand.py", environment={"KPROF_NRT_LIBRARY": self.path("none.so")})
        self.assertIn("libnrt cannot be used", err)
        self.assertEqual(len(self.profile()[0]["kernel_calls"]), 1)

    def test_the_runtimes_own_inspection_is_a_conflict(self):
        _, err = self.run_recorded("--no-scalene", "model.py", "1", environment={"NEURON_RT_INSPECT_ENABLE": "1"}, expect=2)
        self.assertIn("unset it", err)

    def test_a_place_that_cannot_be_written_to(self):
        _, err = self.run_recorded("--no-scalene", "-o", "none/profile.json", "model.py", "1", expect=2)
        self.assertIn("cannot write beside", err)

    def test_wrong_words_are_refused(self):
        for words in (("--cores", "x", "model.py"), ("none.py",), ("--wrap", "m", "model.py"), ("--nothing", "model.py")):
            self.run_recorded(*words, expect=2)


class RealScaleneTest(RecorderTest):
    """With Scalene itself (Debian: python3-scalene); KPROF_TEST_SCALENE may name a folder that has it and what it needs."""

    def test_its_profile_names_the_files_that_calls_name(self):
        folder = os.environ.get("KPROF_TEST_SCALENE", "")
        environment = {"PYTHONPATH": f"{RUNTIME}:{folder}"}
        found = subprocess.run([sys.executable, "-c", "import importlib.metadata as m; m.version('scalene')"], env=environment, capture_output=True, check=False)
        if found.returncode != 0:
            self.skipTest("no Scalene for this Python")
        self.write("busy.py", """
            import math
            from spike import SpikeModel
            kernel = SpikeModel("kernel", device_ns=1_000_000)
            for _ in range(20):
                sum(math.sin(i) for i in range(60000))
                kernel()
            print("ran")
            """)
        out, _ = self.run_recorded("--scalene", "busy.py", environment=environment)
        self.assertEqual(out, "ran\n")
        with open(self.path("scalene_profile.json"), encoding="utf-8") as file:
            sampled = json.load(file)["files"]
        self.assertEqual({call["filename"] for call in self.profile()[0]["kernel_calls"]}, set(sampled))


class ScaleneTest(RecorderTest):
    """With a package of Scalene's name, which runs the program and leaves a profile."""

    def setUp(self):
        super().setUp()
        self.packages = self.path("site")
        os.makedirs(os.path.join(self.packages, "scalene"))
        os.mkdir(os.path.join(self.packages, "scalene-2.3.0.dist-info"))
        self.write("site/scalene-2.3.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: scalene\nVersion: 2.3.0\n")
        self.write("site/scalene/__init__.py", "")
        self.write("site/scalene/__main__.py", """
            import json, sys
            words = sys.argv[1:]
            assert words[0] == "run" and "--cpu-only" in words, words
            behind = words.index("---")
            with open(words[words.index("-o") + 1], "w") as file:
                json.dump({"args": words, "files": {}}, file)
            sys.argv = [words[behind - 1], *words[behind + 1:]]
            # As Scalene does: in the names of its own main module, whose package is scalene.
            with open(sys.argv[0]) as file:
                program = compile(file.read(), sys.argv[0], "exec")
            own = sys.modules["__main__"].__dict__
            own["__file__"] = sys.argv[0]
            exec(program, own)
            """)
        self.environment = {"PYTHONPATH": f"{RUNTIME}:{self.packages}"}

    def test_the_program_runs_under_it(self):
        out, _ = self.run_recorded("model.py", "2", environment=self.environment)
        self.assertEqual(out, "ran ['2']\n")
        profile, events = self.profile()
        self.assertEqual((profile["scalene"], len(profile["kernel_calls"]), len(events)), (True, 4, 16))
        with open(self.path("scalene_profile.json"), encoding="utf-8") as file:
            words = json.load(file)["args"]
        self.assertEqual(os.path.realpath(words[words.index("--program-path") + 1]), os.path.realpath(self.folder))

    def test_it_needs_no_package_where_the_recorder_runs_by_its_path(self):
        out, _ = self.run_recorded("model.py", "2", environment={"PYTHONPATH": f"{self.packages}:{RUNTIME}"}, by_path=True)
        self.assertEqual(out, "ran ['2']\n")
        self.assertTrue(self.profile()[0]["scalene"])

    def test_it_is_left_out(self):
        self.run_recorded("--no-scalene", "model.py", "1", environment=self.environment)
        self.assertFalse(self.profile()[0]["scalene"])
        self.assertFalse(os.path.exists(self.path("scalene_profile.json")))

    def test_it_is_missed(self):
        without = {"PYTHONPATH": f"{kprof_testing.write_site_without(self.folder, 'scalene')}:{RUNTIME}"}
        _, err = self.run_recorded("--scalene", "model.py", "1", environment=without, expect=2)
        self.assertIn("pip install scalene", err)
        _, err = self.run_recorded("model.py", "1", environment=without)
        self.assertIn("Scalene is not installed", err)


if __name__ == "__main__":
    unittest.main()
