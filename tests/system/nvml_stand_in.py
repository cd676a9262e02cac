"""NVIDIA devices of the stand-in for NVML (tests/stand_ins/nvml), for a daemon and the keepers that it starts."""

import json
import os
import subprocess

import kprof_testing

LIBRARY = os.path.join(kprof_testing.BIN, "libnvml_stand_in.so")
CONTROL = os.path.join(kprof_testing.BIN, "nvml_stand_in")


class Model:
    """Devices of these profiles ("h200,t4"), in a file in `folder` that outlives every process."""

    def __init__(self, folder, profiles="h200"):
        self.path = os.path.join(folder, "nvml.model")
        self.control("init", profiles)
        self.set("node", "permission", "all")

    def control(self, *words):
        return subprocess.run([CONTROL, self.path, *words], check=True, capture_output=True, text=True,
                              timeout=kprof_testing.LIMIT_S).stdout

    def set(self, target, *words):
        self.control("set", str(target), *[str(word) for word in words])

    def show(self, device=0):
        return json.loads(self.control("show", str(device)))

    @property
    def environment(self):
        return {"KPROF_NVML_LIBRARY": LIBRARY, "KPROF_NVML_STAND_IN": self.path}
