"""The Python package in notebooks and optimisation loops: captures, sessions, verdicts, and what becomes of them when kprofd is
restarted, the command fails or its user has had enough."""

import ast
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

try:
    import grpc  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest("needs python3-grpcio") from error
try:
    import pandas
except ImportError:
    pandas = None

import kprof_testing
from kprof_node import ALICE, AsAlice, OnANode
from kprof_testing import DaemonTest, OwnDaemonTest, unique_seconds, wait_until

PACKAGE = os.path.join(os.path.dirname(kprof_testing.BIN), "python")
if not os.path.isdir(os.path.join(PACKAGE, "kprof", "v1")):
    raise unittest.SkipTest(f"no package kprof in {PACKAGE}; build kprof_python")
sys.path.insert(0, PACKAGE)

import kprof  # noqa: E402

KERNEL_REPORT = os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", "kernel_report.json")


class LoopTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.enterClassContext(kprof.connect(cls.daemon.socket))

    def fails(self, error_class, code, call):
        with self.assertRaises(error_class) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return caught.exception


class CaptureTest(LoopTest):
    def test_a_list_is_run_as_it_is_and_a_text_by_the_shell(self):
        run = self.client.capture("command", ["printf", "%s", "a b;c"])
        self.assertEqual((run.state, run.command, run.logs(), run.has_ended), ("done", ["printf", "%s", "a b;c"], "a b;c", True))
        run = self.client.capture("command", "echo one; echo two >&2")
        self.assertEqual((run.logs(), run.logs("stderr"), run.command[:2]), ("one\n", "two\n", ["/bin/sh", "-c"]))
        self.fails(kprof.UsageError, "usage", lambda: run.logs("both"))

    def test_what_every_capture_takes_is_taken(self):
        base = self.client.capture("command", "true", version=1)
        self.write("left.txt", "left")
        run = self.client.capture(
            "command", 'echo "$COLOUR $GONE"; pwd; umask; cp left.txt kept.txt', device="cpu", clocks="none", timeout_s=50, queue_timeout_s="40s",
            env={"COLOUR": "blue", "GONE": None, "HOME": "/"}, cwd=self.folder, labels={"try": 3}, kernel="copy", version="v2",
            params={"b": 32, "type": "bf16"}, baseline=base, prepare="touch prepared", check=["test", "-e", "prepared"],
            collect="kept.txt", shared=True, exclusive=False, priority=0)
        shown = self.ctl.show(run.id)
        self.assertEqual(run.logs().splitlines()[:2], ["blue ", self.folder])
        self.assertEqual(int(run.logs().splitlines()[2], 8), os.umask(os.umask(0o022)) & 0o777)
        self.assertEqual(run.labels, {"try": "3", "kernel": "copy", "version": "v2", "baseline": base.id, "params": '{"b":32,"type":"bf16"}'})
        self.assertEqual((shown["device"], shown["shared"], shown["timeout_ms"], shown["queue_timeout_ms"]), (["cpu"], True, 50_000, 40_000))
        self.assertEqual([artifact.name for artifact in run.artifacts], ["kept.txt", "params.json", "stdout.log"])
        self.assertEqual((run.artifact("kept.txt"), json.loads(run.artifact("params.json"))["b"]), (b"left", 32))
        self.fails(kprof.NotFound, "not_found", lambda: run.artifact("lost.txt"))

    def test_what_makes_no_sense_is_refused_before_anything_runs(self):
        before = len(self.client.runs(limit=1000))
        for error_class, call in (
                (kprof.UsageError, lambda: self.client.capture("no-such-tool", "true")),
                (kprof.UsageError, lambda: self.client.capture("event", "true", sampels=3)),
                (kprof.UsageError, lambda: self.client.capture("command", "true", timeout_s="soon")),
                (kprof.UsageError, lambda: self.client.capture("command", "true", version=1, labels={"version": "2"})),
                (kprof.UsageError, lambda: self.client.capture("command", "true", params={}, labels={"params": "{}"})),
                (kprof.UsageError, lambda: self.client.capture("event", "true", samples=0)),
                (kprof.UsageError, lambda: self.client.capture("event")),
                (kprof.NotFound, lambda: self.client.capture("command", "true", baseline="nothing"))):
            self.assertIn(self.fails(error_class, "not_found" if error_class is kprof.NotFound else "usage", call).code, ("usage", "not_found"))
        self.assertIn("did you mean samples", str(self.fails(kprof.UsageError, "usage", lambda: self.client.capture("event", "true", sampels=3))))
        self.assertEqual(len(self.client.runs(limit=1000)), before)

    def test_a_failure_has_a_class_of_its_own_and_its_run(self):
        for error_class, code, command, options in (
                (kprof.CommandFailed, "command_failed", "exit 3", {}),
                (kprof.SpawnFailed, "spawn_failed", ["/no/such/program"], {}),
                (kprof.CheckFailed, "check_failed", "true", {"check": "exit 1"}),
                (kprof.TimedOut, "timed_out", ["sleep", unique_seconds()], {"timeout_s": 0.3})):
            with self.subTest(code):
                failure = self.fails(error_class, code, lambda: self.client.capture("command", command, **options))
                self.assertEqual((failure.run.state, failure.run.error.code), ("failed", code))
                run = self.client.capture("command", command, raise_errors=False, **options)
                self.assertEqual((run.state, run.error.code, type(run.error), run.error.run), ("failed", code, error_class, run))
        self.assertIsInstance(failure, kprof.KprofError)
        self.assertTrue(issubclass(kprof.CommandFailed, kprof.ToolError))

    def test_without_waiting_the_run_is_there_at_once(self):
        run = self.client.capture("command", self.gate(), wait=False)
        self.assertFalse(run.has_ended)
        self.open_gate()
        self.assertEqual(run.wait().state, "done")
        self.fails(kprof.CommandFailed, "command_failed", lambda: self.client.capture("command", "exit 1", wait=False).wait())
        self.assertEqual(self.client.capture("command", "exit 1", wait=False).wait(raise_errors=False).exit_code, 1)

    def test_an_interrupt_cancels_the_run(self):
        seconds = unique_seconds()
        program = self.write("program.py", f"""
import kprof
try:
    kprof.capture("command", ["sleep", "{seconds}"], labels={{"interrupted": "yes"}})
except KeyboardInterrupt:
    print("interrupted")
""")
        process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True, preexec_fn=kprof_testing.as_in_a_terminal,
                                   env={**os.environ, "PYTHONPATH": PACKAGE, "KPROF_SOCKET": self.daemon.socket})
        [run] = wait_until(lambda: self.client.runs(labels={"interrupted": "yes"}, states=["running"]), "the run")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=kprof_testing.LIMIT_S)[0], "interrupted\n")
        self.fails(kprof.Cancelled, "cancelled", run.wait)
        self.assert_nothing_runs(seconds, run=run.id)

    def test_the_tools_are_those_of_the_node(self):
        tools = self.client.tools()
        self.assertEqual(list(tools), [tool["name"] for tool in self.ctl.json("capture", "--list")["tools"]])
        self.assertEqual((tools["event"].options["samples"].type, tools["command"].needs_command), ("integer", True))

    def test_options_go_as_their_tools_take_them(self):
        run = self.client.capture("event", "true", samples=2, budget=2, delta=2.5, seed=7)
        self.assertEqual((run.metrics["seed"], run.samples().delta_percent, run.verdict, run.comparison), (7, 2.5, None, None))


class VerdictTest(LoopTest):
    def test_the_verdict_of_a_comparison_is_the_runs(self):
        run = self.client.capture("event", "sleep 0.01", against=["sleep", "0.2"])
        shown = self.ctl.show(run.id)
        self.assertEqual((run.verdict, run.comparison.verdict), ("FASTER", "FASTER"), run.trust)
        self.assertEqual({name: getattr(run.comparison, name) for name in ("ratio", "ci_low", "ci_high", "reasons")}, shown["comparison"])
        self.assertLess(run.comparison.ci_high, 0.9)
        answer = run.samples()
        self.assertEqual((answer.verdict, answer.ratio), ("FASTER", run.comparison.ratio))
        self.assertEqual({row["side"] for row in answer.tables["cases"]}, {"candidate", "baseline"})
        with self.assertRaises(AttributeError):
            answer.no_such_fact
        self.assertIn("verdict", dir(answer))
        self.assertIn("FASTER", repr(run))

    def test_two_runs_are_compared(self):
        [before], [after] = (self.client.import_(os.path.join(os.path.dirname(KERNEL_REPORT), name)) for name in ("compare_before.json", "compare_after.json"))
        for answer in (kprof.compare(after, before), after.compare(before.id), self.client.compare([after.id], [before.id])):
            self.assertEqual((answer.verdict, round(answer.ratio, 3)), ("INCONCLUSIVE", 0.951))
        shown = self.ctl.json("compare", after.id, "--baseline", before.id)["result"]
        self.assertEqual(answer.facts, {name: shown[name] for name in answer.facts})

    @unittest.skipIf(pandas is None, "needs python3-pandas")
    def test_an_answer_goes_to_pandas(self):
        [run] = self.client.import_(KERNEL_REPORT)
        frame = run.analyze("roofline").to_pandas()
        self.assertEqual(list(frame["name"]), [row["name"] for row in run.analyze("roofline").tables["kernels"]])
        self.assertEqual(len(run.analyze("roofline").to_pandas("policies")), 9)

    def test_the_roofline_is_that_of_the_first_kernel(self):
        [run] = self.client.import_(KERNEL_REPORT)
        row = run.analyze("roofline").tables["kernels"].rows()[0]
        self.assertEqual((run.roofline.name, run.roofline.bottleneck, run.roofline.compute_sol_percent),
                         (row["name"], "compute", row["compute_sol_percent"]))
        with self.assertRaises(AttributeError):
            run.roofline.no_such_column
        self.assertIsNone(self.client.capture("command", "true").roofline)
        self.assertIsNone(self.client.capture("event", "true", samples=1).roofline)

    def test_a_table_is_text_for_people(self):
        result = self.client.query("SELECT 'a' AS name, 1.5 AS value UNION ALL SELECT 'long', NULL")
        self.assertEqual(str(result), "name  value\na       1.5\nlong      -")


class SessionTest(LoopTest):
    def test_its_captures_are_its_rounds(self):
        with self.client.session(device="cpu", clocks="lock", labels={"loop": 7}, ttl="5m") as session:
            self.assertEqual((session.state, session.devices, session.clocks, session.labels), ("open", ["cpu"], "lock", {"loop": "7"}))
            self.assertEqual((session.rounds, len(session.show()), bool(session.should_stop())), ([], 0, False))
            first = session.capture("event", "sleep 0.01", samples=5, version="one")
            self.fails(kprof.CommandFailed, "command_failed", lambda: session.capture("command", "exit 1", version="two"))
            self.assertEqual((first.session_id, first.round), (session.id, 1))
            one, two = session.rounds
            self.assertEqual((one.number, one.run_id, one.state, one.labels["version"]), (1, first.id, "done", "one"))
            self.assertEqual((one.metrics["median_ns"], two.error.code, two.state), (first.metrics["median_ns"], "command_failed", "failed"))
            self.assertEqual([run.round for run in session.runs()], [1, 2])
            self.assertEqual([(row["version"], row["error"]) for row in session.show()], [("one", None), ("two", "command_failed")])
        self.assertEqual(self.ctl.json("session", "show", session.id)["state"], "closed")
        self.assertEqual((session.state, session.error), ("closed", None))
        self.fails(kprof.Busy, "lease_lost", lambda: session.capture("command", "true"))
        session.close()

    def test_it_waits_for_its_devices_and_may_give_up(self):
        with self.client.session(device="cpu"):
            self.fails(kprof.Busy, "queue_timeout", lambda: self.client.session(device="cpu", queue_timeout=0.2))
            opened = []
            waiting = threading.Thread(target=lambda: opened.append(self.client.session(device="cpu", labels={"second": 1})))
            waiting.start()
            wait_until(lambda: self.ctl.json("session", "list", "--state", "queued")["sessions"], "a second session")
        waiting.join(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(opened[0].state, "open")
        opened[0].close()
        self.fails(kprof.UsageError, "usage", lambda: self.client.session(device="none"))
        self.fails(kprof.UsageError, "usage", lambda: self.client.session(ttl="long"))

    def test_leaving_by_an_error_closes_it_too(self):
        with self.assertRaises(ZeroDivisionError):
            with self.client.session(device="cpu") as session:
                run = session.capture("command", ["sleep", unique_seconds()], wait=False)
                raise ZeroDivisionError
        self.assertEqual(session.refresh().state, "closed")
        self.assertTrue(run.refresh().has_ended)

    def test_it_says_why_it_ended(self):
        session = self.client.session(device="cpu", ttl=0.3)
        wait_until(lambda: session.refresh().has_ended, "its TTL to pass")
        self.assertEqual(session.error.code, "timed_out")


class StoppingTest(LoopTest):
    """With rounds that leave a report of kernels."""

    def measure(self, session, duration_ns, version, command="true"):
        """A round whose kernel took so long."""
        with open(KERNEL_REPORT, encoding="utf-8") as file:
            report = json.load(file)
        report["traceEvents"] = report["traceEvents"][:1]
        report["traceEvents"][0]["args"]["gpu__time_duration.sum"] = duration_ns
        self.write(f"{version}.json", json.dumps(report))
        return session.capture("command", f"cp {version}.json left-{version}.json; {command}", cwd=self.folder, version=version,
                               collect=f"left-{version}.json", raise_errors=False)

    def test_it_goes_on_while_it_gets_better_and_then_stops_with_the_best(self):
        with self.client.session(device="cpu") as session:
            self.assertEqual(session.should_stop(), kprof.StopAdvice(False))
            advice = None
            for number, duration_ns in enumerate((90_000, 60_000, 40_000, 39_999, 40_100, 40_000)):
                self.assertFalse(advice, f"round {number}")
                self.measure(session, duration_ns, f"v{number}")
                advice = session.should_stop(rounds=3, improvement=1)
            self.assertTrue(advice)
            self.assertTrue(advice.stop)
            self.assertNotEqual(advice.reason, "")
            self.assertEqual((advice.best.labels["version"], advice.answer.kind), ("v3", "rounds"))
            self.assertEqual(advice.best_ns, advice.answer.best_ns)
            self.assertEqual([row["version"] for row in advice.answer.tables["rounds"]], [f"v{number}" for number in range(6)])

    def test_a_round_that_failed_is_no_progress(self):
        with self.client.session(device="cpu") as session:
            self.measure(session, 50_000, "right")
            wrong = self.measure(session, 1_000, "wrong", command="exit 1")
            self.assertEqual(wrong.error.code, "command_failed")
            session.capture("command", "true")  # has no times at all
            advice = session.should_stop()
            self.assertEqual((advice.stop, advice.best.labels["version"]), (False, "right"))


class ForgedTimesTest(LoopTest):
    """Rounds of candidates that kprof.event times: an honest one, and one that slows the clocks of its process."""

    FOLDER = os.path.join(kprof_testing.ROOT, "tests", "programs", "hostile_kernels")

    def candidate(self, name):
        return [sys.executable, "-m", "kprof.event", os.path.join(self.FOLDER, name), "--task", os.path.join(self.FOLDER, "task.py")]

    def test_a_round_that_forges_its_times_is_caught_and_counts_for_nothing(self):
        env = {"PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"}
        with self.client.session(device="cpu") as session:
            honest = session.capture("event", self.candidate("honest.py"), samples=3, version="honest", env=env)
            self.assertEqual(session.should_stop().best, honest)
            forged = session.capture("event", self.candidate("patched_clock.py"), against=self.candidate("honest.py"), samples=3, version="forged", env=env)
            self.assertEqual((forged.verdict, forged.comparison.reasons[0]), ("INCONCLUSIVE", "timing_disputed"), forged.trust)
            advice = session.should_stop(rounds=2)
            self.assertEqual((advice.stop, advice.best), (False, honest))
            self.assertEqual([row["failure"] for row in advice.answer.tables["rounds"]], [None, "timing_disputed"])
            self.assertEqual([row["verdict"] for row in session.show()], [None, "INCONCLUSIVE"])


class TimedTest(LoopTest):
    def test_a_block_and_a_function_are_timed(self):
        with kprof.timed("sleep") as sleep:
            time.sleep(0.02)
        self.assertGreaterEqual(sleep.samples[0], 20_000_000)

        @kprof.timed
        def work(x, *, y=1):
            """What it does."""
            return x + y
        self.assertEqual((work(1, y=2), work(1), len(work.samples), work.__name__, work.__doc__), (3, 2, 2, "work", "What it does."))
        calls = []

        @kprof.timed("named", sync=lambda: calls.append(1))
        async def later():
            return 7
        self.assertEqual((asyncio.run(later()), len(later.samples), len(calls)), (7, 1, 2))

    def test_what_fails_is_no_sample(self):
        timer = kprof.timed("fails")

        @timer
        def fail():
            raise ValueError
        with self.assertRaises(ValueError):
            fail()
        with self.assertRaises(ValueError):
            with timer:
                raise ValueError
        self.assertEqual(timer.samples, [])

    def test_blocks_of_one_timer_stand_in_each_other_and_beside_each_other(self):
        timer = kprof.timed("nested")

        def nest():
            for _ in range(100):
                with timer:
                    with timer:
                        pass
        threads = [threading.Thread(target=nest) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(timer.samples), 800)

    def test_a_generator_is_refused(self):
        with self.assertRaises(TypeError):
            @kprof.timed
            def count():
                yield 1

    def test_samples_are_those_of_the_run(self):
        program = self.write("program.py", """
import os, sys, time, kprof
assert "grpc" not in sys.modules

@kprof.timed(flops=2e6, bytes=1e6)
def work():
    time.sleep(0.002)

for _ in range(int(os.environ["KPROF_EVENT_SAMPLES"])):
    work()
    with kprof.timed("block"):
        time.sleep(0.001)
assert "grpc" not in sys.modules
""")
        run = self.client.capture("event", [sys.executable, program], samples=3, env={"PYTHONPATH": PACKAGE})
        cases = {row["case"]: row for row in run.samples().tables["cases"]}
        self.assertEqual(set(cases), {"work", "block"})
        self.assertGreaterEqual(cases["work"]["median_ns"], 2_000_000)
        self.assertIsNotNone(cases["work"]["tflop_per_s"])
        self.assertIsNone(cases["block"]["tflop_per_s"])
        self.assertGreaterEqual(cases["block"]["samples"], 3)

    def test_a_channel_that_is_not_there_is_said_once(self):
        with mock.patch.dict(os.environ, KPROF_EVENT=self.path("none")):
            timer = kprof.timed("lost")
            with self.assertWarnsRegex(RuntimeWarning, "do not reach the run"):
                with timer:
                    pass
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with timer:
                    pass
        self.assertEqual(len(timer.samples), 2)


class RestartTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.client = self.enterContext(kprof.connect(self.daemon.socket, patience_s=kprof_testing.LIMIT_S))

    def restart_later(self, started):
        """Ends kprofd, and starts it once `started` is set."""
        self.daemon.kill()
        thread = threading.Thread(target=lambda: (started.wait(kprof_testing.LIMIT_S), self.daemon.start()))
        thread.start()
        self.addCleanup(thread.join)

    def test_a_session_outlives_a_restart(self):
        with self.client.session(device="cpu") as session:
            self.assertEqual(session.capture("command", "true").round, 1)
            self.daemon.stop()
            self.daemon.start()
            self.assertEqual(session.capture("command", "echo two").round, 2)
            self.daemon.kill()
            self.daemon.start()
            self.assertEqual(session.refresh().state, "open")
            self.assertEqual([one.number for one in session.rounds], [1, 2])
            self.assertEqual(session.runs()[1].logs(), "two\n")
        self.assertEqual(session.state, "closed")

    def test_what_is_asked_while_kprofd_is_away_is_asked_again(self):
        with self.client.session(device="cpu") as session:
            started = threading.Event()
            self.restart_later(started)
            threading.Timer(0.5, started.set).start()
            run = session.capture("command", "echo one")
            self.assertEqual((run.round, run.logs()), (1, "one\n"))

    def test_a_submission_whose_answer_is_lost_is_one_run(self):
        runs = self.client._stubs["runs"]
        losing = mock.Mock(wraps=runs, SubmitRun=mock.Mock(future=self.losing(runs.SubmitRun.future)))
        with mock.patch.dict(self.client._stubs, runs=losing):
            run = self.client.capture("command", ["echo", "once"], wait=False)
        run.wait(raise_errors=False)
        self.assertEqual([one.id for one in self.client.runs()], [run.id])

    def losing(self, submit):
        """`submit`, but that its first answer is lost with kprofd."""
        keys = []

        def future(request, timeout):
            keys.append(request.idempotency_key)
            self.assertEqual(len(set(keys)), 1)
            if len(keys) > 1:
                return submit(request, timeout=timeout)
            submit(request, timeout=timeout).result()
            self.daemon.kill()
            lost = submit(request, timeout=timeout)
            lost.exception()
            self.daemon.start()
            return lost
        return future

    def test_a_run_that_was_under_way_is_lost_and_the_session_is_not(self):
        with self.client.session(device="cpu") as session:
            seconds = unique_seconds()
            failures = []

            def measure():
                try:
                    session.capture("command", ["sleep", seconds])
                except kprof.KprofError as error:
                    failures.append(error)
            thread = threading.Thread(target=measure)
            thread.start()
            wait_until(lambda: kprof_testing.processes_with(seconds), "the command")
            self.daemon.kill()
            self.daemon.start()
            thread.join(timeout=kprof_testing.LIMIT_S)
            self.assertEqual([type(error) for error in failures], [kprof.LostDaemon])
            self.assertEqual(failures[0].run.round, 1)
            self.assertEqual(session.capture("command", "true").round, 2)

    def test_the_first_failure_is_the_one_that_is_told(self):
        with kprof.connect(self.daemon.socket, patience_s=0) as client:
            with self.assertRaises(ZeroDivisionError):
                with client.session(device="cpu"):
                    self.daemon.kill()
                    raise ZeroDivisionError

    def test_patience_has_an_end(self):
        with kprof.connect(self.daemon.socket, patience_s=0) as client:
            self.daemon.kill()
            with self.assertRaises(kprof.NoDaemon):
                client.capture("command", "true")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OnANodeTest(OnANode, AsAlice, unittest.TestCase):
    """In system mode: alice's program, whose captures the helper starts."""

    def ask(self, program):
        """What it prints, as JSON."""
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program)
        ran = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=kprof_testing.LIMIT_S * 2, check=False,
                             cwd="/", user=ALICE, group=ALICE, extra_groups=[],
                             env={"PATH": os.environ["PATH"], "PYTHONPATH": self.package, "PYTHONDONTWRITEBYTECODE": "1",
                                  "KPROF_SOCKET": self.daemon.socket})
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return json.loads(ran.stdout)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.package = shutil.copytree(PACKAGE, os.path.join(cls.folder, "package"))  # where everybody can read it

    def test_captures_run_as_their_caller_and_without_it(self):
        said = self.ask("""
import json, kprof
run = kprof.capture("command", "id -u; echo $MINE", env={"MINE": "yes"})
with kprof.session(device="cpu") as session:
    rounds = [session.capture("event", "sleep 0.01", samples=3).round, session.capture("command", "true").round]
try:
    kprof.capture("command", "exit 3")
except kprof.CommandFailed as error:
    failed = error.run.exit_code
print(json.dumps({"id": run.id, "out": run.logs(), "rounds": rounds, "failed": failed}))
""")
        self.assertEqual((said["out"], said["rounds"], said["failed"]), (f"{ALICE}\nyes\n", [1, 2], 3))
        self.assertFalse(self.alice.json("show", said["id"])["attached"])


class PackageTest(unittest.TestCase):
    def test_what_types_say_is_what_is_there(self):
        """The imports for those who read types, and the names that are looked up."""
        with open(os.path.join(PACKAGE, "kprof", "__init__.py"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        block = next(node for node in tree.body if isinstance(node, ast.If))
        said = {(node.module, alias.name) for node in block.body for alias in node.names}
        self.assertEqual(said, {(home, name) for home, names in kprof._HOMES.items() for name in names})
        for home, name in said:
            self.assertIs(getattr(kprof, name), getattr(sys.modules[home], name))


if __name__ == "__main__":
    unittest.main()
