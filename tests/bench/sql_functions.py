#!/usr/bin/python3
"""How far each function that SQL of users may call outlives a query's time limit, at the largest arguments that fit.

    KPROF_BIN=build/release/bin tests/bench/sql_functions.py [--limit-s 1] [--only NAME]

Each function is called again and again until the limit ends the query: what it takes beyond that is at most one call that
SQLite does not interrupt. The functions are those of storage/sandbox/authorizer.cc; one that has no arguments here fails.
"""

import argparse
import os
import re
import sys
import time

import bench_support
from kprof_testing import running_daemon

TEXT = "text"  # 1,000,000 letters
HALF = "half"  # 500,000 letters
BLOB = "bytes"
ARRAY = "list"  # 250,000 numbers
OBJECT = "object"  # 60,000 members
DEEP = "deep"  # 900 lists within each other

MATERIALS = f"""
  {TEXT}(v) AS MATERIALIZED (SELECT replace(hex(zeroblob(500000)), '0', 'a') || ''),
  {HALF}(v) AS MATERIALIZED (SELECT replace(hex(zeroblob(250000)), '0', 'b') || ''),
  {BLOB}(v) AS MATERIALIZED (SELECT zeroblob(500000)),
  {ARRAY}(v) AS MATERIALIZED (SELECT '[' || replace(hex(zeroblob(125000)), '0', '7,') || '7]'),
  {OBJECT}(v) AS MATERIALIZED (SELECT '{{' || replace(hex(zeroblob(30000)), '0', '"abcdefghi":1,') || '"last":2}}'),
  {DEEP}(v) AS MATERIALIZED (SELECT replace(hex(zeroblob(450)), '0', '[') || '1' || replace(hex(zeroblob(450)), '0', ']'))
"""


def of(name, material, rest=""):
    return f"{name}((SELECT v FROM {material}){rest})"


def paths(count, value=""):
    return "".join(f", '$[{200_000 + i}]'{value}" for i in range(count))


def members(count, value=""):
    return "".join(f", '$.last{i}'{value}" for i in range(count))


NUMBER = ("acos acosh asin asinh atan atanh ceil ceiling cos cosh degrees exp floor ln log10 log2 radians sin sinh sqrt tan tanh trunc "
          "abs sign round").split()
WINDOW = "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number".split()
CALLS = {name: [f"{name}(n.i + 0.5)"] for name in NUMBER}
CALLS |= {name: [of(name, TEXT)] for name in
          "length lower upper quote soundex typeof unicode likely unlikely json_quote json_valid".split()}
CALLS |= {
    "hex": [of("hex", HALF)],
    "->": [f"(SELECT v FROM {ARRAY}) -> '$[200000]'", f"(SELECT v FROM {OBJECT}) -> '$.last'"],
    "->>": [f"(SELECT v FROM {OBJECT}) ->> '$.last'"],
    "glob": [f"glob(replace(hex(zeroblob(1200)), '0', '*a') || 'c', (SELECT v FROM {TEXT}))"],
    "like": [f"like(replace(hex(zeroblob(1200)), '0', '%a') || 'c', (SELECT v FROM {TEXT}))"],
    "char": ["char(" + ",".join(["120000"] * 60) + ")"],
    "coalesce": [of("coalesce", TEXT, ", 1")],
    "ifnull": [of("ifnull", TEXT, ", 1")],
    "iif": [f"iif(1, (SELECT v FROM {TEXT}), 2)"],
    "nullif": [of("nullif", TEXT, f", (SELECT v FROM {TEXT}) || 'x'")],
    "likelihood": [of("likelihood", TEXT, ", 0.5")],
    "max": ["max(" + ",".join([f"(SELECT v FROM {TEXT})"] * 10) + ")"],
    "min": ["min(" + ",".join([f"(SELECT v FROM {TEXT})"] * 10) + ")"],
    "format": ["format('%.*c', 2000000000, 'a')", "format('%.1000000c', 'a')", "format('%.900000f', 1.0 / 3)", "format('%900000d', 5)",
               f"format('%!.900000s', (SELECT v FROM {TEXT}))", f"format('%q', (SELECT v FROM {TEXT}))"],
    "printf": ["printf('" + "%.*c" * 25 + "'" + ", 2000000000, 'a'" * 25 + ")", f"printf('%w', (SELECT v FROM {TEXT}))"],
    "instr": [of("instr", TEXT, f", (SELECT v FROM {HALF})"), of("instr", TEXT, ", substr((SELECT v FROM text), 1, 500000) || 'b'")],
    "replace": [of("replace", HALF, ", 'b', 'cc'"), of("replace", TEXT, ", substr((SELECT v FROM text), 1, 500000) || 'b', 'c'")],
    "trim": [of("trim", TEXT, ", 'xa'"), of("trim", TEXT, f", (SELECT v FROM {HALF}) || 'a'")],
    "ltrim": [of("ltrim", TEXT, f", (SELECT v FROM {HALF}) || 'a'")],
    "rtrim": [of("rtrim", TEXT, f", (SELECT v FROM {HALF}) || 'a'")],
    "random": ["random()"], "randomblob": ["randomblob(1000000)"], "zeroblob": ["zeroblob(1000000)"],
    "substr": [of("substr", TEXT, ", 900000, 90000")], "substring": [of("substring", TEXT, ", -900000, 90000")],
    "atan2": ["atan2(n.i, 3)"], "log": ["log(7, n.i)"], "mod": ["mod(n.i, 3)"], "pi": ["pi()"], "pow": ["pow(n.i, 3)"],
    "power": ["power(n.i, 3)"],
    "current_date": ["current_date"], "current_time": ["current_time"], "current_timestamp": ["current_timestamp"],
    "date": ["date('now'" + ", '+99999 months'" * 60 + ")"], "datetime": ["datetime('now'" + ", 'weekday 3'" * 60 + ")"],
    "julianday": ["julianday('now'" + ", 'localtime', 'utc'" * 30 + ")"], "time": ["time('now'" + ", '-99999999.9 seconds'" * 60 + ")"],
    "unixepoch": ["unixepoch('now'" + ", 'start of year'" * 60 + ")"],
    "strftime": ["strftime(replace(hex(zeroblob(10000)), '0', '%Y%J'), 'now')"],
    "avg": ["avg(n.i)"], "count": ["count(DISTINCT n.i)"], "sum": ["sum(n.i)"], "total": ["total(n.i)"],
    "group_concat": ["group_concat((SELECT substr(v, 1, 10000) FROM text))"],
    "json_group_array": ["json_group_array(substr((SELECT v FROM text), 1, 10000))"],
    "json_group_object": ["json_group_object(n.i, substr((SELECT v FROM text), 1, 10000))"],
    "json": [of("json", ARRAY), of("json", OBJECT), of("json", DEEP)],
    "json_array": ["json_array(" + ",".join(["substr((SELECT v FROM text), 1, 12000)"] * 60) + ")"],
    "json_array_length": [of("json_array_length", ARRAY), of("json_array_length", OBJECT, ", '$.last'")],
    "json_extract": [of("json_extract", ARRAY, paths(60)), of("json_extract", OBJECT, members(60))],
    "json_insert": [of("json_insert", ARRAY, ", '$[#]', 1" * 30), of("json_insert", OBJECT, members(30, ", 1"))],
    "json_object": ["json_object(" + ",".join(["'a', substr((SELECT v FROM text), 1, 15000)"] * 30) + ")"],
    "json_remove": [of("json_remove", ARRAY, paths(60)), of("json_remove", OBJECT, members(60))],
    "json_replace": [of("json_replace", ARRAY, paths(30, ", 1")), of("json_replace", OBJECT, members(30, ", 1"))],
    "json_set": [of("json_set", ARRAY, paths(30, ", 1")), of("json_set", OBJECT, members(30, ", 1"))],
    "json_type": [of("json_type", ARRAY, ", '$[200000]'")],
}
CALLS |= {name: [f"{name}({'n.i' if name not in ('cume_dist', 'dense_rank', 'percent_rank', 'rank', 'row_number') else ''}"
                 f"{', 5' if name == 'nth_value' else ''}) OVER (ORDER BY n.i % 1000)"] for name in WINDOW}
CALLS["ntile"] = ["ntile(1000) OVER (ORDER BY n.i)"]
OF_MANY_ROWS = {"avg", "count", "group_concat", "json_group_array", "json_group_object", "sum", "total"}


def allowed():
    with open(os.path.join(bench_support.ROOT, "storage/sandbox/authorizer.cc"), encoding="utf-8") as file:
        found = re.search(r"kAllowed\[\] = \{(.*?)\};", file.read(), re.DOTALL)
    return re.findall(r'"([^"]+)"', found[1])


def query_of(name, call):
    rows = "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    used = call if name in OF_MANY_ROWS or " OVER " in call else f"count(iif(n.i = 0, 0, {call}))"  # not once for all rows
    if " OVER " in call:
        return f"WITH RECURSIVE {MATERIALS}, {rows} SELECT count(w) FROM (SELECT {call} AS w FROM n)"
    return f"WITH RECURSIVE {MATERIALS}, {rows} SELECT {used} FROM n WHERE n.i > 0"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit-s", type=float, default=1)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    names = [name for name in allowed() if arguments.only in ("", name)]
    missing = [name for name in names if name not in CALLS]
    if missing:
        sys.exit(f"no arguments for {', '.join(missing)}")
    bench_support.print_machine()
    worst = 0
    with running_daemon() as daemon:
        print(f"{'function':<20} {'took':>8}  {'of the limit':>12}  ended as", flush=True)
        for name in names:
            for call in CALLS[name]:
                began = time.perf_counter()
                done = daemon.ctl.run("query", query_of(name, call), "--timeout", f"{arguments.limit_s}s", "--json", expect=None, limit_s=300)
                took = time.perf_counter() - began
                worst = max(worst, took / arguments.limit_s)
                how = (re.search(r'"code":\s*"(\w+)"', (done.out + done.err).decode()) or ["", "ok"])[1]
                print(f"{name:<20} {took:>7.2f}s  {took / arguments.limit_s:>12.2f}  {how}  {call[:60]}", flush=True)
    print(f"worst: {worst:.2f} of the limit")


if __name__ == "__main__":
    main()
