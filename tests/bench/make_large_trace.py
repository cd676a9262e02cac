#!/usr/bin/python3
"""Makes a large Chrome trace of a real one: its events again and again, each time later by the length of the whole, and
with numbers of their own (correlations, flow ids, indexes), written as they are written there.

    tests/bench/make_large_trace.py SOURCE.json[.gz] TARGET.json [--times 10]
"""

import argparse
import gzip
import re

NUMBERS = re.compile(rb'"(ts|correlation|External id|external id|id|Ev Idx|Python id|Python parent id|Record function id)"'
                     rb'(\s*:\s*)(-?[0-9]+)')


def events_of(text):
    """Where the list of events begins and ends."""
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
    depth, at = 1, begin
    for match in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[\]]', text[begin:]):
        bracket = match.group()
        if bracket == b"[":
            depth += 1
        elif bracket == b"]":
            depth -= 1
            if depth == 0:
                at = begin + match.start()
                break
    return begin, at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    opened = gzip.open if arguments.source.endswith(".gz") else open
    with opened(arguments.source, "rb") as file:
        text = file.read()
    begin, end = events_of(text)
    events = text[begin:end].strip()
    numbers = [(match.group(1), int(match.group(3))) for match in NUMBERS.finditer(events)]
    times = [value for key, value in numbers if key == b"ts" and value > 0]
    span = max(times) - min(times) + 1000
    ids = max(value for key, value in numbers if key != b"ts") + 1

    with open(arguments.target, "wb") as file:
        file.write(text[:begin] + b"\n")
        for copy in range(arguments.times):
            def moved(match, copy=copy):
                by = span if match.group(1) == b"ts" else ids
                return b'"%b"%b%d' % (match.group(1), match.group(2), int(match.group(3)) + copy * by)

            if copy > 0:
                file.write(b",\n")
            file.write(NUMBERS.sub(moved, events) if copy > 0 else events)
        file.write(b"\n" + text[end:])


if __name__ == "__main__":
    main()
