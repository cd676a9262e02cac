#!/usr/bin/python3
"""A file is a Chrome trace as its format's document has it: strict JSON, no key twice, and of each event the parts that its
phase asks for, of their types. Says what is not, and exits with 1."""

import json
import sys

NUMBER = (int, float)
KNOWN = set("XBEbneiICstfMNODPv")
# Of whom nothing is asked: what a source had for a phase, as it had it.
ASYNC = set("bne")


def without_twice(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice: {keys}")
    return dict(pairs)


def no_word(word):
    raise ValueError(f"{word} is no JSON")


def why_not(event):
    if not isinstance(event, dict):
        return "no object"
    phase = event.get("ph")
    if not isinstance(event.get("args", {}), (dict, list)):
        return "args of another kind"
    if phase != "M" and not isinstance(event.get("ts"), NUMBER):
        return "no time"
    if phase is None or phase not in KNOWN:
        return None
    if "name" not in event:
        return "no name"
    if not isinstance(event.get("dur", 0), NUMBER) and phase == "X" or event.get("dur", 0) < 0:
        return "a duration that is none"
    for key in ("pid", "tid"):
        if not isinstance(event.get(key, 0), (int, str)):
            return f"{key} of another kind"
    has_id = "id" in event or "id2" in event
    if phase in "stf" and not has_id:
        return "a flow without an id"
    if phase in ASYNC and not has_id:
        return "an id is missing"
    if phase == "C" and not all(isinstance(value, NUMBER) for value in event["args"].values()):
        return "a counter that counts nothing"
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file, object_pairs_hook=without_twice, parse_constant=no_word)
    bad = [(event, reason) for event in trace["traceEvents"] if (reason := why_not(event))]
    for event, reason in bad[:10]:
        print(f"{reason}: {event}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
