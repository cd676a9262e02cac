"""What people use instead, each as a program that reads a file of trace events and asks it the three questions of
trace_peers.py: prints as JSON the seconds until they could be asked ("ready"), and of each the milliseconds of the first time
and of the five after it (their median), and of the answer a few numbers, so that all can be seen to answer the same: how many
groups there are, the sum over all of them, and the largest one.
"""

TIMED = """
import json, statistics, sys, time

def told(ready, questions):
    asked = {}
    for name, ask in questions.items():
        times = []
        for _ in range(6):
            began = time.perf_counter()
            answer = ask()
            times.append((time.perf_counter() - began) * 1e3)
        asked[name] = (times[0], statistics.median(times[1:]), answer)
    print(json.dumps({"ready": ready, "asked": asked}))
"""

PYTHON = TIMED + """
import collections
began = time.perf_counter()
events = json.load(open(sys.argv[1]))["traceEvents"]
ready = time.perf_counter() - began

def categories():
    counts = collections.Counter(event.get("cat") for event in events if event.get("ph") == "X")
    return [len(counts), sum(counts.values()), max(counts.values())]

def kernels():
    sums = collections.defaultdict(float)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "Kernel"):
            sums[event["name"]] += event.get("dur", 0)
    return [len(sums), sum(sums.values()), max(sums.values())]

def busy():
    streams = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "Kernel"):
            streams[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event.get("dur", 0)))
    union = 0
    for spans in streams.values():
        spans.sort()
        last = float("-inf")
        for begin, end in spans:
            union += max(0, end - max(begin, last))
            last = max(last, end)
    return [union]

told(ready, {"categories": categories, "kernels": kernels, "busy": busy})
"""

PANDAS = TIMED + """
import pandas
began = time.perf_counter()
events = json.load(open(sys.argv[1]))["traceEvents"]
frame = pandas.DataFrame(events, columns=["ph", "cat", "name", "pid", "tid", "ts", "dur"])
slices = frame[frame["ph"] == "X"]
ready = time.perf_counter() - began

def kernels_of():
    return slices[slices["cat"].isin(["kernel", "Kernel"])]

def busy():
    kernels = kernels_of().astype({"pid": str, "tid": str, "ts": float}).sort_values(["pid", "tid", "ts"])
    ends = kernels["ts"] + kernels["dur"]
    before = ends.groupby([kernels["pid"], kernels["tid"]]).cummax().groupby([kernels["pid"], kernels["tid"]]).shift()
    return [float((ends - kernels["ts"].where(before.isna() | (before < kernels["ts"]), before)).clip(lower=0).sum())]

def about(groups):
    return [len(groups), float(groups.sum()), float(groups.max())]

told(ready, {"categories": lambda: about(slices.groupby("cat").size()),
             "kernels": lambda: about(kernels_of().groupby("name")["dur"].sum()), "busy": busy})
"""

# For sqlite3 and DuckDB alike.
QUESTIONS = {
    "categories": "SELECT count(*), sum(c), max(c) FROM (SELECT cat, count(*) AS c FROM e WHERE ph = 'X' GROUP BY cat) t",
    "kernels": "SELECT count(*), sum(s), max(s) FROM (SELECT name, sum(dur) AS s FROM e WHERE ph = 'X' AND cat IN ('kernel', "
               "'Kernel') GROUP BY name) t",
    "busy": "SELECT sum(CASE WHEN before IS NULL OR before < ts THEN dur WHEN before < ts + dur THEN ts + dur - before ELSE 0 "
            "END) FROM (SELECT ts, dur, max(ts + dur) OVER (PARTITION BY pid, tid ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING "
            "AND 1 PRECEDING) AS before FROM e WHERE ph = 'X' AND cat IN ('kernel', 'Kernel')) t",
}

SQLITE = TIMED + f"""
import sqlite3
began = time.perf_counter()
db = sqlite3.connect(":memory:")
db.execute('''CREATE TABLE e AS SELECT value ->> 'ph' AS ph, value ->> 'cat' AS cat, value ->> 'name' AS name,
  value ->> 'pid' AS pid, value ->> 'tid' AS tid, value ->> 'ts' AS ts, value ->> 'dur' AS dur
  FROM json_each(?, '$.traceEvents')''', (open(sys.argv[1]).read(),))
ready = time.perf_counter() - began
told(ready, {{name: lambda sql=sql: db.execute(sql).fetchone() for name, sql in {QUESTIONS!r}.items()}})
"""

DUCKDB = f"""
const {{ DuckDBInstance }} = require('@duckdb/node-api');
(async () => {{
  const connection = await (await DuckDBInstance.create(':memory:', {{ threads: '2' }})).connect();
  const seconds = () => Number(process.hrtime.bigint()) / 1e9;
  const began = seconds();
  await connection.run(`CREATE TABLE e AS SELECT unnest(traceEvents, recursive := true) FROM read_json('${{process.argv[1]}}',
    maximum_object_size = 4000000000, columns = {{traceEvents:
    'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid VARCHAR, tid VARCHAR, ts DOUBLE, dur DOUBLE)[]'}})`);
  const ready = seconds() - began;
  const asked = {{}};
  for (const [name, sql] of Object.entries({QUESTIONS!r})) {{
    const times = [];
    let answer;
    for (let turn = 0; turn < 6; ++turn) {{
      const from = seconds();
      answer = (await connection.runAndReadAll(sql)).getRows()[0].map(Number);
      times.push((seconds() - from) * 1e3);
    }}
    asked[name] = [times[0], times.slice(1).sort((a, b) => a - b)[2], answer];
  }}
  console.log(JSON.stringify({{ ready, asked }}));
}})();
"""
