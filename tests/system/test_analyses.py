"""Analyses, each golden file of tests/golden/analyses a test: trace, options, expected tables. What the files can say is in
tests/golden/README.md; a new file or kind needs no line here."""

import functools
import glob
import json
import os
import sqlite3
import unittest

import kprof_testing
from kprof_testing import DATA, DaemonTest

GOLDEN = os.path.join(kprof_testing.ROOT, "tests", "golden")
WRITE = "KPROF_UPDATE_GOLDEN" in os.environ
PUBLIC = "data:"


def path_of(name):
    if name.startswith(PUBLIC):
        return os.path.join(DATA, name.removeprefix(PUBLIC))
    return os.path.join(GOLDEN, "traces", name)


def is_close(ours, theirs):
    if isinstance(ours, float) or isinstance(theirs, float):
        return abs(ours - theirs) <= 1e-9 * max(1, abs(ours), abs(theirs))
    return ours == theirs


def differences(ours, theirs, where="result"):
    """Where two values differ, numbers beyond what adding them up in another order does; the first few."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return [f"{where} has {list(ours)}, expected {list(theirs)}"]
        return [line for key in ours for line in differences(ours[key], theirs[key], f"{where}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list):
        found = [f"{where} has {len(ours)} rows, expected {len(theirs)}"] if len(ours) != len(theirs) else []
        pairs = enumerate(zip(ours, theirs))
        return found + [line for i, (our, their) in pairs for line in differences(our, their, f"{where}[{i}]")]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (ours, theirs))
    same = is_close(ours, theirs) if numbers else type(ours) is type(theirs) and ours == theirs
    return [] if same else [f"{where} is {ours!r}, expected {theirs!r}"]


def their_rows(wanted, trace):
    """What somebody else worked out, in our columns and words. A text: why they have no answer."""
    with open(path_of(wanted["file"]), encoding="utf-8") as file:
        value = json.load(file)
    for key in wanted["at"]:
        value = value[trace if key == "<trace>" else key]
    if isinstance(value, dict):
        return value["error"]
    rows = []
    for row in value:
        ours = {}
        for column, (theirs, times) in wanted["columns"].items():
            ours[column] = row[theirs] * times if times != 1 else row[theirs]
            ours[column] = wanted.get("words", {}).get(column, {}).get(ours[column], ours[column])
        rows.append(ours)
    return rows


def is_zero(row, by):
    return all(not value for column, value in row.items() if column not in by)


class AnalysesTest(DaemonTest):
    @classmethod
    @functools.cache
    def run_of(cls, path):
        """The run that was made of a trace, imported once."""
        if path.endswith(".tar.gz"):
            folder = cls.enterClassContext(kprof_testing.temporary_folder("a-"))
            kprof_testing.unpack(path, folder)
            path = folder
        return cls.ctl.json("import", path, limit_s=4 * kprof_testing.LIMIT_S)["id"]

    def test_plain_sqlite_answers_as_kprofd_does(self):
        run = self.run_of(path_of("two_ranks"))
        connection = sqlite3.connect(":memory:")
        self.addCleanup(connection.close)
        connection.enable_load_extension(True)
        library = os.path.join(kprof_testing.BIN, "kprof_trace.so")
        if not os.path.exists(library):
            self.skipTest(f"no {library}")
        connection.load_extension(library)
        for part in sorted(glob.glob(os.path.join(self.daemon.run_folder(run), "*.trace.db"))):
            connection.execute("SELECT trace_open(?, ?)", (part, run)).fetchall()
        kinds = self.ctl.json("analyze", "--list")["analyses"]
        tables = [table["sql"] for kind in kinds for table in kind["tables"]]
        self.assertIn("analyze_temporal_breakdown", tables)
        for table in [*tables, "sum_by('rank', 'name')"]:
            with self.subTest(table):
                ran = self.ctl.run("--json", "query", "--run", run, f"SELECT * FROM {table}", "--limit", "1000000", expect=None)
                if ran.code != 0:  # compare, for one, needs two runs
                    with self.assertRaises(sqlite3.OperationalError):
                        connection.execute(f"SELECT * FROM {table}").fetchall()
                    continue
                rows = connection.execute(f"SELECT * FROM {table}")
                self.assertEqual([column[0] for column in rows.description], ran.json["columns"])
                self.assertEqual(differences([list(row) for row in rows], ran.json["rows"], table), [])

    def check(self, kind, golden_path, trace_path):
        with open(golden_path, encoding="utf-8") as file:
            golden = json.load(file)
        run = self.run_of(trace_path)
        options = [word for name, value in golden["options"].items() for word in (f"--{name}", value) if word != "true"]
        runs = [run]
        if "baseline" in golden:
            runs.append(self.run_of(path_of(golden["baseline"])))
            options += ["--baseline", runs[1]]
        answer = self.ctl.json("analyze", kind, run, *options)
        self.assertEqual(list(answer), ["schema", "run", "result", "trust", "notes"])
        self.assertRegex(answer["schema"], rf"^kprof\.analysis\.{kind}\.v[0-9]+$")
        self.assertEqual(answer["run"], list(dict.fromkeys(runs)))
        answer["result"] = json.loads(json.dumps(answer["result"]).replace(run, "RUN"))  # commands that show more
        for wanted in golden.get("as", []):
            self.check_as(answer, wanted, os.path.basename(trace_path))
        if WRITE and "as" not in golden:
            golden.update({member: answer[member] for member in ("result", "notes", "trust") if member in golden})
            with open(golden_path, "w", encoding="utf-8") as file:
                file.write(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")
        for member in ("result", "notes", "trust"):
            if member in golden:
                self.assertEqual(differences(answer[member], golden[member], member), [])

    def test_a_rank_that_cannot_be_read_is_named_and_the_rest_answers(self):
        folder = self.enterContext(kprof_testing.temporary_folder("b-"))
        for name in os.listdir(path_of("collectives")):
            with open(os.path.join(path_of("collectives"), name), "rb") as source:
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(source.read() + b"\n")  # so that no other test has this run
        run = self.ctl.json("import", folder)["id"]
        os.remove(os.path.join(self.daemon.run_folder(run), "rank1.trace.db"))
        answer = self.ctl.json("analyze", "collectives", run)
        self.assertEqual([reason["code"] for reason in answer["trust"]], ["part_unreadable"])
        self.assertIn("rank1", answer["trust"][0]["message"])
        self.assertIn("2 of 4 ranks have no trace here: 1, 3;", answer["notes"][0])
        self.assertEqual([row["ranks"] for row in answer["result"]["collectives"]], [[0, 2], [0, 2], [0]])

    def check_as(self, answer, wanted, trace):
        theirs = their_rows(wanted, trace)
        if isinstance(theirs, str):
            self.assertNotEqual(answer["notes"], [], f"they fail with {theirs}; a note of ours should say why")
            return
        by = wanted.get("by", [])
        ours = [{column: row[column] for column in wanted["columns"]} for row in answer["result"][wanted["table"]]]
        if "only" in wanted:
            theirs = [row for row in theirs if all(row[column] not in values for column, values in wanted["only"].items())]
        if by:
            def key(row):
                return tuple(row[column] for column in by)
            self.assertEqual(len({key(row) for row in ours}), len(ours), f"rows of ours that {by} do not tell apart")
            their_keys, our_keys = {key(row) for row in theirs}, {key(row) for row in ours}
            extra = [row for row in ours if key(row) not in their_keys and not is_zero(row, by)]
            if "only" not in wanted:
                self.assertEqual(extra, [])
            self.assertEqual([row for row in theirs if key(row) not in our_keys and not is_zero(row, by)], [])
            ours = sorted((row for row in ours if key(row) in their_keys), key=key)
            theirs = sorted((row for row in theirs if key(row) in our_keys), key=key)
        self.assertEqual(differences(ours, theirs, wanted["table"]), [])


def add_test(name, kind, golden_path, trace_path):
    @unittest.skipUnless(os.path.exists(trace_path), f"no {trace_path}")
    def test(self):
        self.check(kind, golden_path, trace_path)
    test.__name__ = name
    setattr(AnalysesTest, name, test)


def add_tests():
    for golden_path in sorted(glob.glob(os.path.join(GOLDEN, "analyses", "*", "*.json"))):
        kind = os.path.basename(os.path.dirname(golden_path))
        with open(golden_path, encoding="utf-8") as file:
            trace = path_of(json.load(file)["trace"])
        name = f"test_{kind}_{os.path.basename(golden_path).removesuffix('.json')}".replace("-", "_")
        if "*" not in trace:
            add_test(name, kind, golden_path, trace)
            continue
        for path in sorted(glob.glob(trace)) or [trace]:
            add_test(f"{name}_{os.path.basename(path).split('.')[0]}", kind, golden_path, path)


add_tests()


if __name__ == "__main__":
    unittest.main()
