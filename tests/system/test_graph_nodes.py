"""CUDA graphs: which launch a kernel belongs to, which node it is, and where that was captured."""

import json
import os
import re
import sqlite3
import unittest

import kprof_testing
from kprof_testing import OwnDaemonTest, temporary_folder

PID = (1 << 48) | (77 << 24)
TID = PID | 78
STRINGS = {1: "gemm", 2: "cudaGraphLaunch_v10000", 3: "Graph Node Creation", 4: "cudaLaunchKernel_v7000"}
TABLES = """
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER, -- REFERENCES StringIds(id)
  graphNodeId INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER -- REFERENCES StringIds(id)
);
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  nameId INTEGER, -- REFERENCES StringIds(id)
  graphNodeId INTEGER, originalGraphNodeId INTEGER);
"""


def examples():
    """The queries of docs/sql.md about graphs."""
    with open(os.path.join(kprof_testing.ROOT, "docs", "sql.md"), encoding="utf-8") as file:
        section = file.read().split("### graph_node\n")[1].split("\n### ")[0]
    return [re.sub(r"\s+", " ", query) for query in re.findall(r'query --run @last "(.*?)"', section, re.S)]


class GraphNodesTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def ask(self, sql):
        return [tuple(row) for row in self.daemon.ctl.json("query", "--run", "@last", sql)["rows"]]

    def test_kernels_of_a_graph_find_their_launch_and_their_capture(self):
        path = os.path.join(self.files, "a.sqlite")
        db = sqlite3.connect(path)
        db.executescript(TABLES)
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", STRINGS.items())
        db.executemany("INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (?, NULL, 0, ?, 3, ?, ?)", [(110, TID, 5, None), (300, TID, 9, 5)])
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?)",
                       [(100, 120, TID, 1, 4), (1000, 1050, TID, 2, 2), (3000, 3050, TID, 3, 2)])
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 1, 9, 4)",
                       [(1200, 1300, 2, PID), (1300, 1500, 2, PID), (3200, 3400, 3, PID)])
        db.commit()
        db.close()
        self.assertEqual(self.daemon.ctl.json("import", path)["trust"], [])
        launches, nodes, captures = examples()
        self.assertEqual([row[2:] for row in self.ask(launches)], [(2, 200, 300), (1, 200, 200)])
        self.assertEqual(self.ask(nodes), [(9, "gemm", 3, 500)])
        rows = self.ask(captures)
        self.assertEqual([(name, node) for name, node, _, _ in rows], [("gemm", 5)] * 3)
        calls = self.ask("SELECT ts_ns, ts_ns + dur_ns FROM slice WHERE name = 'cudaLaunchKernel'")
        self.assertTrue(all(calls[0][0] <= row[2] <= calls[0][1] for row in rows), (rows, calls))
        self.assertEqual(self.ask("SELECT pid, node, copy_of, captured_node FROM graph_node ORDER BY node"), [(77, 5, None, 5), (77, 9, 5, 5)])

    def test_pytorch_says_the_node_in_each_kernel(self):
        path = os.path.join(self.files, "a.json")
        events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 2, "ts": 10, "dur": 1, "args": {"correlation": 4}}]
        events += [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20 + 10 * i, "dur": 5,
                    "args": {"device": 0, "stream": 7, "correlation": 4, "graph id": 3, "graph node id": 100 + i}} for i in range(2)]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        self.daemon.ctl.json("import", path)
        launches, nodes, _ = examples()
        self.assertEqual([row[2:] for row in self.ask(launches)], [(2, 10_000, 10_000)])
        self.assertEqual(self.ask(nodes), [(100, "gemm", 1, 5000), (101, "gemm", 1, 5000)])


if __name__ == "__main__":
    unittest.main()
