"""What bench_trace_questions says of a part, and lines of figures beside the bars that they are to be within."""

import os
import re
import subprocess

from kprof_testing import BIN


def answers(part, *options):
    """(all it printed, {question: (cold ms, warm ms)}, its lines of tiles as {(of, cold or warm): p99 ms})."""
    told = subprocess.run([os.path.join(BIN, "bench_trace_questions"), *options, part], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    asked, tiles = {}, {}
    for line in told.splitlines():
        if found := re.match(r"(.*?) *cold +([0-9.]+) ms +warm +([0-9.]+) ms(?: +[0-9]+ rows +(SELECT.*))?", line):
            asked[found.group(1) or found.group(4)] = (float(found.group(2)), float(found.group(3)))
        elif found := re.match(r"[0-9]+ (.*tiles.*), (cold|warm): .*p99 ([0-9.]+) ms", line):
            tiles[found.group(1), found.group(2)] = float(found.group(3))
    return told, asked, tiles


def row(what, value, unit, bar=None):
    verdict = "" if bar is None else f"   bar {bar:6g} {unit:4} {'ok' if value <= bar else 'MISSED'}"
    print(f"  {what:76} {value:10.2f} {unit:4}{verdict}")
