"""Writes traces/flash.ncu-rep: a made-up report of one kernel with samples of its instructions, for analyses/source."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
import ncu_report_writer as ncu  # noqa: E402

KERNEL = "void flash_fwd<128>(const float *, const float *, float *, int)"
MANGLED = "_Z9flash_fwdILi128EEvPKfS1_Pfi"
START = 0x7F1000000000
# Of each instruction: its line, how often it was executed, the samples by what warps waited for, and those of them without an issue.
INSTRUCTIONS = [
    (14, 4096, {"selected": 3, "wait": 2}, {"wait": 2}),
    (15, 4096, {"long_scoreboard": 6}, {"long_scoreboard": 5}),
    (18, 131072, {"long_scoreboard": 420, "selected": 30}, {"long_scoreboard": 401}),
    (19, 131072, {"math_pipe_throttle": 95, "selected": 60, "not_selected": 22}, {"math_pipe_throttle": 12}),
    (19, 131072, {"math_pipe_throttle": 80, "selected": 61}, {"math_pipe_throttle": 9}),
    (20, 131072, {"short_scoreboard": 44, "selected": 28}, {"short_scoreboard": 30}),
    (21, 4096, {"barrier": 130}, {"barrier": 130}),
    (24, 4096, {"lg_throttle": 12, "selected": 4}, {"lg_throttle": 11}),
]


def main():
    addresses = [START + 16 * i for i in range(len(INSTRUCTIONS))]
    instances = {"inst_executed": {at: executed for at, (_, executed, _, _) in zip(addresses, INSTRUCTIONS)}}
    for column, suffix in ((2, ""), (3, "_not_issued")):
        for at, row in zip(addresses, INSTRUCTIONS):
            for reason, samples in row[column].items():
                instances.setdefault(f"smsp__pcsamp_warps_issue_stalled_{reason}{suffix}", {})[at] = samples
    metrics = {"gpu__time_duration.sum": 412_000.0, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 47.5,
               "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 71.25, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 71.25,
               "lts__t_sector_hit_rate.pct": 42.0, "sm__warps_active.avg.pct_of_peak_sustained_active": 24.5}
    launch = ncu.launch(KERNEL, metrics, instances, mangled=MANGLED, function="flash_fwd", grid=(264, 1, 1), source=1)
    code = ncu.cubin({MANGLED: [("/src/flash.cu", line) for line, _, _, _ in INSTRUCTIONS]})
    path = os.path.join(ROOT, "tests", "golden", "traces", "flash.ncu-rep")
    with open(path, "wb") as file:
        file.write(ncu.report([launch], [ncu.source(1, code, {MANGLED: START})]))


if __name__ == "__main__":
    main()
