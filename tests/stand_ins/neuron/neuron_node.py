"""The node that the stand-ins of the Neuron tools describe: an object in the JSON file that KPROF_NEURON_STAND_IN names. All
keys may be missing; without the variable it is an inf2.xlarge on which nothing runs.

    tools              version of the tools: below 2.34 neuron-ls takes -j, from 2.34 on --output-format json
    chip               inf2, trn1, trn2, trn3
    instance_type, instance_id
    lnc                physical cores per logical one
    devices            how many
    memory_size        bytes of each
    runtimes           [{"pid", "tag", "command", "version", "cores": {"0": percent}, "completed", "errors": {"numerical": 1}}]; of
                       cores their numbers in the node
    ecc                {"0": {"mem_ecc_uncorrected": 1}}: of a device, what is not 0
    ls, monitor        how the tool behaves; see there
    profiler           how neuron-explorer and neuron-profile behave: neuron_program.py
"""

import json
import os

# Physical cores, bytes, and neuron-monitor's words; those of trn1, trn2 and trn3 are made like inf2's, which are known.
CHIPS = {
    "inf2": {"cores": 2, "memory_size": 32 << 30, "type": "inferentia2", "version": "v3", "core_version": "v2"},
    "trn1": {"cores": 2, "memory_size": 32 << 30, "type": "trainium1", "version": "v2", "core_version": "v2"},
    "trn2": {"cores": 8, "memory_size": 96 << 30, "type": "trainium2", "version": "v4", "core_version": "v3"},
    "trn3": {"cores": 8, "memory_size": 144 << 30, "type": "trainium3", "version": "v5", "core_version": "v4"},
}
INSTANCES = {"inf2": "inf2.xlarge", "trn1": "trn1.2xlarge", "trn2": "trn2.3xlarge", "trn3": "trn3.48xlarge"}


def load_node():
    """The node with all that it does not say filled in."""
    node = {}
    path = os.environ.get("KPROF_NEURON_STAND_IN")
    if path:
        with open(path, encoding="utf-8") as file:
            node = json.load(file)
    chip = node.setdefault("chip", "inf2")
    node.setdefault("tools", "2.28")
    node.setdefault("instance_type", INSTANCES[chip])
    node.setdefault("instance_id", "i-0123456789abcdef0")
    node.setdefault("lnc", 2 if chip in ("trn2", "trn3") else 1)
    node.setdefault("devices", 1)
    node.setdefault("memory_size", CHIPS[chip]["memory_size"])
    node.setdefault("runtimes", [])
    for key in ("ecc", "ls", "monitor", "profiler"):
        node.setdefault(key, {})
    return node


def logical_cores(node):
    """Of one device."""
    return CHIPS[node["chip"]]["cores"] // node["lnc"]
