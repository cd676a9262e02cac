#!/usr/bin/python3
"""A program that uses the Neuron runtime, as a capture's command: does what the framework and the runtime do by its variables,
so that a test sees that they reached it.

    neuron_workload.py [--kernels A,B] [--executions N] [--empty NAME,...] [--no-trace] [--exit N]

With NEURON_FRAMEWORK_DEBUG=1 it leaves a NEFF for each kernel in its folder, as a compilation does; with
NEURON_RT_INSPECT_ENABLE=1 the runtime's traces in NEURON_RT_INSPECT_OUTPUT_DIR. `--empty`: files of the trace without bytes.
"""

import argparse
import os
import sys
import time

sys.dont_write_bytecode = True  # this folder is the source's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import neuron_profiles


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", default="attention")
    parser.add_argument("--executions", type=int, default=3)
    parser.add_argument("--empty", default="")
    parser.add_argument("--no-trace", action="store_true")
    parser.add_argument("--exit", type=int, default=0)
    flags = parser.parse_args()
    print("loss 0.25")
    if os.environ.get("NEURON_FRAMEWORK_DEBUG") == "1":
        for at, kernel in enumerate(flags.kernels.split(",")):
            time.sleep(0.02 * (at > 0))  # one is the newest
            neuron_profiles.write_neff(f"MODULE_SyncTensorsGraph.{at}_{kernel}.neff", kernel)
        with open("compiled.env", "w", encoding="utf-8") as file:
            for name in ("NEURON_CC_FLAGS", "NKI_DEBUG_INFO", "XLA_IR_DEBUG", "XLA_HLO_DEBUG", "KPROF_TOOL_PATH"):
                file.write(f"{name}={os.environ.get(name, '')}\n")
    if os.environ.get("NEURON_RT_INSPECT_ENABLE") == "1" and not flags.no_trace:
        events = neuron_profiles.runtime_events(flags.executions, 1_700_000_000_000_000_000, os.getpid())
        place = neuron_profiles.write_trace(os.environ["NEURON_RT_INSPECT_OUTPUT_DIR"], events, os.getpid())
        with open(os.path.join(place, "inspect.env"), "w", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in sorted(os.environ.items()) if name.startswith("NEURON_RT_"))
        for name in filter(None, flags.empty.split(",")):
            with open(os.path.join(place, name), "w", encoding="utf-8"):
                pass
        if os.environ.get("NEURON_RT_INSPECT_DEVICE_PROFILE") in ("1", "model", "session"):
            neff = os.path.join(place, "neff_10001.neff")
            neuron_profiles.write_neff(neff, "attention")
            neuron_profiles.write_ntff(os.path.join(place, "10001_instid_0_vnc_0.ntff"), neff, {})
    return flags.exit


sys.exit(main())
