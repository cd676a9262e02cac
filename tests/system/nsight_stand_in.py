"""NVIDIA's ncu and nsys, as stand-ins (tests/stand_ins/nsight), for captures where no NVIDIA device is."""

import contextlib
import json
import os
import shutil

import kprof_testing

FOLDER = os.path.join(kprof_testing.ROOT, "tests", "stand_ins", "nsight")


def install(folder):
    """Copies them to where everybody can read them."""
    os.mkdir(folder, 0o755)
    writers = [os.path.join(kprof_testing.ROOT, "tests", "system", name) for name in ("ncu_report_writer.py", "perfetto_writer.py")]
    for path in [os.path.join(FOLDER, name) for name in os.listdir(FOLDER)] + writers:
        if os.path.isfile(path):
            os.chmod(shutil.copy(path, folder), 0o755)
    return folder


class Played:
    """What they play, in a file in `folder`; nsight_node.py has the keys."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "nsight.json")
        self.set()

    def set(self, **told):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(told, file)
        os.chmod(self.path, 0o644)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path + ".tries")

    @property
    def option(self):
        return ["--env", f"NSIGHT_STAND_IN={self.path}"]
