"""Every kind of analysis asked of every public trace and of traces with little or nothing right in them: it answers, with the tables
and columns that it tells of and values of their types; an empty answer says why; and SQL has the same rows."""

import functools
import glob
import gzip
import json
import os
import unittest

import kprof_testing
from kprof_testing import DATA, DaemonTest

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
CALL = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1}
# Traces with little in them, or with something wrong.
POOR = {
    "nothing": [],
    "one_kernel": [{**KERNEL, "ts": 10, "dur": 5}],
    "one_call_of_the_host": [{**CALL, "ts": 10, "dur": 5}],
    "one_instant": [{"ph": "i", "s": "t", "name": "here", "pid": 1, "tid": 1, "ts": 3}],
    "one_counter": [{"ph": "C", "name": "power", "pid": 1, "ts": 3, "args": {"watts": 4}}],
    "the_host_alone": [{**OPERATOR, "ts": 10 * i, "dur": 8} for i in range(20)],
    "no_correlations": [{**CALL, "ts": 10 * i, "dur": 2} for i in range(20)] +
                       [{**KERNEL, "ts": 10 * i + 5, "dur": 3} for i in range(20)],
    "crossing_slices": [{**OPERATOR, "ts": 10 * i, "dur": 25} for i in range(20)] +
                       [{**KERNEL, "ts": 7 * i, "dur": 20} for i in range(20)],
    "lengths_of_nothing": [{**KERNEL, "ts": 10, "dur": 0} for _ in range(5)] + [{**CALL, "ts": 10, "dur": 0} for _ in range(5)],
    "one_correlation_for_all": [{**CALL, "ts": 10 * i, "dur": 2, "args": {"correlation": 1}} for i in range(9)] +
                               [{**KERNEL, "ts": 10 * i + 4, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": 1}}
                                for i in range(9)],
    "far_apart": [{**KERNEL, "ts": 0, "dur": 1}, {**KERNEL, "ts": 9e12, "dur": 1}],
}
TYPES = {"integer": (int, str), "real": (int, float), "text": (str,), "boolean": (bool,), "json": (list, dict, str)}


def public_traces():
    return sorted(path for pattern in ("kineto/*.json.gz", "kineto-8rank/*.tar.gz", "nsys/*.sqlite", "nsys/*.json.gz")
                  for path in glob.glob(os.path.join(DATA, pattern)))


class AnalysisMatrixTest(DaemonTest):
    @classmethod
    @functools.cache
    def kinds(cls):
        return cls.ctl.json("analyze", "--list")["analyses"]

    def imported(self, path):
        if path.endswith(".tar.gz"):
            folder = self.enterContext(kprof_testing.temporary_folder("m-"))
            kprof_testing.unpack(path, folder)
            path = folder
        return self.ctl.json("import", path, limit_s=4 * kprof_testing.LIMIT_S)["id"]

    def check_answers(self, run):
        for kind in self.kinds():
            options = ["--baseline", run] if kind["name"] == "compare" else []
            with self.subTest(kind["name"]):
                answer = self.ctl.json("analyze", kind["name"], run, *options)
                tables = self.check_answer(kind, answer)
                asked = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)
                self.assertEqual(dict(self.ctl.json("query", "--run", run, asked)["rows"] if tables else {}), tables)

    def check_answer(self, kind, answer):
        result = answer["result"]
        self.assertEqual(list(result), [fact["name"] for fact in kind["facts"]] + [table["name"] for table in kind["tables"]])
        for table in kind["tables"]:
            rows = result[table["name"]]
            for row in rows[:1] + rows[-1:]:
                # The run stands beside the rows where all are of one.
                columns = [column for column in table["columns"] if column["name"] in row or column["name"] != "run"]
                self.assertEqual(list(row), [column["name"] for column in columns], table["name"])
                for column in columns:
                    value = row[column["name"]]
                    if value is not None:
                        self.assertIsInstance(value, TYPES[column["type"]], f"{table['name']}.{column['name']}")
        if not any(result[table["name"]] for table in kind["tables"]):
            self.assertNotEqual(answer["notes"], [], "it does not say why it is empty")
        if kind["name"] == "compare":
            self.assertEqual(result["verdict"], "INCONCLUSIVE")
            return {}  # in SQL it compares runs of the query
        return {table["sql"]: len(result[table["name"]]) for table in kind["tables"]}

    def test_poor_traces(self):
        folder = self.enterContext(kprof_testing.temporary_folder("p-"))
        for name, events in POOR.items():
            with self.subTest(name):
                path = os.path.join(folder, f"{name}.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"schemaVersion": 1, "traceEvents": events}, file)
                self.check_answers(self.imported(path))

    def test_a_trace_that_is_cut_off(self):
        source = os.path.join(DATA, "kineto", "rtx2080ti_resnet.json.gz")
        if not os.path.exists(source):
            self.skipTest(f"no {source}")
        path = os.path.join(self.enterContext(kprof_testing.temporary_folder("c-")), "cut.json")
        with gzip.open(source, "rb") as whole, open(path, "wb") as file:
            text = whole.read()
            file.write(text[: len(text) * 2 // 3])
        run = self.imported(path)
        self.check_answers(run)
        answer = self.ctl.json("analyze", "temporal-breakdown", run)
        self.assertIn("source_incomplete", [reason["code"] for reason in answer["trust"]])


def add_public_traces():
    paths = public_traces()
    for path in paths:
        def test(self, path=path):
            self.check_answers(self.imported(path))
        name = os.path.basename(path).split(".")[0]
        setattr(AnalysisMatrixTest, f"test_{name}{'_' + path.rsplit('.', 1)[1] if 'nsys' in path else ''}", test)
    if not paths:
        AnalysisMatrixTest.test_public_traces = unittest.skip(f"no traces in {DATA}")(lambda self: None)


add_public_traces()

if __name__ == "__main__":
    unittest.main()
