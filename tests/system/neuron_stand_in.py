"""A node with Neuron devices of the stand-ins (tests/stand_ins/neuron), for a daemon: its tools, what they say, and the
driver's tree in sysfs. Each can be there or not, and come later."""

import json
import os
import shutil
import subprocess

import kprof_testing

STAND_INS = os.path.join(kprof_testing.ROOT, "tests", "stand_ins", "neuron")
TOOLS = ("neuron-ls", "neuron-monitor")
PROGRAMS = ("neuron-explorer", "neuron-profile")


def install_programs(folder, programs=PROGRAMS):
    """Those that capture and view, to where everybody can read them; also neuron_workload.py. Returns the folder."""
    os.mkdir(folder, 0o755)
    for name in os.listdir(STAND_INS):
        if name in programs or (name.endswith(".py") and name != "make_sysfs.py"):
            os.chmod(shutil.copy(os.path.join(STAND_INS, name), folder), 0o755)
    return folder


class NeuronNode:
    """The tools are in `tools`, copied there as they are; the tree is at its place in a sysfs of its own."""

    def __init__(self, folder, tools=TOOLS, driver=None, **node):
        self.folder = folder
        self.tools = os.path.join(folder, "neuron-tools")
        self.sysfs = os.path.join(folder, "sys")
        self.node_path = os.path.join(folder, "neuron-node.json")
        os.mkdir(self.tools)
        shutil.copy(os.path.join(STAND_INS, "neuron_node.py"), self.tools)
        self.describe(**node)
        for tool in tools:
            self.install(tool)
        if driver:
            self.load_driver(driver)

    @property
    def tree(self):
        return os.path.join(self.sysfs, "devices", "virtual", "neuron_device")

    @property
    def environment(self):
        return {"KPROF_NEURON_BIN": self.tools, "KPROF_NEURON_SYSFS": self.tree, "KPROF_NEURON_STAND_IN": self.node_path}

    def describe(self, **node):
        """What the tools say from now on: neuron_node.py. In one step, as one may be reading."""
        with open(self.node_path + ".new", "w", encoding="utf-8") as file:
            json.dump(node, file)
        os.rename(self.node_path + ".new", self.node_path)

    def install(self, tool):
        shutil.copy(os.path.join(STAND_INS, tool), os.path.join(self.tools, tool + ".new"))
        os.rename(os.path.join(self.tools, tool + ".new"), os.path.join(self.tools, tool))

    def remove(self, tool):
        os.unlink(os.path.join(self.tools, tool))

    def load_driver(self, version, *options):
        made = os.path.join(self.folder, "made")
        subprocess.run(["/usr/bin/python3", os.path.join(STAND_INS, "make_sysfs.py"), made, "--driver", version, *options],
                       check=True, timeout=kprof_testing.LIMIT_S)
        os.makedirs(os.path.dirname(self.tree), exist_ok=True)
        os.makedirs(os.path.join(self.sysfs, "module"), exist_ok=True)
        shutil.rmtree(os.path.join(self.sysfs, "module", "neuron"), ignore_errors=True)
        os.rename(os.path.join(made, "module"), os.path.join(self.sysfs, "module", "neuron"))
        os.rename(os.path.join(made, "neuron_device"), self.tree)

    def unload_driver(self):
        shutil.rmtree(self.sysfs)

    def write_count(self, path, value):
        """A counter of the driver's: "neuron0/stats/hardware/mem_ecc_uncorrected"."""
        with open(os.path.join(self.tree, path), "w", encoding="utf-8") as file:
            file.write(f"{value}\n")
