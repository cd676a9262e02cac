"""That an import keeps what a trace says: each file of the Kineto set is read here with Python's own JSON reader, its
numbers as decimals, and compared with what SQL finds in the run that kprofd made of it."""

import collections
import contextlib
import decimal
import glob
import gzip
import json
import os
import random
import sqlite3
import unittest

import kprof_testing
from kprof_testing import DaemonTest

DATA = os.path.join(kprof_testing.DATA, "kineto")
SAMPLE = 1000


def nanos(micros):
    """Exactly; what is less than one rounded away from zero at the half."""
    return int((decimal.Decimal(micros) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def exact(text):
    return json.loads(text, parse_float=decimal.Decimal, strict=False)


def whole(place):
    return str(place).removesuffix(".0")


def union(intervals):
    """How long any of them lasts."""
    busy, until = 0, None
    for begin, end in sorted(intervals):
        if until is None or begin > until:
            until = begin
        busy += max(0, end - until)
        until = max(until, end)
    return busy


def plain(value):
    """A value that compares by what it says: 1 is not 1.0, and neither is a text."""
    if isinstance(value, dict):
        return ("object", tuple((key, plain(of)) for key, of in value.items()))
    if isinstance(value, list):
        return ("list", tuple(plain(of) for of in value))
    return (type(value).__name__, str(value))


def all_rows(ctl, run, sql):
    answer = ctl.run("query", "--run", run, "--format", "ndjson", "--limit", "10000000", sql)
    return [exact(line) for line in answer.out.splitlines()]


@unittest.skipUnless(os.path.isdir(DATA), f"no {DATA}")
class TraceFidelityTest(DaemonTest):
    def check(self, name):
        path = os.path.join(DATA, name)
        with gzip.open(path) as file:
            whole = exact(file.read().decode(errors="surrogateescape"))
        events = whole["traceEvents"] if isinstance(whole, dict) else whole
        slices = [event for event in events if event["ph"] == "X"]
        imported = self.ctl.json("import", path)
        run = imported["id"]
        phases = collections.Counter(event["ph"] for event in events)
        self.assertEqual(imported["trace"]["slices"], phases["X"])
        self.assertEqual(imported["trace"]["instants"], phases["i"] + phases["I"])
        self.assertEqual(imported["trace"]["flows"], phases["s"] + phases["t"] + phases["f"])
        self.assertEqual(imported["trust"], [])
        self.check_groups(run, slices)
        self.check_instants(run, events)
        self.check_counters(run, events)
        self.check_metadata(imported, phases)
        self.check_busy(run, slices)
        self.check_events(run, slices)

    def check_groups(self, run, slices):
        expected = collections.defaultdict(lambda: [0, 0])
        for event in slices:
            group = expected[event.get("cat", ""), event["name"]]
            group[0] += 1
            group[1] += nanos(event["dur"])
        found = {(row["category"] or "", row["name"]): [row["n"], row["ns"]] for row in all_rows(
            self.ctl, run, "SELECT category, name, count(*) AS n, sum(dur_ns) AS ns FROM slice GROUP BY category, name")}
        self.assertEqual(found, dict(expected))

    def check_instants(self, run, events):
        expected = collections.Counter((event.get("cat", ""), event["name"]) for event in events if event["ph"] in "iI")
        found = {(row["category"] or "", row["name"]): row["n"] for row in all_rows(
            self.ctl, run, "SELECT category, name, count(*) AS n FROM instant GROUP BY category, name")}
        self.assertEqual(found, dict(expected))

    def check_counters(self, run, events):
        expected = collections.Counter(
            float(value) for event in events if event["ph"] == "C" for value in event.get("args", {}).values()
            if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool))
        found = collections.Counter(float(row["value"]) for row in all_rows(self.ctl, run, "SELECT value FROM counter"))
        self.assertEqual(found, expected)

    # The part as a database of SQLite says how many there are.
    def check_metadata(self, imported, phases):
        [part] = glob.glob(os.path.join(self.daemon.run_folder(imported["id"]), "**", "*.trace.db"), recursive=True)
        with contextlib.closing(sqlite3.connect(f"file:{part}?immutable=1", uri=True)) as database:
            [rows] = database.execute("SELECT value FROM fact WHERE name = 'rows.metadata'").fetchone()
        self.assertEqual(rows, phases["M"])

    # What GPUs did, without the annotations that are drawn over their streams.
    def check_busy(self, run, slices):
        lanes = collections.defaultdict(list)
        for event in slices:
            if event.get("cat") != "gpu_user_annotation":
                begin = nanos(event["ts"])
                lanes[whole(event["pid"]), whole(event["tid"])].append((begin, begin + nanos(event["dur"])))
        found = all_rows(self.ctl, run, "SELECT t.pid, t.tid, b.busy_ns FROM busy('track') b JOIN track t ON t.id = b.track_id"
                                        " WHERE b.track_kind = 'gpu_stream'")
        kernels = {(whole(event["pid"]), whole(event["tid"])) for event in slices if event.get("cat") == "kernel"}
        self.assertEqual(kernels - {(row["pid"], row["tid"]) for row in found}, set())
        for row in found:
            self.assertEqual(row["busy_ns"], union(lanes[row["pid"], row["tid"]]), row)

    # All that begin when one of a thousand does, with their arguments.
    def check_events(self, run, slices):
        earliest = min(nanos(event["ts"]) for event in slices)
        chosen = {nanos(event["ts"]) - earliest for event in random.Random(7).sample(slices, min(SAMPLE, len(slices)))}
        expected = collections.Counter(
            (nanos(event["ts"]) - earliest, nanos(event["dur"]), event["name"], event.get("cat", ""), str(event["pid"]),
             str(event["tid"]), plain(event.get("args", {})))
            for event in slices if nanos(event["ts"]) - earliest in chosen)
        [first] = all_rows(self.ctl, run, "SELECT min(ts_ns) AS ns FROM slice")
        times = ",".join(str(time + first["ns"]) for time in sorted(chosen))
        found = collections.Counter(
            (row["ts_ns"] - first["ns"], row["dur_ns"], row["name"], row["category"] or "", row["pid"], row["tid"],
             plain(exact(row["args"] or "{}")))
            for row in all_rows(self.ctl, run, "SELECT s.ts_ns, s.dur_ns, s.name, s.category, t.pid, t.tid, s.args FROM slice s"
                                               f" JOIN track t ON t.id = s.track_id WHERE s.ts_ns IN ({times})"))
        self.assertEqual(found, expected)


def add_tests():
    for name in sorted(os.listdir(DATA)) if os.path.isdir(DATA) else []:
        if name.endswith(".json.gz"):
            def test(self, name=name):
                self.check(name)
            setattr(TraceFidelityTest, "test_" + name.partition(".")[0], test)


add_tests()

if __name__ == "__main__":
    unittest.main()
