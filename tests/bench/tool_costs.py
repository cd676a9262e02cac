#!/usr/bin/python3
"""What kprofd adds around a profiler: seconds and percent, p50 of some turns. Each turn runs the profiler by itself with the options that kprofd gives
it, then `kprofctl capture` of the same command, to a finished run with its report read and its charts drawn; the two take turns. Without a
profiler of NVIDIA on this machine the tests' stand-ins run in their place, which take the time of their command and little more.

    KPROF_BIN=$PWD/build/release/bin tests/bench/tool_costs.py [--turns 20] [--seconds 1] [--tool-path FOLDER]
"""

import argparse
import os
import shutil
import subprocess

import bench_support
import nsight_stand_in
from bench_support import percentile, timed
from kprof_testing import running_daemon, temporary_folder

ALONE = {
    "ncu": ["--clock-control", "none", "--target-processes", "all", "-f", "-o", "REPORT"],
    "annotation": ["--clock-control", "none", "--target-processes", "all", "-f", "-o", "REPORT"],
    "nsys": ["profile", "--kill=none", "--force-overwrite=true", "-o", "REPORT"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--seconds", default="1", help="what the command sleeps")
    parser.add_argument("--tool-path", help="the folder of ncu and nsys")
    args = parser.parse_args()
    bench_support.print_machine()
    tools = args.tool_path or nsight_stand_in.FOLDER
    print("profilers of " + tools + ("" if args.tool_path else ", stand-ins"))
    with temporary_folder() as folder, running_daemon(environment={"KPROF_TOOL_PATH": tools}) as daemon:
        played = nsight_stand_in.Played(folder)
        daemon.ctl.environment["HOME"] = folder
        command = ["sleep", args.seconds]
        for tool, options in ALONE.items():
            program = shutil.which("nsys" if tool == "nsys" else "ncu", path=tools)
            report = [os.path.join(folder, tool) if word == "REPORT" else word for word in options]
            alone = [program, *report, *command]
            environment = {**os.environ, "NSIGHT_STAND_IN": played.path, "TMPDIR": folder}
            by_itself, through = [], []
            for turn in range(args.turns + 1):
                took, ran = timed(subprocess.run, alone, env=environment, capture_output=True, check=False)
                assert ran.returncode == 0, ran.stderr
                with_us, _ = timed(daemon.ctl.json, "capture", tool, "--device", "none", *played.option, "--", *command, cwd=folder)
                if turn > 0:  # the first one asks for metrics, and fills caches
                    by_itself.append(took)
                    through.append(with_us)
            first, second = percentile(by_itself, 50), percentile(through, 50)
            added = percentile([b - a for a, b in zip(by_itself, through)], 50)
            print(f"{tool}: alone p50 {first:.3f} s, through kprofd p50 {second:.3f} s; adds p50 {added:.3f} s, {100 * added / first:.1f} % "
                  f"({args.turns} turns)")


if __name__ == "__main__":
    main()
