"""The verbs of neuron-explorer and neuron-profile: take the real ones' flags, and no others, and leave files of the same names
and shapes. How they behave is the node's `profiler`, an object of which each key may be absent:

    version          of the program
    log              lines before the answer, on standard output
    fails_at         a verb that fails: with `fails_with`, a text on standard error, and status 1
    slow_s           sleeps before each verb's work
    no_ntff          a capture ends well and leaves none
    empty_ntff       those of a capture have no bytes
    cut_ntff         those of a capture have so many bytes
    ntff_version     in their first byte; view reads 1 to 6
    dropped          so many events of the system trace were lost
    incomplete       a text that view warns with, of the category "Missing Data"
    refuses_parquet  as neuron-profile of some versions does, which names it in its help
    calls            a file that gets a line of JSON for each call: {"program", "argv", "home", "cores"}
"""

import argparse
import json
import os
import sys
import time

import neuron_node
import neuron_profiles

FORMATS = {False: ["db", "summary-text", "summary-json", "json", "perfetto", "parquet"],
           True: ["parquet", "json", "perfetto", "summary-text", "summary-json"]}
READS_NTFF = range(1, 7)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.stderr.write(f"unknown flag or value: {message}\n{self.format_usage()}")
        sys.exit(2)


def parsers(is_explorer):
    """One for each verb."""
    capture, view, inspect = (Parser(prog=f"neuron-{'explorer' if is_explorer else 'profile'} {verb}", allow_abbrev=False)
                              for verb in ("capture", "view", "inspect"))
    capture.add_argument("-n", "--neff", required=True)
    capture.add_argument("-s", "--ntff", default="profile.ntff")
    capture.add_argument("--profile-nth-exec", type=int, default=1 if is_explorer else 0)
    capture.add_argument("--num-exec", type=int, default=None)
    for flag in ("--ignore-exec-errors", "--enable-dge-notifs", "--single-io"):
        capture.add_argument(flag, action="store_true")
    capture.add_argument("-r", "--collectives-workers-per-node", type=int, default=0)
    capture.add_argument("--collectives-worker-count", type=int, default=0)
    capture.add_argument("--collectives-worker-start-id", type=int, default=0)
    capture.add_argument("-i", "--collectives-profile-id", default="all")
    if is_explorer:
        capture.add_argument("-t", "--capture-type", choices=["profile", "systrace"], default="profile")
        capture.add_argument("--exec-mode", choices=["sync", "async", "async-wait"], default="sync")
        capture.add_argument("-m", "--multi-input")
        for flag in ("--disable-profile", "--save-output", "--check-output-determinism"):
            capture.add_argument(flag, action="store_true")
    capture.add_argument("inputs", nargs="*")
    view.add_argument("-n", "--neff")
    view.add_argument("-s", "--ntff")
    view.add_argument("-d", "--session-dir")
    view.add_argument("--output-format", choices=FORMATS[is_explorer], default=FORMATS[is_explorer][0])
    view.add_argument("--output-file")
    view.add_argument("--framework-source-root")
    flags = ["--ingest-only", "--ignore-device-profile", "--ignore-system-profile"]
    if is_explorer:
        view.add_argument("--nki-source-root")
        view.add_argument("--data-path")
        view.add_argument("--display-name")
        flags += ["--disable-ui", "--force"]
    for flag in flags:
        view.add_argument(flag, action="store_true")
    return {"capture": capture, "view": view, "inspect": inspect}


def fail(text, status=1):
    sys.stderr.write(text + "\n")
    sys.exit(status)


def do_capture(node, behaviour, flags):
    """Executes a NEFF, in name."""
    if node["devices"] == 0:
        fail('level=fatal msg="failed to capture: error: No neuron device available"')
    if not os.path.isfile(flags.neff):
        fail(f'level=fatal msg="failed to open NEFF {flags.neff}: no such file or directory"')
    for name in flags.inputs[1::2]:
        if not os.path.isfile(name):
            fail(f'level=fatal msg="failed to read input {name}: no such file or directory"')
    if len(flags.inputs) % 2:
        fail('level=fatal msg="inputs are pairs of a name and a file, error"')
    executions = flags.num_exec or 1  # as neuron-explorer
    nth = flags.profile_nth_exec
    if behaviour.get("no_ntff") or (nth and executions < nth):
        return
    stem = flags.ntff.removesuffix(".ntff")
    workers = flags.collectives_workers_per_node
    if workers:
        ranks = range(workers) if flags.collectives_profile_id == "all" else [int(flags.collectives_profile_id)]
        names = [f"{stem}_rank_{rank}" for rank in ranks]
    else:
        names = [stem]
    if nth > 1:
        names = [f"{name}_exec_{at}" for name in names for at in range(nth, executions + 1, nth)]
    for name in names:
        neuron_profiles.write_ntff(name + ".ntff", flags.neff, behaviour)


def check_pair(flags, behaviour):
    """A NEFF and an NTFF that belong together, of a version that it reads."""
    for path in (flags.neff, flags.ntff):
        if not os.path.isfile(path):
            fail(f'level=fatal msg="error: open {path}: no such file or directory"')
    version, neff_id = neuron_profiles.read_ntff(flags.ntff)
    if version not in READS_NTFF:
        fail(f'level=fatal msg="error: unsupported NTFF version {version}, supported versions are 1-6"')
    if neff_id != neuron_profiles.neff_id(flags.neff):
        fail('level=fatal msg="error: ERROR_PROCESS_INCOMPLETE: NEFF and NTFF ids differ"')
    if behaviour.get("incomplete"):
        print(f'level=warning msg="Missing Data: {behaviour["incomplete"]}"')


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def do_view(node, behaviour, flags):
    """Of a pair, or of the folder that an inspection left."""
    if flags.output_format == "db":
        fail('level=fatal msg="error: cannot connect to InfluxDB at localhost:8086"')
    if flags.output_format == "parquet" and behaviour.get("refuses_parquet"):
        fail('level=fatal msg="error: parquet is no longer supported by neuron-profile; use neuron-explorer"')
    if flags.session_dir:
        return view_folder(behaviour, flags)
    if not flags.neff or not flags.ntff:
        fail('level=fatal msg="error: view needs -n and -s, or -d"')
    check_pair(flags, behaviour)
    profile = neuron_profiles.device_profile(node, flags.neff, flags.ntff)
    if flags.output_format == "summary-json":
        print(json.dumps({"n_" + neuron_profiles.neff_id(flags.neff).hex(): profile["summary"][0]}, indent=2))
    elif flags.output_format == "json":
        write_json(flags.output_file or "ntff.json", profile)
    elif flags.output_format == "parquet":
        neuron_profiles.write_tables(flags.output_file or "parquet", profile)
    else:
        fail(f'level=fatal msg="error: the stand-in has no {flags.output_format}"')
    return None


def view_folder(behaviour, flags):
    """All that lies in it."""
    traces = [os.path.join(at, name) for at, _, names in os.walk(flags.session_dir) for name in names if name == "ntrace.pb"]
    if not traces:
        fail('level=fatal msg="error: no profiles found in the session directory"')
    events = [event for path in sorted(traces) for event in neuron_profiles.read_trace(path)]
    dropped = behaviour.get("dropped", 0)
    if dropped:
        print(f"Warning: {dropped} trace events were dropped during capture "
              f"(stored {len(events)} out of {len(events) + dropped} total events).")
    profile = neuron_profiles.system_profile(events)
    if flags.output_format == "summary-json":
        print(json.dumps({"s_0123456789abcdef": {"Trace_Events_Message_Count": len(events)}}))
    elif flags.output_format == "json":
        write_json("system_profile.json", profile)
    elif flags.output_format == "parquet":
        neuron_profiles.write_system_tables(flags.output_file or "parquet", profile)


def main(is_explorer):
    """The status to end with."""
    node = neuron_node.load_node()
    behaviour = node["profiler"]
    words = sys.argv[1:]
    if behaviour.get("calls"):
        with open(behaviour["calls"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"program": os.path.basename(sys.argv[0]), "argv": words, "home": os.environ.get("HOME"),
                                   "cores": os.environ.get("NEURON_RT_VISIBLE_CORES")}) + "\n")
    if words == ["--version"]:
        print(f"neuron-{'explorer' if is_explorer else 'profile'} {behaviour.get('version', '2.33.38.0' if is_explorer else '2.28.23.0')}%kaena")
        return 0
    verbs = parsers(is_explorer)
    if not words or words[0] not in verbs:
        fail(f"unknown command: {' '.join(words)}", 2)
    if not os.environ.get("HOME"):
        fail('level=fatal msg="error: $HOME is not defined"')
    flags = verbs[words[0]].parse_args(words[1:])
    time.sleep(behaviour.get("slow_s", 0))
    for line in behaviour.get("log", []):
        print(line)
    if behaviour.get("fails_at") == words[0]:
        fail(behaviour.get("fails_with", "level=fatal msg=\"error: it was told to fail\""))
    if words[0] == "capture":
        do_capture(node, behaviour, flags)
    elif words[0] == "view":
        do_view(node, behaviour, flags)
    return 0
