"""kprofctl rank-exec: ranks of a job that a launcher starts at once, each a run on its own NeuronCores, with the recorder of kernel
calls in its Python."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import kprof_testing
from kprof_testing import Daemon, temporary_folder
from neuron_stand_in import NeuronNode

RUNTIME = os.path.join(kprof_testing.ROOT, "tests", "stand_ins", "neuron", "runtime")
LIBRARY = os.path.join(kprof_testing.BIN, "libnrt_stand_in.so")
RECORDER = os.path.join(os.path.dirname(kprof_testing.BIN), "python", "kprof", "neuron.py")

# A rank that goes on only when all ranks are there, as those of a real job.
PROGRAM = """
import os, sys, time
from spike import SpikeModel
meet, ranks = sys.argv[1], int(os.environ["WORLD_SIZE"])
open(os.path.join(meet, os.environ["RANK"]), "w").close()
until = time.monotonic() + 60
while len(os.listdir(meet)) < ranks:
    if time.monotonic() > until:
        sys.exit("the other ranks did not come")
    time.sleep(0.01)
kernel = SpikeModel("kernel", nc=0)
kernel()
print("cores", os.environ["NEURON_RT_VISIBLE_CORES"])
sys.exit(int(os.environ.get("EXIT", "0")))
"""
LINE = 12
EXAMPLE = os.path.join(kprof_testing.ROOT, "docs", "examples", "torchrun_profile", "train.sh")
# torchrun --nproc-per-node N --no-python CMD ARG...
LAUNCHER = """#!/usr/bin/python3
import os, subprocess, sys
assert sys.argv[1] == "--nproc-per-node" and sys.argv[3] == "--no-python", sys.argv
count = int(sys.argv[2])
ranks = [subprocess.Popen(sys.argv[4:], env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count),
                                                 LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500"))
         for rank in range(count)]
sys.exit(max(rank.wait() for rank in ranks))
"""


class RankExecTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kprof_testing.need_programs()
        for path in (LIBRARY, RECORDER):
            if not os.path.exists(path):
                raise unittest.SkipTest(f"no {path}")

    def begin(self, **node):
        self.folder = self.enterContext(temporary_folder())
        self.node = NeuronNode(self.folder, **node)
        self.daemon = Daemon(self.folder, environment=self.node.environment)
        self.addCleanup(self.daemon.stop)
        self.daemon.start()
        self.ctl = self.daemon.ctl
        kprof_testing.wait_until(lambda: any(one["kind"] == "neuron" for one in self.ctl.json("devices")["devices"]), "the devices")
        self.write("train.py", PROGRAM)
        os.mkdir(os.path.join(self.folder, "meet"))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, rank, ranks, *options, command=None, **more):
        """As torchrun does."""
        variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": 29500, "TORCHELASTIC_RUN_ID": "none", "PYTHONPATH": RUNTIME, "KPROF_NRT_LIBRARY": LIBRARY,
                     "PYTHONDONTWRITEBYTECODE": 1, **more}
        environment = dict(self.ctl.environment, **{name: str(value) for name, value in variables.items()})
        command = command or [sys.executable, "train.py", os.path.join(self.folder, "meet")]
        return subprocess.Popen([*self.ctl.command("rank-exec", *options), "--", *command], cwd=self.folder, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ends(self, processes, expect=0):
        """What they printed."""
        texts = []
        for process in processes:
            out, err = process.communicate(timeout=2 * kprof_testing.LIMIT_S)
            self.assertEqual(process.returncode, expect, err)
            texts.append(out)
        return texts

    def runs(self, job=None):
        """By rank; without a name those of the only job."""
        runs = [self.ctl.show(run["id"]) for run in self.ctl.json("runs", *(["--label", f"job={job}"] if job else []))["runs"]]
        self.assertEqual(len({run["labels"]["job"] for run in runs}), 1)
        return {int(run["labels"]["rank"]): run for run in runs}

    def profile_of(self, run, name):
        path = os.path.join(self.folder, "got.json")
        self.ctl.run("artifacts", run["id"], "get", name, "-o", path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_ranks_run_at_once_on_their_own_cores(self):
        self.begin(chip="inf2", devices=2)
        texts = self.ends([self.start(rank, 4) for rank in range(4)])
        self.assertEqual(texts, [f"cores {rank}\n" for rank in range(4)])
        runs = self.runs()
        self.assertEqual(sorted(runs), [0, 1, 2, 3])
        self.assertEqual([runs[rank]["device"] for rank in range(4)], [["neuron0"], [], ["neuron1"], []])
        for rank, run in runs.items():
            self.assertEqual((run["state"], run["labels"]["world_size"], run["labels"]["local_rank"]), ("done", "4", str(rank)))
            profile = self.profile_of(run, f"kernel_profile_rank{rank}.json")
            [call] = profile["kernel_calls"]
            self.assertEqual((os.path.basename(call["filename"]), call["lineno"], call["kernel_name"]), ("train.py", LINE, "kernel"))
            self.assertEqual((profile["rank"], profile["scalene"]), (rank, False))
            self.assertEqual(len(json.loads(profile["events_json"])["events"]), 4)

    def test_a_rank_with_devices_of_its_own_leases_them(self):
        self.begin(chip="inf2", devices=2)
        self.assertEqual(self.ends([self.start(rank, 2) for rank in range(2)]), ["cores 0,1\n", "cores 2,3\n"])
        self.assertEqual([self.runs()[rank]["device"] for rank in range(2)], [["neuron0"], ["neuron1"]])

    def test_the_exit_code_is_the_ranks_and_the_job_has_a_name(self):
        self.begin(chip="inf2", devices=1)
        self.ends([self.start(0, 1, "--job", "night", EXIT=3)], expect=3)
        self.assertEqual(self.runs("night")[0]["exit_code"], 3)

    def test_a_rank_that_fails_is_named(self):
        self.begin(chip="inf2", devices=2)
        processes = [self.start(0, 2, "--job", "night"), self.start(1, 2, "--job", "night", EXIT=3)]
        self.assertEqual([process.wait(2 * kprof_testing.LIMIT_S) for process in processes], [0, 3])
        for process in processes:
            process.communicate()
        runs = self.runs("night")
        answer = self.ctl.json("analyze", "lines", "label:job=night")
        self.assertEqual(answer["run"], [runs[0]["id"], runs[1]["id"]])  # by rank, whichever began first
        [failed] = [reason["message"] for reason in answer["trust"] if reason["code"] == "run_failed"]
        self.assertIn("rank 1: the run failed: command_failed", failed)
        of_one = self.ctl.json("analyze", "lines", runs[1]["id"])
        self.assertIn("run_failed", [reason["code"] for reason in of_one["trust"]])

    def test_a_name_used_twice_is_its_newest_launch(self):
        self.begin(chip="inf2", devices=2)
        meet = os.path.join(self.folder, "meet")
        for _ in range(2):
            self.ends([self.start(rank, 2, "--job", "same") for rank in range(2)])
            for name in os.listdir(meet):
                os.remove(os.path.join(meet, name))
        ids = [run["id"] for run in self.ctl.json("runs")["runs"]]  # the newest first
        answer = self.ctl.json("analyze", "lines", "label:job=same")
        self.assertEqual(sorted(answer["run"]), sorted(ids[:2]))
        self.assertEqual([line["calls"] for line in answer["result"]["lines"] if line["kernel"]], [2])
        [twice] = [reason["message"] for reason in answer["trust"] if reason["code"] == "rank_twice"]
        self.assertIn("2 of 4 runs are left out", twice)
        merged = os.path.join(self.folder, "merged.json")
        said = self.ctl.run("export", "label:job=same", "--format", "scalene", "-o", merged).err.decode()
        self.assertIn("2 of 4 runs are left out", said)
        with open(merged, encoding="utf-8") as file:
            [lines] = [file["lines"] for name, file in json.load(file)["files"].items() if name.endswith("/train.py")]
        self.assertEqual([line["nc_execute_count"] for line in lines if "nc_execute_count" in line], [2])
        error = self.ctl.run("--json", "export", "label:job=same", "--format", "chrome", "-o", merged, expect="usage").error
        self.assertIn("--format scalene alone", error["message"])
        error = self.ctl.run("--json", "report", "label:job=same", expect="usage").error
        self.assertIn("kprofctl analyze lines label:K=V", error["remedy"])

    def test_what_is_no_python_program_is_captured_as_it_is(self):
        self.begin(chip="inf2", devices=1)
        process = self.start(0, 1, command=["sh", "-c", "echo $RANK of $WORLD_SIZE"])
        out, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual((process.returncode, out), (0, "0 of 1\n"))
        self.assertIn("no Python program", err)

    def test_without_scalene_no_rank_starts(self):
        self.begin(chip="inf2", devices=2)
        path = f"{kprof_testing.write_site_without(self.folder, 'scalene')}:{RUNTIME}"
        for process in [self.start(rank, 2, "--scalene", PYTHONPATH=path) for rank in range(2)]:  # none waits for the other
            _, err = process.communicate(timeout=kprof_testing.LIMIT_S)
            self.assertEqual(process.returncode, kprof_testing.EXIT["tool_missing"], err)
            self.assertIn("Scalene is not installed", err)
            self.assertIn("pip install scalene", err)
        self.assertEqual(self.ctl.json("runs")["runs"], [])

    def test_the_recorder_is_found_where_the_ranks_python_has_it(self):
        self.begin(chip="inf2", devices=1)
        alone = os.path.join(self.folder, "alone")
        os.mkdir(alone)
        kprofctl = shutil.copy(os.path.join(kprof_testing.BIN, "kprofctl"), alone)
        package = os.path.dirname(os.path.dirname(RECORDER))
        for path, expect in ((RUNTIME, kprof_testing.EXIT["tool_missing"]), (f"{RUNTIME}:{package}", 0)):
            environment = dict(self.ctl.environment, RANK="0", PYTHONPATH=path, KPROF_NRT_LIBRARY=LIBRARY, PYTHONDONTWRITEBYTECODE="1",
                               LOCAL_RANK="0", WORLD_SIZE="1")
            ran = subprocess.run([kprofctl, "--socket", self.ctl.socket, "rank-exec", "--", sys.executable, "train.py",
                                  os.path.join(self.folder, "meet")], cwd=self.folder, env=environment, capture_output=True, text=True,
                                 timeout=kprof_testing.LIMIT_S, check=False)
            self.assertEqual(ran.returncode, expect, ran.stderr)
            if expect:
                self.assertIn("PYTHONPATH", ran.stderr)
        [run] = self.ctl.json("runs")["runs"]
        self.assertEqual(len(self.profile_of(run, "kernel_profile.json")["kernel_calls"]), 1)

    def test_each_launch_is_a_job_of_its_own_and_is_asked_by_its_label(self):
        self.begin(chip="inf2", devices=2)
        self.write("torchrun.py", LAUNCHER)
        environment = dict(self.ctl.environment, PYTHONPATH=RUNTIME, KPROF_NRT_LIBRARY=LIBRARY, PYTHONDONTWRITEBYTECODE="1")
        for launch in range(2):
            meet = os.path.join(self.folder, f"meet{launch}")
            os.mkdir(meet)
            # A shell around each rank: its ranks still have one launcher.
            ran = subprocess.run([sys.executable, "torchrun.py", "--nproc-per-node", "2", "--no-python", "sh", "-c", '"$@"; exit $?', "sh",
                                  *self.ctl.command("rank-exec"), "--", sys.executable, "train.py", meet], cwd=self.folder,
                                 env=environment, capture_output=True, text=True, timeout=2 * kprof_testing.LIMIT_S, check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn("kprofctl analyze lines 'label:job=127.0.0.1:29500/", ran.stderr)
        runs = [self.ctl.show(run["id"]) for run in self.ctl.json("runs")["runs"]]
        jobs = {run["labels"]["job"] for run in runs}
        self.assertEqual((len(runs), len(jobs)), (4, 2))
        for job in jobs:
            ids = [run["id"] for run in sorted(runs, key=lambda run: run["labels"]["rank"]) if run["labels"]["job"] == job]
            answer = self.ctl.json("analyze", "lines", f"label:job={job}")
            self.assertEqual(answer["run"], ids)
            self.assertEqual([line["calls"] for line in answer["result"]["lines"] if line["kernel"]], [2])
            self.assertEqual({(line["rank"], line["calls"]) for line in answer["result"]["rank_lines"] if line["kernel"]}, {(0, 1), (1, 1)})

    def test_fewer_visible_cores_than_ranks(self):
        self.begin(chip="inf2", devices=2)
        self.write("torchrun.py", LAUNCHER)
        environment = dict(self.ctl.environment, NEURON_RT_VISIBLE_CORES="3")
        ran = subprocess.run([sys.executable, "torchrun.py", "--nproc-per-node", "2", "--no-python", *self.ctl.command("rank-exec"), "--",
                              sys.executable, "train.py", os.path.join(self.folder, "meet")], cwd=self.folder, env=environment,
                             capture_output=True, text=True, timeout=kprof_testing.LIMIT_S, check=False)
        self.assertEqual(ran.returncode, kprof_testing.EXIT["usage"], ran.stderr)
        self.assertEqual(ran.stderr.count("NEURON_RT_VISIBLE_CORES=3 names cannot be shared out to 2 ranks"), 2, ran.stderr)

    def test_the_example_of_the_docs(self):
        self.begin(chip="inf2", devices=2)
        self.write("torchrun", LAUNCHER)
        os.chmod(os.path.join(self.folder, "torchrun"), 0o755)
        environment = dict(self.ctl.environment, TORCHRUN=os.path.join(self.folder, "torchrun"), PYTHON=sys.executable,
                           PATH=f"{kprof_testing.BIN}:{os.environ['PATH']}", KPROF_SOCKET=self.ctl.socket, PYTHONPATH=RUNTIME,
                           KPROF_NRT_LIBRARY=LIBRARY, PYTHONDONTWRITEBYTECODE="1")
        ran = subprocess.run([EXAMPLE, "--nproc", "2", "--profile", "--", "train.py", os.path.join(self.folder, "meet")],
                             cwd=self.folder, env=environment, capture_output=True, text=True, timeout=2 * kprof_testing.LIMIT_S,
                             check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        runs = [self.ctl.show(run["id"]) for run in self.ctl.json("runs")["runs"]]
        self.assertEqual(len(runs), 2)
        self.assertEqual({run["labels"]["rank"] for run in runs}, {"0", "1"})
        self.assertEqual(len({run["labels"]["job"] for run in runs}), 1)

    def test_cores_that_cannot_be_shared_out(self):
        self.begin(chip="inf2", devices=1)
        process = self.start(0, 3)
        _, err = process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(process.returncode, kprof_testing.EXIT["usage"])
        self.assertIn("2 NeuronCores cannot be shared out to 3 ranks", err)


if __name__ == "__main__":
    unittest.main()
