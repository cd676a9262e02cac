"""Imports of many files: those of one job are one run with its ranks, those of others are runs of their own."""

import gzip
import json
import os
import tarfile
import unittest

import kprof_testing
from kprof_testing import OwnDaemonTest, temporary_folder

START_US = 1_700_000_000_000_000  # Unix
HOUR_US = 3_600_000_000


def trace(rank=None, world_size=None, at_us=0, label="", header_first=True, **members):
    """A small Kineto trace of a rank, which differs from others by its label."""
    events = [{"ph": "X", "name": f"step {label}", "cat": "cpu_op", "pid": 1, "tid": 2, "ts": START_US + at_us + 10 * i, "dur": 5}
              for i in range(3)]
    info = {name: value for name, value in (("backend", "nccl"), ("rank", rank), ("world_size", world_size))
            if value is not None}
    header = {"schemaVersion": 1, **({"distributedInfo": info} if rank is not None else {}), **members}
    parts = [header, {"traceEvents": events}]
    return json.dumps({key: value for part in (parts if header_first else reversed(parts)) for key, value in part.items()}).encode()


class ImportJobsTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def write(self, name, content):
        path = os.path.join(self.files, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def runs_of(self, *arguments, expect=0):
        """The runs of an import in their order: which file is which rank of it."""
        out = self.daemon.ctl.run("--json", "import", *arguments, expect=expect).out.decode()
        self.runs = [json.loads(line) for line in out.splitlines()]
        told = []
        for run in self.runs:
            rows = self.daemon.ctl.json("query", f"SELECT rank, source FROM trace WHERE run = '{run['id']}' ORDER BY rank, source")
            told.append([tuple(row) for row in rows["rows"]])
        return told

    def codes(self):
        return [[reason["code"] for reason in run["trust"]] for run in self.runs]

    def test_two_jobs_given_together_are_two_runs_with_their_ranks(self):
        paths = [self.write(f"{job}/{name}.json", trace(rank, size, at, f"{job}{rank}"))
                 for job, size, at in (("x", 2, 0), ("y", 2, 1_000_000), ("z", 4, 0)) for rank, name in ((1, "a"), (0, "b"))]
        self.assertEqual(self.runs_of(*paths), [[(0, "b.json"), (1, "a.json")]] * 3)
        self.assertEqual(self.codes(), [[], [], []])
        self.assertEqual([run["command"] for run in self.runs], [["import", "a.json", "b.json"]] * 3)
        last = self.daemon.ctl.json("show", "@last")
        self.assertEqual(last["id"], self.runs[-1]["id"])
        text = self.daemon.ctl.run("import", *paths, "--again")
        self.assertIn("3 runs", text.err.decode())
        runs, summary = text.text.split("\n\n", 1)
        self.assertEqual(len(runs.splitlines()), 4, text.text)
        self.assertTrue(summary.startswith("summary  "), summary)
        self.assertIn("0-1", text.text)

    def test_cycles_of_one_rank_are_runs_and_no_made_up_ranks(self):
        paths = [self.write(f"host_{10 + rank}.{cycle}.pt.trace.json", trace(rank, 2, cycle * 30_000_000, f"{rank} {cycle}"))
                 for rank in (0, 1) for cycle in (1, 2, 3)]
        told = self.runs_of(self.files)
        self.assertEqual(told, [[(0, f"host_10.{cycle}.pt.trace.json"), (1, f"host_11.{cycle}.pt.trace.json")] for cycle in (1, 2, 3)])
        self.assertEqual(self.codes(), [[], [], []])
        # By hand they are parts of one rank.
        self.assertEqual(self.runs_of("--one-run", *paths[:2]), [[(0, os.path.basename(path)) for path in paths[:2]]])
        self.assertEqual(self.codes(), [["rank_twice"]])

    def test_a_header_behind_the_events_counts_as_one_before_them(self):
        for name, rank, job in (("a", 0, "7"), ("b", 0, "8"), ("c", 1, "7"), ("d", 1, "8")):
            content = trace(rank, 2, 0, name, header_first=False, job_id=job)
            self.write(name + ".json.gz", gzip.compress(content))
        self.assertEqual(self.runs_of(self.files), [[(0, "a.json.gz"), (1, "c.json.gz")], [(0, "b.json.gz"), (1, "d.json.gz")]])

    def test_a_file_that_says_nothing_joins_the_job_beside_it_or_is_a_run(self):
        paths = [self.write("worker0.json", trace(0, 3, 0, "0")), self.write("worker1.json", trace(1, 3, 0, "1")),
                 self.write("worker2.json", trace(label="2")), self.write("other.json", trace(label="3"))]
        told = self.runs_of(*paths)
        self.assertEqual(told, [[(0, "worker0.json"), (1, "worker1.json"), (2, "worker2.json")], [(None, "other.json")]])
        self.assertEqual(self.codes(), [["rank_by_name"], []])
        # In one run by hand somebody has to give it a rank, and says so.
        self.assertEqual(self.runs_of("--one-run", *paths)[0][3], (3, "other.json"))
        self.assertEqual(self.codes(), [["rank_by_order"]])
        self.assertEqual([len(parts) for parts in self.runs_of("--separate", *paths)], [1, 1, 1, 1])

    def test_what_was_imported_before_is_answered_with_its_own_run(self):
        paths = [self.write(f"{job}{rank}.json", trace(rank, 2, 0, job + str(rank), job_id=job)) for job in "xy" for rank in (0, 1)]
        self.runs_of(*paths[:2])
        first = self.runs[0]["id"]
        told = self.runs_of(*paths)
        self.assertEqual(len(told), 2)
        self.assertEqual(self.runs[0]["id"], first)
        self.assertEqual(len(self.daemon.ctl.json("runs")["runs"]), 2)

    def test_detached_each_run_is_a_line(self):
        paths = [self.write(f"{job}.json", trace(0, 1, at, str(job))) for job, at in (("x", 0), ("y", HOUR_US))]
        ids = self.daemon.ctl.run("import", "--detach", *paths).text.split()
        self.assertEqual(len(ids), 2)
        for run in ids:
            self.assertEqual(self.daemon.ctl.run("wait", run).code, 0)
        self.daemon.ctl.run("import", "--one-run", "--separate", *paths, expect="usage")

    def test_a_scalene_profile_joins_the_trace_of_its_rank(self):
        def profile(line, start_s=START_US / 1e6):
            lines = [{"lineno": line, "n_cpu_percent_python": 40.5, "n_cpu_percent_c": 2, "n_sys_percent": 1, "n_peak_mb": 10,
                      "cpu_samples_list": [50.5]}]
            return json.dumps({"alloc_samples": 0, "elapsed_time_sec": 2, "files": {"/w/a.py": {"functions": [], "lines": lines}},
                               "start_time_absolute": start_s}).encode()

        paths = [self.write("x/a.json", trace(0, 2, 0, "a")), self.write("x/b.json", trace(1, 2, 0, "b")),
                 self.write("x/scalene_rank1.json", profile(7))]
        self.assertEqual(self.runs_of(*paths), [[(0, "a.json"), (1, "b.json"), (1, "scalene_rank1.json")]])
        self.assertEqual(self.codes(), [["rank_by_name"]])
        parts = self.daemon.ctl.json("query", "--run", self.runs[0]["id"], "SELECT part, source_format FROM trace ORDER BY part")
        self.assertEqual(parts["rows"], [["rank0", "kineto"], ["rank1", "kineto"], ["rank1_2", "scalene"]])
        rows = self.daemon.ctl.json("query", "--run", self.runs[0]["id"],
                                    "SELECT part, file, line, python_percent, system_percent, peak_mb, gpu_percent FROM source_line")
        self.assertEqual(rows["rows"], [["rank1_2", "/w/a.py", 7, 40.5, 1, 10, None]])
        self.daemon.ctl.run("analyze", "temporal-breakdown", self.runs[0]["id"])
        # Beside the only trace it needs no rank; alone it is a run.
        lone = self.write("y/t.json", trace(3, 8, 0, "c"))
        lines = self.write("y/lines.json", profile(8))
        self.assertEqual(self.runs_of(lone, lines), [[(3, "lines.json"), (3, "t.json")]])
        self.assertEqual(self.codes(), [[]])
        self.assertEqual(self.runs_of("--again", lines), [[(None, "lines.json")]])
        self.assertEqual(self.runs_of("--again", "--one-run", lone, lines), [[(3, "lines.json"), (3, "t.json")]])

    def test_a_real_scalene_profile_is_a_run_with_its_lines(self):
        path = self.real("neuron/scalene/profile.json")
        self.assertEqual(self.runs_of(path), [[(None, "profile.json")]])
        rows = self.daemon.ctl.json("query", "--run", self.runs[0]["id"], "SELECT count(*), max(python_percent) FROM source_line")
        with open(path, encoding="utf-8") as file:
            lines = [line for of in json.load(file)["files"].values() for line in of["lines"]]
        self.assertEqual(rows["rows"], [[len(lines), max(line["n_cpu_percent_python"] for line in lines)]])

    def real(self, name):
        path = os.path.join(kprof_testing.DATA, *name.split("/"))
        if not os.path.exists(path):
            self.skipTest(f"{path} is not here")
        return path

    def test_real_ranks_of_a_job_are_one_run_beside_real_traces_of_others(self):
        with tarfile.open(self.real("kineto-8rank/v100_dlrm_8rank.tar.gz")) as tar:
            tar.extractall(self.files)
        others = [self.real(f"kineto/{name}.json.gz") for name in
                  ("mi300x_flux_rank0", "b200_eager_rank0of8", "cpu_only_rank34", "no_distributed_info", "a100_cupti_counters")]
        told = self.runs_of(os.path.join(self.files, "dlrm_kineto"), *others)
        self.assertEqual([rank for rank, _ in told[0]], list(range(8)))
        for (rank, name) in told[0]:
            self.assertTrue(name.startswith(f"worker{rank}_"))
        self.assertEqual([[rank for rank, _ in parts] for parts in told[1:]], [[0], [0], [34], [None], [0]])
        self.assertEqual(self.codes()[0], [])


if __name__ == "__main__":
    unittest.main()
