"""The tool `event`: how long something takes, and which of two commands is faster, by commands that sleep, lie, fail and leave things behind."""

import os
import signal
import sys
import unittest

from kprof_testing import DaemonTest, distrust

LIMIT_S = 120

# Reports that each sample takes SAMPLE_US, having slept as long as SLEPT_US says.
REPORTER = """
import os, sys, time
slept_us, said_us, case = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
with open(os.environ["KPROF_EVENT"], "w") as samples:
    for i in range(int(os.environ["KPROF_EVENT_SAMPLES"])):
        time.sleep(slept_us / 1e6)
        samples.write('{"case":"%s","ns":%r,"flops":2e6,"bytes":1e6}\\n' % (case, said_us * 1e3 + i % 3))
"""


def codes(run):
    return [reason["code"] for reason in distrust(run)]


class EventTest(DaemonTest):
    def capture(self, *words, expect=0):
        """The run as it ended."""
        return self.ctl.json("capture", "event", *words, expect=expect, limit_s=LIMIT_S)

    def reporter(self, *words):
        """A command, and the same as a line for --against."""
        self.write("reporter.py", REPORTER)
        command = [sys.executable, self.path("reporter.py"), *map(str, words)]
        return command, " ".join(command)

    def facts(self, run):
        return self.ctl.json("analyze", "samples", run["id"])["result"]

    def test_a_whole_process_is_a_sample_where_none_are_reported(self):
        run = self.capture("--samples", "5", "--", "sleep", "0.02")
        self.assertEqual((run["state"], run["verdict"], run["comparison"]), ("done", None, None))
        self.assertEqual(run["metrics"]["samples"], 5)
        self.assertEqual(run["metrics"]["turns"], 6)  # one warmed up
        self.assertGreaterEqual(run["metrics"]["median_ns"], 20e6)
        self.assertNotIn("baseline_median_ns", run["metrics"])

    def test_the_faster_of_two_commands_is_found(self):
        run = self.capture("--against", "sleep 0.2", "--", "sleep", "0.02")
        self.assertEqual(run["verdict"], "FASTER", run["trust"])
        comparison = run["comparison"]
        self.assertLess(comparison["ci_high"], 0.9)
        self.assertLessEqual(comparison["ci_low"], comparison["ratio"])
        self.assertLessEqual(comparison["ratio"], comparison["ci_high"])
        again = self.ctl.show(run["id"])
        self.assertEqual((again["verdict"], again["comparison"]), (run["verdict"], comparison))
        [row] = self.ctl.json("query", f"SELECT verdict, ratio, ci_low, ci_high, verdict_reasons FROM run WHERE id = '{run['id']}'")["rows"]
        self.assertEqual(row, ["FASTER", comparison["ratio"], comparison["ci_low"], comparison["ci_high"], ""])

    def test_a_verdict_is_an_exit_code_for_who_asks_for_one(self):
        slower = self.ctl.run("capture", "event", "--samples", "10", "--fail-on", "slower", "--against", "sleep 0.01", "--", "sleep", "0.2", limit_s=LIMIT_S, expect=9)
        self.assertIn("the verdict is SLOWER", slower.err.decode())
        unsure = ("--samples", "2", "--against", "sleep 0.01", "--", "sleep", "0.01")
        self.ctl.run("capture", "event", "--fail-on", "inconclusive", *unsure, limit_s=LIMIT_S, expect=9)
        self.ctl.run("capture", "event", "--fail-on", "slower", *unsure, limit_s=LIMIT_S)

    def test_a_verdict_is_added_to_the_summary_of_a_job(self):
        summary = self.write("summary.md", "# Job\n")
        self.ctl.run("capture", "event", "--samples", "10", "--fail-on", "slower", "--markdown", summary, "--against", "sleep 0.01", "--",
                     "sleep", "0.2", limit_s=LIMIT_S, expect=9)
        [run] = self.ctl.json("runs", "--limit", "1")["runs"]
        self.ctl.run("show", run["id"], "--markdown", summary)
        self.ctl.run("compare", run["id"], "--baseline", run["id"], "--markdown", summary)
        text = self.read("summary.md").decode()
        self.assertTrue(text.startswith("# Job\n**SLOWER**: "), text)
        self.assertEqual(text.count("| baseline | "), 2, text)
        self.assertIn(f"\nRun `{run['id']}`, `sleep 0.2`, tool event on cpu, took ", text)
        self.assertIn(f"\nRuns `{run['id']}`\n", text)

    def test_too_few_samples_are_no_verdict(self):
        run = self.capture("--samples", "2", "--against", "sleep 0.2", "--", "sleep", "0.01")
        self.assertEqual((run["verdict"], run["comparison"]["reasons"]), ("INCONCLUSIVE", ["too_few_samples"]))
        self.assertIn("too_few_samples", codes(run))

    def test_reported_samples_are_kept_by_case_and_judged(self):
        run = self.capture("--samples", "100", "--against", self.reporter(2000, 2000, "b=32")[1], "--", *self.reporter(500, 500, "b=32")[0])
        self.assertEqual(run["verdict"], "FASTER", run["trust"])
        self.assertAlmostEqual(run["comparison"]["ratio"], 0.25, delta=0.01)
        answer = self.facts(run)
        self.assertEqual((answer["verdict"], answer["ratio"]), (run["verdict"], run["comparison"]["ratio"]))
        self.assertEqual([(row["case"], row["side"]) for row in answer["cases"]], [("b=32", "candidate"), ("b=32", "baseline")])
        self.assertAlmostEqual(answer["cases"][0]["tflop_per_s"], 2e6 / 500e3 * 1e-3, delta=1e-4)
        asked = {(turn["side"], turn["asked_samples"]) for turn in answer["turns"]}
        self.assertLessEqual({count for _, count in asked}, {100, 300})
        self.assertTrue(all(turn["samples"] == turn["asked_samples"] for turn in answer["turns"]))
        counted = self.ctl.json("query", "--run", run["id"], "SELECT side, count(*) FROM event_sample WHERE block IS NOT NULL GROUP BY side ORDER BY side")["rows"]
        self.assertEqual(counted, [["baseline", answer["cases"][1]["samples"]], ["candidate", answer["cases"][0]["samples"]]])
        kernels = self.ctl.json("query", f"SELECT name FROM metric WHERE run = '{run['id']}' AND kernel = 'b=32' ORDER BY name")["rows"]
        self.assertIn(["median_ns"], kernels)

    def test_a_record_that_is_imported_gives_the_same_verdict(self):
        run = self.capture("--samples", "10", "--seed", "7", "--against", "sleep 0.03", "--", "sleep", "0.01")
        self.ctl.run("artifacts", run["id"], "get", "event_samples.jsonl", "-o", self.path("record.jsonl"))
        there = self.ctl.json("import", self.path("record.jsonl"))
        here, again = self.facts(run), self.facts(there)
        self.assertEqual({name: here[name] for name in ("verdict", "ratio", "ci_low", "ci_high", "seed")},
                         {name: again[name] for name in ("verdict", "ratio", "ci_low", "ci_high", "seed")})
        self.assertEqual((here["seed"], run["metrics"]["seed"]), (7, 7))

    def test_wrong_results_are_no_results(self):
        before = self.capture("--check", "exit 1", "--", "sh", "-c", "touch ran", expect="check_failed")
        self.assertEqual((before["error"]["code"], before["verdict"]), ("check_failed", None))
        self.assertEqual(before["exit_code"], None)
        own = self.capture("--", "sh", "-c", """echo '{"check":"failed","message":"element 3 is 7, not 8","case":"b=1"}' > $KPROF_EVENT""", expect="check_failed")
        self.assertIn("case b=1: element 3 is 7, not 8", own["error"]["message"])
        flag = self.path("seen")
        later = self.capture("--samples", "5", "--check", f"test ! -e {flag} && touch {flag}", "--", "true", expect="check_failed")
        self.assertEqual(later["exit_code"], 0)

    def test_failures_keep_their_kind(self):
        failed = self.capture("--", "sh", "-c", "exit 5", expect="command_failed")
        self.assertEqual((failed["state"], failed["error"]["code"], failed["exit_code"]), ("failed", "command_failed", 5))
        baseline = self.capture("--against", "exit 3", "--", "true", expect="command_failed")
        self.assertEqual(baseline["error"]["code"], "command_failed")
        self.assertIn("the command of --against ended with exit code 3", next(r["message"] for r in baseline["trust"] if r["code"] == "turn_failed"))
        crashed = self.capture("--", "sh", "-c", "kill -SEGV $$", expect="command_failed")
        self.assertEqual((crashed["error"]["code"], crashed["signal"]), ("command_failed", signal.SIGSEGV))
        missing = self.capture("--", "/no/such/program", expect="spawn_failed")
        self.assertEqual(missing["error"]["code"], "spawn_failed")
        endless = self.capture("--timeout", "1s", "--", "sleep", "60", expect="timed_out")
        self.assertEqual(endless["error"]["code"], "timed_out")
        for run in (failed, baseline, crashed, missing, endless):
            self.assertEqual((run["verdict"], run["comparison"]), (None, None))

    def test_bad_options_are_refused_before_anything_runs(self):
        for words, why in ((("--samples", "0"), "--samples"), (("--delta", "0"), "--delta"), (("--delta", "51"), "--delta"), (("--warmup", "-1"), "--warmup"),
                           (("--samples", "x"), "no whole number"), (("--against", ""), "--against")):
            self.assertIn(why, self.ctl.run("capture", "event", *words, "--", "true", expect="usage").err.decode())
        self.ctl.run("capture", "event", expect="usage")

    def test_times_that_the_wall_clock_does_not_show_are_disputed(self):
        run = self.capture("--samples", "30", "--against", self.reporter(5000, 5200)[1], "--", *self.reporter(5000, 50)[0])
        self.assertEqual((run["verdict"], run["comparison"]["reasons"][0]), ("INCONCLUSIVE", "timing_disputed"), run["trust"])
        self.assertIn("timing_disputed", codes(run))

    def test_more_time_than_there_was_is_disputed(self):
        run = self.capture("--samples", "5", "--", sys.executable, "-c", REPORTER, "100", "900000")
        self.assertIn("timing_disputed", codes(run))

    def test_work_after_the_end_is_disputed(self):
        run = self.capture("--samples", "10", "--against", "sleep 0.05", "--", "sh", "-c", "sleep 30 & exit 0")
        self.assertEqual((run["verdict"], run["comparison"]["reasons"][0]), ("INCONCLUSIVE", "work_after_end"))

    def test_one_impossible_case_does_not_pull_the_mean(self):
        lines = "; ".join("""echo '{"case":"%s","ns":%s}' > $KPROF_EVENT""" % pair for pair in (("a", 1000), ("b", 0)))
        honest = "; ".join("""echo '{"case":"%s","ns":%s}' > $KPROF_EVENT""" % pair for pair in (("a", 1000), ("b", 1000)))
        run = self.capture("--samples", "1", "--against", honest, "--", "sh", "-c", lines)
        self.assertEqual(run["verdict"], "INCONCLUSIVE")
        self.assertIn("values_impossible", run["comparison"]["reasons"])
        self.assertIsNone(run["comparison"]["ratio"])

    def test_the_record_is_kprofds_alone(self):
        run = self.capture("--samples", "5", "--", "sh", "-c", "echo '{\"kprof_event\":1}' > $KPROF_OUTPUT_DIR/event_samples.jsonl")
        self.assertIn("result_tampered", codes(run))
        self.assertEqual([a["name"] for a in run["artifacts"]], ["event_samples.jsonl", "samples.svg"])
        self.assertEqual(self.ctl.json("analyze", "samples", run["id"])["result"]["cases"][0]["samples"], 5)

    def test_lines_that_are_no_samples_are_told(self):
        run = self.capture("--samples", "5", "--", "sh", "-c", """(echo nonsense; echo '{"ns":"x"}'; echo '{"note":"several_streams","message":"two"}'; echo '{"ns":5}') > $KPROF_EVENT""")
        self.assertLessEqual({"samples_not_understood", "several_streams"}, set(codes(run)))
        self.assertEqual(run["metrics"]["samples"], 5)

    def test_a_process_of_an_earlier_turn_cannot_write_into_a_later_one(self):
        run = self.capture("--samples", "5", "--", "sh", "-c", """echo '{"ns":1000}' > $KPROF_EVENT; (setsid sh -c 'sleep 5; echo "{\\"ns\\":1}"' > $KPROF_EVENT &) ; sleep 0.01""")
        answer = self.facts(run)
        self.assertEqual({turn["samples"] for turn in answer["turns"]}, {1})
        self.assertEqual(answer["cases"][0]["min_ns"], 1000)

    def test_a_detached_comparison_ends_as_one_in_the_foreground(self):
        run_id = self.ctl.json("capture", "event", "--detach", "--samples", "10", "--against", "sleep 0.1", "--", "sleep", "0.01")["id"]
        self.assertEqual(self.ctl.wait(run_id, limit_s=LIMIT_S)["verdict"], "FASTER")

    def test_a_cancelled_comparison_leaves_nothing_behind(self):
        run_id = self.ctl.json("capture", "event", "--detach", "--against", "sleep 60", "--", "sleep", "60")["id"]
        self.ctl.wait_for_state(run_id, "running")
        self.ctl.run("cancel", run_id)
        run = self.ctl.wait(run_id)
        self.assertEqual((run["state"], run["verdict"]), ("cancelled", None))
        self.assert_nothing_runs(run=run_id)

    def test_the_screen_says_who_is_faster(self):
        shown = self.ctl.run("capture", "event", "--quiet", "--samples", "10", "--against", "sleep 0.1", "--", "sleep", "0.01", limit_s=LIMIT_S).out.decode()
        self.assertIn("FASTER", shown)
        self.assertIn("of the baseline's time (95 %:", shown)


if __name__ == "__main__":
    unittest.main()
