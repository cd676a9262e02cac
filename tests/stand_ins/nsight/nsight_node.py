"""What the stand-ins of NVIDIA's tools play: a device, the kernels that a command launches, and what goes wrong.

The file that NSIGHT_STAND_IN names has an object of JSON; each key may be absent:

    version         of the tool
    launches        [{"name", "range", "duration_ns", "metrics": {NAME: VALUE}}], in their order; "range" is the
                    push/pop range around it, for ncu also a list, the outermost first; "start_end" its other ranges,
                    "after_start": true behind cudaProfilerStart
    registered      true: names of ranges are registered strings, as those of few programs are
    lacks           metrics that the device does not have, without the part behind the dot
    knows_metrics   false: --query-metrics fails
    permission      true: the driver lets nobody read counters
    report_refused  true: ncu may not write its report
    lock_refused    true: ncu cannot open its lock
    busy            how many tries find the counters in use by another tool
    autotunes       how many tries fail in the command after it has tuned itself
    no_kernels      true: nothing of what is launched gets profiled
    truncated       bytes that the report has in place of all
    slow_s          it is slow to start
    hang            it never ends, and TERM does not move it
    hang_at         an option: it hangs where that is given ("--version", "--import", "export")
    flood_bytes     it prints as much first
    no_report       true: it ends well, and leaves no report
    fails_at        an option: it ends with 1 where that is given
"""

import json
import os
import signal
import sys
import time

DEFAULT_LAUNCHES = [
    {"name": "void copy_kernel<float>(T1 *, const T1 *, int)", "range": "load", "duration_ns": 4096,
     "metrics": {"sm__throughput.avg.pct_of_peak_sustained_elapsed": 11.5,
                 "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 91.25}},
    {"name": "matmul_kernel(const __half *, const __half *, float *, int)", "range": "multiply", "duration_ns": 81920,
     "metrics": {"sm__throughput.avg.pct_of_peak_sustained_elapsed": 83.0,
                 "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 41.0}},
    {"name": "matmul_kernel(const __half *, const __half *, float *, int)", "range": "multiply", "duration_ns": 80896,
     "metrics": {"sm__throughput.avg.pct_of_peak_sustained_elapsed": 84.0,
                 "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 40.5}},
]


class Node:
    def __init__(self):
        self.path = os.environ.get("NSIGHT_STAND_IN", "")
        self.told = {}
        if self.path:
            with open(self.path, encoding="utf-8") as file:
                self.told = json.load(file)
        self.launches = self.told.get("launches", DEFAULT_LAUNCHES)

    def __getitem__(self, key):
        return self.told.get(key)

    def try_number(self):
        """1 for the first profiling with this file, then 2, ..."""
        if not self.path:
            return 1
        counter = self.path + ".tries"
        number = 1
        if os.path.exists(counter):
            with open(counter, encoding="ascii") as file:
                number = int(file.read()) + 1
        with open(counter, "w", encoding="ascii") as file:
            file.write(str(number))
        return number

    def begin(self, arguments):
        """What goes wrong before anything is done."""
        if self["hang"] or (self["hang_at"] and self["hang_at"] in arguments):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(60)
        if self["fails_at"] and self["fails_at"] in arguments:
            print("==ERROR== it was told to fail")
            sys.exit(1)

    def play(self):
        """What goes wrong while it profiles."""
        time.sleep(self["slow_s"] or 0)
        block = b"flood of the tool\n" * 4096
        for _ in range((self["flood_bytes"] or 0) // len(block) + bool(self["flood_bytes"])):
            sys.stdout.buffer.write(block)
        sys.stdout.flush()
