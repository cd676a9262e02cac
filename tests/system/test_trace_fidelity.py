"""That an import keeps what a trace says: each file of the Kineto set is read here with Python's own JSON reader, its
numbers as decimals, and compared with what SQL finds in the run that kprofd made of it."""

import collections
import decimal
import gzip
import json
import os
import random
import unittest

import kprof_testing
from kprof_testing import DaemonTest

DATA = os.path.join(kprof_testing.DATA, "kineto")
SAMPLE = 1000
# The members of an event that are columns of every table.
COLUMNS = {"ph", "name", "cat", "pid", "tid", "ts", "args"}


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
        self.check_flow_points(run, events)
        self.check_metadata(run, events)
        self.check_busy(run, slices)
        self.check_events(run, "slice", slices, {"dur_ns": "dur"})
        for table, letters, own in (("instant", "iI", {}), ("flow_point", "stf", {"phase": "ph", "flow_id": "id"}),
                                    ("metadata", "M", {"phase": "ph"})):
            self.check_events(run, table, [event for event in events if event["ph"] in letters], own)

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

    def check_flow_points(self, run, events):
        expected = collections.Counter((event["ph"], event.get("cat", ""), event["name"]) for event in events if event["ph"] in "stf")
        found = {(row["phase"], row["category"] or "", row["name"]): row["n"] for row in all_rows(
            self.ctl, run, "SELECT phase, category, name, count(*) AS n FROM flow_point GROUP BY phase, category, name")}
        self.assertEqual(found, dict(expected))

    def check_metadata(self, run, events):
        expected = collections.Counter((event["ph"], event["name"]) for event in events if event["ph"] == "M")
        found = {(row["phase"], row["name"]): row["n"] for row in all_rows(
            self.ctl, run, "SELECT phase, name, count(*) AS n FROM metadata GROUP BY phase, name")}
        self.assertEqual(found, dict(expected))

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

    # All that begin when one of a thousand does, with all that they say: what has no column is among the arguments, or
    # stands beside them. `own`: the columns that only this table has, by the members of an event that they are.
    def check_events(self, run, table, events, own):
        [part] = all_rows(self.ctl, run, "SELECT base_source_ns AS base FROM trace")
        known = COLUMNS | set(own.values())

        def begin(event):
            return nanos(event["ts"]) - int(part["base"]) if "ts" in event else 0

        def said(column, value):
            return None if value is None else nanos(value) if column == "dur_ns" else whole(value)

        chosen = {begin(event) for event in random.Random(7).sample(events, min(SAMPLE, len(events)))}
        expected = collections.Counter(
            (begin(event), event["name"], event.get("cat", ""), *(whole(event[key]) if key in event else None for key in ("pid", "tid")),
             *(said(column, event.get(key)) for column, key in own.items()), plain(event.get("args", {})),
             plain({key: value for key, value in event.items() if key not in known}))
            for event in events if begin(event) in chosen)
        columns = "".join(f", e.{column}" for column in own)
        found = collections.Counter(
            (row["ts_ns"], row["name"], row["category"] or "", row["pid"], row["tid"], *(row[column] for column in own),
             plain(exact(row["args"] or "{}")), plain(exact(row["beside"] or "{}")))
            for row in all_rows(self.ctl, run, f"SELECT e.ts_ns, e.name, e.category, t.pid, t.tid{columns}, e.args, e.beside"
                                               f" FROM {table} e JOIN track t ON t.id = e.track_id"
                                               f" WHERE e.ts_ns IN ({','.join(map(str, sorted(chosen)))})"))
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
