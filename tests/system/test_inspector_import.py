"""Logs of NCCL Inspector: collectives of each rank, alone and beside the traces of a job."""

import json
import os
import unittest

from kprof_testing import OwnDaemonTest, temporary_folder

START_US = 1_748_030_377_000_000  # Unix
WORLD = "0x7f8c496ae9f661"


def line(rank, sequence, took_us, ranks=4, communicator=WORLD, coll="AllReduce", size=1 << 20, began_us=None, nodes=1):
    perf = {"coll": coll, "coll_sn": sequence, "coll_msg_size_bytes": size, "coll_exec_time_us": took_us,
            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 1.5, "coll_busbw_gbs": 2.25}
    if began_us is not None:
        perf["event_trace_ts"] = {"coll_start_ts": began_us - 40, "coll_stop_ts": began_us - 30, "kernel_events": [
            {"channel_id": channel, "kernel_start_ts": began_us + channel, "kernel_stop_ts": began_us + took_us} for channel in (0, 1)]}
    return json.dumps({"header": {"id": communicator, "rank": rank, "n_ranks": ranks, "nnodes": nodes},
                       "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "profiler_plugin",
                                    "dump_timestamp_us": START_US, "hostname": "secret-host", "pid": 100 + rank},
                       "coll_perf": perf}, separators=(",", ":")) + "\n"


def kineto(rank, size, with_kernels):
    """A trace of a rank, with an all-reduce where it is asked for."""
    events = [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 2, "ts": START_US + i, "dur": 1} for i in range(3)]
    if with_kernels:
        events.append({"ph": "X", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "cat": "kernel", "pid": 0, "tid": 7, "ts": START_US + 10,
                       "dur": 5, "args": {"device": 0, "stream": 7, "Collective name": "allreduce", "In msg nelems": 4, "dtype": "Float", "Seq": 1,
                                          "Process Group Name": "default_pg", "Group size": size}})
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": size}, "traceEvents": events})


class InspectorImportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def write(self, name, content):
        path = os.path.join(self.files, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def take(self, *arguments, expect=0):
        out = self.daemon.ctl.run("--json", "import", *arguments, expect=expect).out.decode()
        return [json.loads(each) for each in out.splitlines()]

    def parts(self, run):
        rows = self.daemon.ctl.json("query", f"SELECT part, rank, source_format FROM trace WHERE run = '{run['id']}' ORDER BY part")["rows"]
        return [tuple(row) for row in rows]

    def collectives(self):
        """Of the last run: the rows, and the notes."""
        answer = self.daemon.ctl.json("analyze", "collectives", "@last")
        return answer["result"]["collectives"], answer["notes"]

    def test_logs_of_one_job_are_one_run_and_tell_who_was_last_by_lengths(self):
        took = {0: (50, 70), 1: (40, 90), 2: (10, 80), 3: (45, 20)}
        for rank, (one, two) in took.items():
            own = line(rank % 2, 1, 5, ranks=2, communicator=f"0xa{rank // 2}", coll="AllGather", size=512)
            self.write(f"logs/node1-pid{100 + rank}.log", own + line(rank, 7, one) + line(rank, 8, two))
        self.write("logs/train.log", "nothing of NCCL's\n")
        runs = self.take(os.path.join(self.files, "logs"))
        self.assertEqual(len(runs), 1)
        self.assertEqual(self.parts(runs[0]), [(f"rank{rank}", rank, "nccl-inspector") for rank in range(4)])
        rows, notes = self.collectives()
        reduces = [row for row in rows if row["name"] == "all_reduce"]
        self.assertEqual([(row["straggler"], row["transfer_ns"], row["skew_ns"], row["wait_ns"], row["bytes"], row["sequence"], row["start_ns"])
                          for row in reduces],
                         [(2, 10_000, 40_000, 40_000 + 30_000 + 35_000, 1 << 20, 7, None),
                          (3, 20_000, 70_000, 50_000 + 70_000 + 60_000, 1 << 20, 8, None)])
        self.assertAlmostEqual(reduces[0]["bus_gb_s"], (1 << 20) / 10_000 * 1.5)
        gathers = [row for row in rows if row["name"] == "all_gather"]
        self.assertEqual(sorted((row["ranks"], row["bytes"]) for row in gathers), [([0, 1], 1024), ([2, 3], 1024)])
        self.assertTrue(any("how long each rank took, and not when" in note for note in notes), notes)
        kept = json.dumps(self.daemon.ctl.json("query", "--run", "@last", "SELECT * FROM slice LIMIT 100"))
        self.assertNotIn("secret-host", kept)

    def test_logs_with_event_traces_tell_when(self):
        for rank, began in ((0, 100), (1, 130)):
            self.write(f"node1-pid{rank}.log", "".join(line(rank, sequence, 160 - began, ranks=2, began_us=START_US + 1000 * sequence + began)
                                                       for sequence in (1, 2, 3)))
        runs = self.take(self.files)
        self.assertEqual(len(runs), 1)
        self.assertEqual(runs[0]["trust"], [])
        rows, notes = self.collectives()
        self.assertEqual([(row["straggler"], row["skew_ns"], row["transfer_ns"], row["between_nodes"]) for row in rows], [(1, 30_000, 30_000, 0)] * 3)
        self.assertTrue(any("the ranks' clocks agree" in note for note in notes), notes)

    def test_a_log_joins_the_trace_of_its_rank(self):
        for with_kernels in (False, True):
            folder = f"job{with_kernels}"
            for rank in range(2):
                self.write(f"{folder}/rank{rank}.json", kineto(rank, 2, with_kernels))
                self.write(f"{folder}/node1-pid{rank}.log", line(rank, 1, 20 + rank, ranks=2))
            runs = self.take(os.path.join(self.files, folder))
            self.assertEqual(len(runs), 1)
            self.assertEqual(self.parts(runs[0]), [("rank0", 0, "kineto"), ("rank0_2", 0, "nccl-inspector"),
                                                   ("rank1", 1, "kineto"), ("rank1_2", 1, "nccl-inspector")])
            rows, notes = self.collectives()
            self.assertEqual(len(rows), 1)
            self.assertEqual(rows[0]["transfer_ns"], 5_000 if with_kernels else 20_000)
            which = "traces" if with_kernels else "logs"
            self.assertTrue(any(f"those of the {which} are told here" in note for note in notes), notes)

    def test_a_log_without_an_operation_is_refused_with_what_to_do(self):
        path = self.write("a.log", '{"header":{"id":"0x1","n_ranks":2}}\n')
        failed = self.daemon.ctl.run("import", path, expect=None)
        self.assertIn("it has no operation that can be read", failed.err.decode())
        self.assertIn("NCCL_INSPECTOR_ENABLE=1", failed.err.decode())


if __name__ == "__main__":
    unittest.main()
