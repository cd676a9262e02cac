"""What critical-path predicts, held against traces that are edited by hand: kernels of a name take a FACTORth, and whatever had waited for them
begins sooner. The edit knows nothing of the daemon's graph: it replays the calls as one thread (threads that hand over to each other are one) and the work of its
streams. Then the edited trace is asked: it takes as long as was predicted, and it predicts the old length of the kernels' old speed."""

import bisect
import fnmatch
import gzip
import json
import os
import statistics
import unittest

import kprof_testing
from kprof_testing import DATA, DaemonTest

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


def ns(micros):
    return round(float(micros) * 1000)


def from_zero(trace):
    """A double has no room for the microseconds since 1970 and their parts."""
    first = min(event["ts"] for event in trace["traceEvents"] if event.get("ph") == "X")
    return dict(trace, traceEvents=[dict(event, ts=event["ts"] - first) if "ts" in event else event for event in trace["traceEvents"]])


def begin_of(event):
    return ns(event["ts"])


def end_of(event):
    return ns(event["ts"]) + ns(event["dur"])


class Replay:
    """A trace whose calls follow each other, with the reasons for the begin of each piece of work and the end of each wait."""

    def __init__(self, trace):
        slices = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
        self.work = sorted((event for event in slices if event.get("cat") in WORK), key=begin_of)
        self.calls = sorted((event for event in slices if event.get("cat") in CALLS), key=begin_of)
        by_correlation = {call["args"]["correlation"]: i for i, call in reversed(list(enumerate(self.calls)))}
        self.launch = [by_correlation.get(work["args"].get("correlation")) for work in self.work]
        self.before, last = [], {}
        for i, work in enumerate(self.work):
            stream = work["args"]["stream"]
            self.before.append(last.get(stream))
            if stream not in last or end_of(work) >= end_of(self.work[last[stream]]):
                last[stream] = i
        self.first_of = {}
        for i, call in enumerate(self.launch):
            if call is not None:
                self.first_of.setdefault(call, i)
        self.find_delays()
        self.event_of = {}
        self.find_events()

    def find_delays(self):
        idle, least = {}, {}
        for call, i in self.first_of.items():
            name, delay = self.calls[call]["name"], begin_of(self.work[i]) - begin_of(self.calls[call])
            if delay < 0:
                continue
            least[name] = min(delay, least.get(name, delay))
            before = self.before[i]
            if before is None or end_of(self.work[before]) <= begin_of(self.calls[call]):
                idle.setdefault(name, []).append(delay)
        usual = statistics.median_low([delay for delays in idle.values() for delay in delays] or [min(least.values())])
        self.delay = {name: statistics.median_low(idle.get(name, [min(delay, usual)])) for name, delay in least.items()}
        gaps = []
        for i, before in enumerate(self.before):
            gap = None if before is None else begin_of(self.work[i]) - end_of(self.work[before])
            if gap is not None and gap >= 0 and self.ready(i) <= end_of(self.work[before]):
                gaps.append(gap)
        self.gap = statistics.median_low(gaps or [0])

    def ready(self, i):
        """When the launch alone would have let work begin."""
        call = self.launch[i]
        begin = begin_of(self.work[i])
        if call is None or begin_of(self.calls[call]) > begin:
            return -1
        return min(begin, begin_of(self.calls[call]) + self.delay[self.calls[call]["name"]])

    def find_events(self):
        """Of work behind a cudaStreamWaitEvent, what ended right before it on another stream and had been launched before the wait."""
        waits, seen = {}, {}
        by_end = sorted(range(len(self.work)), key=lambda i: end_of(self.work[i]))
        ends = [end_of(self.work[i]) for i in by_end]
        for at, call in enumerate(self.calls):
            thread = call["tid"]
            if "StreamWaitEvent" in call["name"]:
                waits[thread] = begin_of(call)
            i = self.first_of.get(at)
            if i is None or thread not in waits:
                continue
            stream, begin, before = self.work[i]["args"]["stream"], begin_of(self.work[i]), self.before[i]
            if seen.get((thread, stream)) == waits[thread]:
                continue
            seen[thread, stream] = waits[thread]
            least = max(self.ready(i), end_of(self.work[before]) if before is not None else -1, begin - 20001)
            for of in reversed(by_end[bisect.bisect_right(ends, least):bisect.bisect_right(ends, begin)]):
                launch = self.launch[of]
                if self.work[of]["args"]["stream"] != stream and (launch is None or begin_of(self.calls[launch]) <= waits[thread]):
                    self.event_of[i] = of
                    break

    def edit(self, pattern, factor):
        """The begin of each piece of work and of each point of the thread as they would have been."""
        is_faster = {name: name == pattern or fnmatch.fnmatchcase(name, pattern) for name in {work["name"] for work in self.work}}
        self.length = [round(ns(work["dur"]) / (factor if is_faster[work["name"]] else 1)) for work in self.work]
        self.begins = [None] * len(self.work)
        launching = {self.calls[call]["tid"] for call in self.first_of}  # a watchdog's polls are on nobody's way
        points = [(end_of(call), 0, i) for i, call in enumerate(self.calls) if call["tid"] in launching]
        points += [(begin_of(call), 1, i) for i, call in enumerate(self.calls) if call["tid"] in launching]
        self.call_begins = {}
        self.points = []
        for time, is_begin, call in sorted(points):
            old, new = self.points[-1] if self.points else (time, time)
            at = new + time - old
            if is_begin:
                self.call_begins[call] = at
            else:
                at = max(at if not self.waits(call) else new + self.own_time(call, old), self.wait_end(call))
            self.points.append((time, at))
        for i in range(len(self.work)):
            self.begin(i)

    def waited_for(self, call):
        name = self.calls[call]["name"]
        end = end_of(self.calls[call])
        if "Memcpy" in name:
            own = self.first_of.get(call)
            return own if own is not None and end_of(self.work[own]) <= end else None
        if "Synchronize" not in name:
            return None
        launched = [i for i, launch in enumerate(self.launch)
                    if launch is not None and begin_of(self.calls[launch]) < begin_of(self.calls[call])]
        if not launched:  # it waits for what was launched before the trace
            launched = [i for i, launch in enumerate(self.launch)
                        if launch is None and begin_of(self.calls[call]) < end_of(self.work[i]) <= end]
        last = max(launched, key=lambda i: end_of(self.work[i]), default=None)
        if last is not None and end_of(self.work[last]) > end:  # it waits for a stream, and not for all
            last = max((i for i in launched if begin_of(self.calls[call]) < end_of(self.work[i]) <= end),
                       key=lambda i: end_of(self.work[i]), default=None)
        return last

    def waits(self, call):
        of = self.waited_for(call)
        return of is not None and end_of(self.work[of]) > begin_of(self.calls[call])

    def own_time(self, call, old):
        return min(end_of(self.calls[call]) - old, end_of(self.calls[call]) - end_of(self.work[self.waited_for(call)]))

    def wait_end(self, call):
        of = self.waited_for(call)
        if of is None or not self.waits(call):
            return -1
        return self.begin(of) + self.length[of] + end_of(self.calls[call]) - end_of(self.work[of])

    def begin(self, last):
        """Computes those that it waited for first."""
        chain = [last]
        while self.begins[chain[-1]] is None and self.before[chain[-1]] is not None:
            if chain[-1] in self.event_of:
                self.begin(self.event_of[chain[-1]])
            chain.append(self.before[chain[-1]])
        if chain[-1] in self.event_of:
            self.begin(self.event_of[chain[-1]])
        for i in reversed(chain):
            if self.begins[i] is None:
                self.begins[i] = self.begin_behind(i)
        return self.begins[last]

    def begin_behind(self, i):
        begin, ready, before = begin_of(self.work[i]), self.ready(i), self.before[i]
        causes = []
        if before is not None and end_of(self.work[before]) <= begin:
            causes.append((end_of(self.work[before]), self.begins[before] + self.length[before], begin - end_of(self.work[before]), self.gap))
        elif before is not None:
            part = (begin - begin_of(self.work[before])) / max(1, ns(self.work[before]["dur"]))
            causes.append((begin, self.begins[before] + round(part * self.length[before]), 0, 0))
        if ready >= 0:
            call = begin_of(self.calls[self.launch[i]])
            causes.append((ready, self.call_begins[self.launch[i]], begin - call, ready - call))
        if i in self.event_of:
            of = self.event_of[i]
            causes.append((end_of(self.work[of]), self.begins[of] + self.length[of], begin - end_of(self.work[of]), self.gap))
        if not causes:
            return begin
        last = max(cause[0] for cause in causes)
        which = [cause[0] for cause in causes].index(last)
        return max(new + (recorded if at == which else min(recorded, least))
                   for at, (_, new, recorded, least) in enumerate(causes))


def at_edited(points, time):
    """A time of the thread, moved as the points around it are."""
    i = bisect.bisect_right(points, (time, float("inf"))) - 1
    if i < 0:
        return time
    moved = points[i][1] + time - points[i][0]
    return min(moved, points[i + 1][1]) if i + 1 < len(points) else moved


def edited(trace, replay):
    new = {id(work): (replay.begins[i], replay.length[i]) for i, work in enumerate(replay.work)}
    processes = {call["pid"] for call in replay.calls}
    threads = {event.get("tid") for event in trace["traceEvents"] if event.get("pid") in processes and event.get("ph") == "X"}
    events = []
    for event in trace["traceEvents"]:
        if id(event) in new:
            begin, length = new[id(event)]
            event = dict(event, ts=begin / 1000, dur=length / 1000)
        elif event.get("tid") in threads and event.get("ph") == "X":
            begin, end = at_edited(replay.points, begin_of(event)), at_edited(replay.points, end_of(event))
            event = dict(event, ts=begin / 1000, dur=(end - begin) / 1000)
        elif event.get("tid") in threads and event.get("ph") == "i":
            event = dict(event, ts=at_edited(replay.points, begin_of(event)) / 1000)
        events.append(event)
    return dict(trace, traceEvents=events)


class WhatIfTest(DaemonTest):
    def ask(self, run, *options):
        result = self.ctl.json("analyze", "critical-path", run, *options)["result"]
        return result["what_if"][0] if options else result

    def check(self, file, factor):
        path = os.path.join(DATA, "kineto", file)
        if not os.path.exists(path):
            self.skipTest(f"no {path}")
        with gzip.open(path, "rt", encoding="utf-8") as opened:
            trace = json.load(opened)
        run = self.ctl.json("import", path, limit_s=4 * kprof_testing.LIMIT_S)["id"]
        name = next(row["name"] for row in self.ask(run)["names"] if row["kind"] == "device")
        self.check_trace(trace, run, name, factor)

    def check_trace(self, trace, run, name, factor, is_on_path=True):
        predicted = self.ask(run, "--faster", f"{name}={factor}")
        replay = Replay(trace)
        replay.edit(name, factor)
        with kprof_testing.temporary_folder("w-") as folder:
            after = os.path.join(folder, "edited.json")
            with open(after, "w", encoding="utf-8") as opened:
                json.dump(edited(trace, replay), opened)
            again = self.ctl.json("import", after, limit_s=4 * kprof_testing.LIMIT_S)["id"]
        total = self.ask(again)["kinds"][0]["total_ns"]
        before = predicted["total_ns"]
        (self.assertLess if is_on_path else self.assertLessEqual)(predicted["predicted_ns"], before)
        self.assertAlmostEqual(total, predicted["predicted_ns"], delta=before / 1000)
        back = self.ask(again, "--faster", f"{name}={1 / factor}")
        self.assertAlmostEqual(back["predicted_ns"], before, delta=before / 100)

    def test_kernels_of_a_host_that_waits(self):
        self.check("h100_owlv2.json.gz", 2)

    def test_kernels_of_another_vendor(self):
        self.check("mi300_owlv2.json.gz", 3)

    def test_kernels_of_graphs(self):
        self.check("mi300x_flux_rank0.json.gz", 2)

    def test_kernels_that_a_host_is_ahead_of(self):
        self.check("h100_qwen15.json.gz", 2)

    def test_kernels_that_overlap(self):
        self.check("b200_eager_rank0of8.json.gz", 2)

    def test_collectives_that_other_streams_wait_for(self):
        """Eight ranks without records of events, their backward on a thread of its own. The last one waits for nobody."""
        path = os.path.join(DATA, "kineto-8rank", "v100_dlrm_8rank.tar.gz")
        if not os.path.exists(path):
            self.skipTest(f"no {path}")
        with kprof_testing.temporary_folder("w-") as folder:
            kprof_testing.unpack(path, folder)
            for root, _, files in os.walk(folder):
                for file in sorted(files):
                    with self.subTest(file=file):
                        with open(os.path.join(root, file), encoding="utf-8") as opened:
                            trace = from_zero(json.load(opened))
                        run = self.ctl.json("import", os.path.join(root, file), limit_s=4 * kprof_testing.LIMIT_S)["id"]
                        kinds = self.ask(run)["kinds"]
                        self.assertLess(sum(row["percent"] for row in kinds if row["kind"] == "start"), 5)
                        self.check_trace(trace, run, "ncclKernel*", 2, is_on_path=not file.startswith("worker7"))


if __name__ == "__main__":
    unittest.main()
