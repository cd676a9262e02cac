"""Perfetto traces: as PyTorch's CUPTI monitor writes them, and what kprofd exports read back."""

import gzip
import json
import os
import unittest

import kprof_testing
from kprof_testing import OwnDaemonTest, temporary_folder
from perfetto_writer import PerfettoWriter, number, real, text

START_NS = 1_700_000_000_000_000_000  # Unix
LAUNCH, GEMM, COPY = 77, "void gemm<float>(int)", "Memcpy HtoD (Pageable -> Device)"


def first_form(categories=False, packed=False):
    """Events of a step: an operator launches a kernel and a copy. Without categories as PyTorch wrote it first."""
    writer = PerfettoWriter()
    writer.process(1, 4242, "python")
    writer.thread(2, 1, 4242, 4243, "main")
    writer.process(3, 4242, "python")
    writer.thread(4, 3, 4242, 7, "stream 7")

    def named(category):
        return category if categories else None
    writer.slice(START_NS, 10_000, 2, "ProfilerStep#3", named("user_annotation"))
    writer.slice(START_NS + 1000, 4000, 2, "aten::mm", named("cpu_op"), {"External id": 5, "Input Dims": [[3, 4], [4, 5]]})
    writer.slice(START_NS + 1500, 500, 2, "cudaLaunchKernel", named("cuda_runtime"), {"External id": 5, "correlation": LAUNCH}, [LAUNCH])
    writer.slice(START_NS + 2500, 500, 2, "cudaMemcpyAsync", named("cuda_runtime"), {"External id": 5, "correlation": LAUNCH + 1})
    on_stream = {"device": 0, "context": 1, "stream": 7}
    writer.slice(START_NS + 2900, 5500, 4, "ProfilerStep#3", named("gpu_user_annotation"))  # it says neither device nor stream
    writer.slice(START_NS + 3000, 4000, 4, GEMM, named("kernel"),
                 {"External id": 5, **on_stream, "correlation": LAUNCH, "grid": [1, 2, 3], "block": [32, 1, 1]}, [LAUNCH])
    writer.slice(START_NS + 7000, 1000, 4, COPY, named("gpu_memcpy"), {**on_stream, "correlation": LAUNCH + 1, "bytes": 4096})
    writer.instant(START_NS + 500, 2, "[memory]", {"Bytes": -512, "Device Type": 1})
    return writer.trace(packed)


def later_form(packed=False):
    """A graph with two nodes: GPU work is render stages, which the launch names."""
    writer = PerfettoWriter()
    writer.clocks(START_NS)
    writer.process(1, 4242, "python")
    writer.thread(2, 1, 4242, 4243, "main")
    writer.intern(24, 1, text(2, "Stream 7"))
    writer.intern(24, 2, text(2, "Kernel"), number(4, 2))
    writer.intern(24, 3, text(2, "Memcpy"))
    writer.intern(23, 1, number(2, 4242), number(3, 4))
    writer.intern(1000, 1, text(3, GEMM), text(4, "sm_90"))
    writer.intern(47, 9, number(2, 0), text(3, text(1, number(1, 3) + text(2, "power"))))
    writer.slice(START_NS + 1000, 500, 2, "cudaGraphLaunch", "cuda_runtime", {"correlation": 90},
                 more=text(3000, number(1, 501) + number(1, 502)))
    writer.render_stage(START_NS + 2000, 700, 501, 0, 1, 2, kernel=1, grid=[8], block=[128], extra={"graph node id": "1234"})
    writer.render_stage(START_NS + 3000, 100, 502, 0, 1, 3, extra={"bytes": "64"}, waits=[501])
    writer.begins.append(number(8, START_NS + 2500) + text(52, number(4, 9) + text(2, number(1, 3) + real(3, 99.5))))
    return writer.trace(packed)


class PerfettoImportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def path(self, name):
        return os.path.join(self.files, name)

    def take(self, name, content, *options):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        return self.daemon.ctl.json("import", path, *options)

    def ask(self, sql):
        return [tuple(row) for row in self.daemon.ctl.json("query", "--run", "@last", sql)["rows"]]

    def kernels(self):
        return self.ask("SELECT track.kind, track.device, track.stream, slice.name, category, dur_ns, correlation FROM slice JOIN track "
                        "ON track.id = slice.track_id WHERE track.kind = 'gpu_stream' ORDER BY ts_ns")

    def test_the_first_form_gets_categories_by_its_arguments(self):
        for name, content in (("a.pftrace", first_form()), ("b.pftrace", gzip.compress(first_form(categories=True, packed=True)))):
            run = self.take(name, content)
            self.assertEqual(run["trust"], [])
            self.assertEqual(self.ask("SELECT source, source_format FROM trace"), [(name, "perfetto")])
            self.assertEqual(self.kernels(), [("gpu_stream", 0, 7, "ProfilerStep#3", "gpu_user_annotation", 5500, None),
                                              ("gpu_stream", 0, 7, GEMM, "kernel", 4000, LAUNCH),
                                              ("gpu_stream", 0, 7, COPY, "gpu_memcpy", 1000, LAUNCH + 1)])
            self.assertEqual(self.ask("SELECT name, category FROM slice WHERE category IN ('cpu_op', 'cuda_runtime', 'user_annotation') ORDER BY ts_ns"),
                             [("ProfilerStep#3", "user_annotation"), ("aten::mm", "cpu_op"), ("cudaLaunchKernel", "cuda_runtime"),
                              ("cudaMemcpyAsync", "cuda_runtime")])
            steps = self.daemon.ctl.json("analyze", "kernel-breakdown", "@last")
            self.assertIn(GEMM, json.dumps(steps))
            operators = self.daemon.ctl.json("analyze", "operators", "@last")
            self.assertIn("aten::mm", json.dumps(operators))

    def test_render_stages_have_the_correlation_of_their_launch(self):
        self.take("later.pftrace", later_form(), "--format", "pftrace")
        self.assertEqual(self.kernels(), [("gpu_stream", 0, 7, GEMM, "kernel", 700, 90), ("gpu_stream", 0, 7, "Memcpy", "gpu_memcpy", 100, 90)])
        self.assertEqual(self.ask("SELECT args ->> '$.\"graph node id\"' FROM slice WHERE category = 'kernel'"), [(1234,)])
        self.assertEqual(self.ask("SELECT value FROM counter"), [(99.5,)])
        launches = self.daemon.ctl.json("analyze", "launch-stats", "@last")
        self.assertIn("cudaGraphLaunch", json.dumps(launches))

    def test_an_export_reads_back_as_the_same_slices(self):
        path = self.path("kineto.json")
        pid = {"pid": 4242, "tid": 4243}
        gpu = {"pid": 0, "tid": 7}
        events = [
            {"ph": "M", "name": "process_name", **pid, "ts": 0, "args": {"name": "python"}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", **pid, "ts": 1000.5, "dur": 20.25, "args": {"External id": 5, "Ratio": 0.25}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **pid, "ts": 1002, "dur": 3, "args": {"correlation": 9}},
            {"ph": "X", "cat": "kernel", "name": GEMM, **gpu, "ts": 1010, "dur": 5.125,
             "args": {"correlation": 9, "device": 0, "stream": 7, "grid": [1, 2, 3]}},
            {"ph": "X", "cat": "kernel", "name": GEMM, **gpu, "ts": 1015.125, "dur": 0, "args": {"correlation": 9, "device": 0, "stream": 7}},
            {"ph": "C", "name": "memory", **pid, "ts": 1003, "args": {"bytes": 512}},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 9, **pid, "ts": 1002},
            {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": 9, **gpu, "ts": 1010},
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "baseTimeNanoseconds": START_NS, "traceEvents": events}, file)
        asked = ("SELECT track.kind, track.device, track.stream, slice.name, category, ts_ns, dur_ns, correlation, args FROM slice "
                 "JOIN track ON track.id = slice.track_id ORDER BY ts_ns, dur_ns DESC, slice.name")
        flows = "SELECT count(*) FROM flow"
        samples = "SELECT ts_ns, value FROM counter"
        self.daemon.ctl.json("import", path)
        before = [self.ask(sql) for sql in (asked, flows, samples)]
        export = self.path("export.pftrace")
        self.daemon.ctl.run("export", "@last", "--format", "perfetto", "-o", export)
        run = self.daemon.ctl.json("import", export)
        self.assertEqual(run["trust"], [])
        after = [self.ask(sql) for sql in (asked, flows, samples)]
        self.assertEqual([json.loads(row[-1]) for row in before[0]], [json.loads(row[-1]) for row in after[0]])
        self.assertEqual([row[:-1] for row in before[0]], [row[:-1] for row in after[0]])
        self.assertEqual(before[1:], after[1:])

    def test_real_exports_read_back_as_the_same_slices(self):
        path = os.path.join(kprof_testing.DATA, "kineto", "mi300x_flux_rank0.json.gz")
        if not os.path.exists(path):
            self.skipTest(f"{path} is not here")
        asked = ("SELECT count(*), sum(dur_ns), count(DISTINCT name), count(correlation), sum(category = 'kernel') FROM slice")
        self.daemon.ctl.json("import", path)
        before = self.ask(asked)
        export = self.path("export.pftrace")
        self.daemon.ctl.run("export", "@last", "--format", "perfetto", "-o", export)
        self.daemon.ctl.json("import", export)
        self.assertEqual(before, self.ask(asked))

    def test_streams_read_back_as_the_same_streams(self):
        for name in ("kineto/b200_eager_rank0of8.json.gz", "nsys/t4_power_iteration.sqlite"):
            path = os.path.join(kprof_testing.DATA, name)
            if not os.path.exists(path):
                self.skipTest(f"{path} is not here")
            self.daemon.ctl.json("import", path)
            before = self.daemon.ctl.json("analyze", "idle-breakdown", "@last")["result"]["devices"]
            export = self.path("streams.pftrace")
            self.daemon.ctl.run("export", "@last", "--format", "perfetto", "-o", export)
            self.daemon.ctl.json("import", export)
            after = self.daemon.ctl.json("analyze", "idle-breakdown", "@last")["result"]["devices"]
            busy = [[(row["device"], row["total_ns"] - row["idle_ns"]) for row in rows] for rows in (before, after)]
            self.assertEqual(busy[0], busy[1], name)

    def test_what_is_cut_off_is_kept_up_to_there_and_said(self):
        content = first_form(categories=True)
        run = self.take("cut.pftrace", content[:len(content) // 2])
        self.assertEqual({reason["code"] for reason in run["trust"]}, {"source_incomplete"})
        self.assertIn("it ends within a packet at byte", run["trust"][0]["message"])

    def test_a_format_that_is_another_is_refused(self):
        path = self.path("a.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}, file)
        failed = self.daemon.ctl.run("import", path, "--format", "pftrace", expect=None)
        self.assertIn("it looks like JSON", failed.err.decode())


if __name__ == "__main__":
    unittest.main()
