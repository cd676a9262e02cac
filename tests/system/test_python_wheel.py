"""The wheel that deploy/build-wheel makes: pip takes it into a clean environment, where it needs Debian's grpcio and nothing else."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest
import zipfile

import kprof_testing
from kprof_testing import DaemonTest

if importlib.util.find_spec("grpc") is None:
    raise unittest.SkipTest("needs python3-grpcio")
if importlib.util.find_spec("ensurepip") is None:
    raise unittest.SkipTest("needs python3-venv")
PACKAGE = os.path.join(os.path.dirname(kprof_testing.BIN), "python")
if not os.path.isdir(os.path.join(PACKAGE, "kprof", "v1")):
    raise unittest.SkipTest(f"no package kprof in {PACKAGE}; build kprof_python")


class WheelTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = cls.enterClassContext(kprof_testing.temporary_folder("w-"))
        cls.wheel = cls.build("dist")

    @classmethod
    def build(cls, name):
        made = cls.run_program(os.path.join(kprof_testing.ROOT, "deploy", "build-wheel"), "--package", PACKAGE, "--to", os.path.join(cls.place, name))
        return made.strip()

    @classmethod
    def run_program(cls, *words, **options):
        ran = subprocess.run(words, cwd=cls.place, capture_output=True, text=True, timeout=kprof_testing.LIMIT_S * 4, check=False, **options)
        if ran.returncode != 0:
            raise AssertionError(f"{words}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def test_it_has_the_whole_package_and_no_more(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            record = wheel.read(next(name for name in names if name.endswith("/RECORD"))).decode()
        sources = os.listdir(os.path.join(kprof_testing.ROOT, "client", "python", "kprof"))
        wanted = {f"kprof/{name}" for name in sources if name.endswith(".py") or name == "py.typed"}
        self.assertLessEqual(wanted, set(names))
        self.assertIn("kprof/v1/runs_pb2_grpc.py", names)
        self.assertEqual([name for name in names if not name.endswith(".py") and not name.startswith("kprof-")], ["kprof/py.typed"])
        self.assertEqual([line.split(",")[0] for line in record.splitlines()], names)

    def test_the_same_files_are_the_same_wheel(self):
        with open(self.wheel, "rb") as one, open(self.build("again"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_pip_installs_it_where_only_debians_packages_are(self):
        environment = os.path.join(self.place, "venv")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
        self.run_program(sys.executable, "-m", "venv", "--system-site-packages", environment, env=clean)
        python = os.path.join(environment, "bin", "python")
        pip = (python, "-m", "pip", "--disable-pip-version-check")
        self.run_program(*pip, "install", "--quiet", "--no-deps", "--no-index", self.wheel, env=clean)
        program = """
import json, kprof
with kprof.session(device="cpu") as session:
    run = session.capture("event", "sleep 0.01", against="sleep 0.2", samples=10)
print(json.dumps({"place": kprof.__file__, "verdict": run.verdict, "rounds": len(session.rounds)}))
"""
        said = json.loads(self.run_program(python, "-c", program, env={**clean, "KPROF_SOCKET": self.daemon.socket}))
        self.assertTrue(said["place"].startswith(environment), said)
        self.assertEqual((said["verdict"], said["rounds"]), ("FASTER", 1))
        self.run_program(*pip, "uninstall", "--quiet", "--yes", "kprof", env=clean)
        left = [name for folder, _, names in os.walk(os.path.join(environment, "lib")) for name in names if "kprof" in folder]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
