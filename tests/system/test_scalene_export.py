"""Profiles of Scalene with the time of Neuron devices beside each line: what was merged until now, key by key, and where
it was wrong; a profile merged twice; ranks; and that Scalene's own schema holds for what is written."""

import json
import math
import os
import unittest

from kprof_testing import DATA, OwnDaemonTest, temporary_folder

NKIPY = os.path.join(DATA, "neuron", "nkipy-pr47")
SCALENE = os.path.join(DATA, "neuron", "scalene", "profile.json")

# What the golden profiles have otherwise, and why.
CORRECTED_LINE = {
    "start_region_line", "end_region_line", "start_outermost_loop", "end_outermost_loop",  # Scalene counts lines from 1
    "n_copy_mb",  # no member of Scalene's schema
}
NUMBERS = {"nc_time_ms", "nc_percent", "nc_execute_count", "nrt_time_ms", "nrt_percent", "nc_nrt_ratio", "cpu_samples_nc_overlap_percent"}


def require_file(path):
    if not os.path.exists(path):
        raise unittest.SkipTest(f"{path} is not there (KPROF_TEST_DATA)")


def at_most(low, high):
    return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def of(kind):
    return lambda value: isinstance(value, kind)


def whole(least):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def list_of(check):
    return lambda value: isinstance(value, list) and all(map(check, value))


AMOUNT = at_most(0, math.inf)
FUNCTION = {
    "line": of(str), "lineno": of(int), "memory_samples": list_of(of(list)), "n_avg_mb": AMOUNT, "n_copy_mb_s": AMOUNT,
    "n_core_utilization": at_most(0, 1), "cpu_samples_list": list_of(of((int, float))), "n_cpu_percent_c": at_most(0, 100),
    "n_cpu_percent_python": at_most(0, 100), "n_gpu_avg_memory_mb": AMOUNT, "n_gpu_peak_memory_mb": AMOUNT, "n_gpu_percent": at_most(0, 100),
    "n_growth_mb": AMOUNT, "n_peak_mb": AMOUNT, "n_malloc_mb": AMOUNT, "n_mallocs": whole(0), "n_python_fraction": at_most(0, 1),
    "n_sys_percent": at_most(0, 100), "n_usage_fraction": at_most(0, 1)}
LINE = {**FUNCTION, "start_outermost_loop": whole(1), "end_outermost_loop": whole(1), "start_region_line": whole(1), "end_region_line": whole(1)}
FILE = {"functions": of(list), "imports": list_of(of(str)), "leaks": of(dict), "lines": of(list), "percent_cpu_time": AMOUNT}
PROFILE = {
    "alloc_samples": whole(0), "elapsed_time_sec": AMOUNT, "start_time_absolute": AMOUNT, "start_time_perf": AMOUNT,
    "entrypoint_dir": of(str), "filename": of(str), "files": of(dict), "gpu": of(bool), "gpu_device": lambda value: value in ("", "GPU", "Neuron"),
    "growth_rate": of((int, float)), "max_footprint_fname": of((str, type(None))),
    "max_footprint_lineno": lambda value: value is None or whole(1)(value), "max_footprint_mb": AMOUNT,
    "max_footprint_python_fraction": AMOUNT, "memory": of(bool), "program": of(str), "samples": list_of(list_of(AMOUNT)), "stacks": list_of(of(list))}


def faults_of(value, schema, where):
    """What Scalene 2.3's schema has against an object."""
    faults = [f"{where}: no {key}" for key in schema if key not in value]
    return faults + [f"{where}: {key} is {value[key]!r}"[:200] for key, check in schema.items() if key in value and not check(value[key])]


def faults_of_profile(profile):
    faults = faults_of(profile, PROFILE, "profile")
    for name, file in profile["files"].items():
        faults += faults_of(file, FILE, name)
        for line in file["lines"]:
            faults += faults_of(line, LINE, f"{name}:{line.get('lineno')}")
        for function in file["functions"]:
            faults += faults_of(function, FUNCTION, f"{name}, {function.get('line')}")
    return faults


def lines_of(profile, file):
    return {line["lineno"]: line for line in profile["files"][file]["lines"]}


class ScaleneExportTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def read(self, path):
        require_file(path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def write(self, name, content):
        path = os.path.join(self.files, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def merge(self, *paths):
        run = self.daemon.ctl.json("import", *paths)["id"]
        return json.loads(self.daemon.ctl.run("export", run, "--format", "scalene", "-o", "-").out)

    def nkipy(self, name):
        path = os.path.join(NKIPY, name)
        require_file(path)
        return path

    def same_file(self, profile):
        """The golden input is of /other/model.py and the kernels of /w/model.py: the tool took one for the other."""
        profile["files"] = {name.replace("/other/", "/w/"): file for name, file in profile["files"].items()}
        return profile

    def assert_as_golden(self, merged, golden):
        for name, file in golden["files"].items():
            ours = lines_of(merged, name)
            self.assertEqual(set(ours), {line["lineno"] for line in file["lines"]})
            for line in file["lines"]:
                for key, value in line.items():
                    if key in CORRECTED_LINE:
                        continue
                    with self.subTest(line=line["lineno"], key=key):
                        if key in NUMBERS:
                            self.assertAlmostEqual(ours[line["lineno"]][key], value, places=9)
                        else:
                            self.assertEqual(ours[line["lineno"]][key], value)
            functions = {one["line"]: one for one in merged["files"][name]["functions"]}
            for function in file.get("functions", ()):
                for key in NUMBERS & set(function):
                    self.assertAlmostEqual(functions[function["line"]][key], function[key], places=9, msg=key)
        for key in set(golden) - {"files"}:
            self.assertEqual(merged[key], golden[key], key)

    def test_a_merge_is_as_golden_key_by_key(self):
        scalene = self.write("scalene.json", self.same_file(self.read(self.nkipy("scalene_in.json"))))
        golden = self.same_file(self.read(self.nkipy("golden_merged_scalene.json")))
        self.assert_as_golden(self.merge(scalene, self.nkipy("kernel_profile_rank0.json")), golden)

    def test_the_program_is_the_users_and_not_the_recorder_that_ran_it(self):
        for named, expected in (("/usr/share/kprof/python/kprof/neuron.py", "/w/train.py"), ("/w/other.py", "/w/other.py")):
            profile = self.same_file(self.read(self.nkipy("scalene_in.json")))
            profile["program"] = named
            calls = dict(self.read(self.nkipy("kernel_profile_rank0.json")), program="/w/train.py")
            merged = self.merge(self.write("scalene.json", profile), self.write("kernel_profile.json", calls))
            self.assertEqual(merged["program"], expected)

    def test_kernels_alone_are_as_golden(self):
        golden = self.read(self.nkipy("golden_kernel_only.json"))
        merged = self.merge(self.nkipy("kernel_profile_rank0.json"))
        self.assert_as_golden(merged, golden)
        self.assertEqual(faults_of_profile(merged), [])

    def test_ranks_of_kernels_are_as_golden(self):
        golden = self.read(self.nkipy("golden_multi_rank.json"))
        merged = self.merge("--one-run", self.nkipy("kernel_profile_rank0.json"), self.nkipy("kernel_profile_rank1.json"))
        self.assert_as_golden(merged, golden)

    def test_cores_that_take_turns_are_half_of_the_device(self):
        begun_s, ms = 1_780_000_000, 1_000_000
        profile = self.same_file(self.read(self.nkipy("scalene_in.json")))
        profile.update(start_time_absolute=float(begun_s), start_time_perf=50.0)
        lines = profile["files"]["/w/model.py"]["lines"]
        for line in lines:
            line["cpu_samples_list"] = []
        lines[0]["cpu_samples_list"] = [50 + at / 1000 for at in (5, 15, 25, 35, 45)]  # the last one while nothing runs
        lines[1]["cpu_samples_list"] = [50.005, 50.025]
        events = [{"name": "nc_exec_running", "timestamp": begun_s * 1000 * ms + turn * 10 * ms, "duration": 10 * ms, "process_id": "7",
                   "nc_idx": turn % 2, "exec_id": turn, "device_core_idx": core} for turn in range(4) for core in range(2)]
        merged = self.merge("--one-run", self.write("scalene.json", profile), self.write("system_profile.json", {"trace_event": events}))
        first, second = (lines_of(merged, "/w/model.py")[line["lineno"]] for line in lines[:2])
        self.assertAlmostEqual(first["cpu_samples_nc_overlap_percent"], 40)
        self.assertEqual((first["cpu_samples_nc_overlap_count"], first["cpu_samples_total_count"]), (2, 5))
        self.assertAlmostEqual(second["cpu_samples_nc_overlap_percent"], 50)
        self.assertAlmostEqual(merged["cpu_samples_nc_overlap_percent_overall"], 100 * 3 / 7)

    def test_a_bare_name_is_not_the_same_file(self):
        merged = self.merge(self.nkipy("scalene_in.json"), self.nkipy("kernel_profile_rank0.json"))
        self.assertEqual(set(merged["files"]), {"/other/model.py", "/w/model.py"})
        self.assertNotIn("nc_time_ms", lines_of(merged, "/other/model.py")[10])
        self.assertEqual(lines_of(merged, "/w/model.py")[10]["nc_time_ms"], 13)

    def export(self, run, *options):
        """The profile, and the notes."""
        ran = self.daemon.ctl.run("export", run, "--format", "scalene", "-o", "-", *options)
        return json.loads(ran.out), ran.err.decode()

    def test_where_no_file_is_in_both_it_says_so_and_how_to_map_them(self):
        run = self.daemon.ctl.json("import", self.nkipy("scalene_in.json"), self.nkipy("kernel_profile_rank0.json"))["id"]
        _, said = self.export(run)
        self.assertIn("no file that calls kernels is among the 1 files of the Scalene profile (/other/model.py)", said)
        self.assertIn("--map-path /other=/w", said)
        merged, said = self.export(run, "--map-path", "/other=/w")
        self.assertEqual((said, set(merged["files"])), ("", {"/other/model.py"}))
        self.assertEqual(lines_of(merged, "/other/model.py")[10]["nc_time_ms"], 13)
        _, said = self.export(run, "--map-path", "/oth=/w")  # no whole step
        self.assertIn("--map-path /other=/w", said)
        self.assertIn("--map-path /oth=/w changes nothing: no path of the Scalene profile begins so", said)

    def test_relative_paths_of_a_profile_that_tells_no_folder(self):
        profile = self.read(self.nkipy("scalene_in.json"))
        profile.pop("entrypoint_dir", None)
        profile["files"] = {"model.py": profile["files"]["/other/model.py"]}
        run = self.daemon.ctl.json("import", self.write("scalene.json", profile), self.nkipy("kernel_profile_rank0.json"))["id"]
        self.assertIn("--map-path .=/w", self.export(run)[1])
        merged, said = self.export(run, "--map-path", ".=/w")
        self.assertEqual((said, set(merged["files"])), ("", {"model.py"}))

    def test_a_profile_without_times_of_samples_says_what_is_not_known(self):
        profile = self.same_file(self.read(self.nkipy("scalene_in.json")))
        for line in profile["files"]["/w/model.py"]["lines"]:
            line.pop("cpu_samples_list", None)
        run = self.daemon.ctl.json("import", self.write("scalene.json", profile), self.nkipy("kernel_profile_rank0.json"))["id"]
        self.assertIn("has no times of its samples", self.export(run)[1])

    def test_paths_are_mapped_for_scalene_alone(self):
        run = self.daemon.ctl.json("import", self.nkipy("kernel_profile_rank0.json"))["id"]
        for options in (("scalene", "--map-path", "/a"), ("chrome", "--map-path", "/a=/b")):
            self.daemon.ctl.run("export", run, "-o", "-", "--format", *options, expect="usage")

    def test_a_path_with_steps_is_the_same_file(self):
        profile = self.read(self.nkipy("scalene_in.json"))
        profile["entrypoint_dir"] = "/w"
        profile["files"] = {"lib/../model.py": profile["files"]["/other/model.py"]}
        merged = self.merge(self.write("scalene.json", profile), self.nkipy("kernel_profile_rank0.json"))
        self.assertEqual(set(merged["files"]), {"lib/../model.py"})

    def test_a_merged_profile_merged_again_is_the_same(self):
        scalene = self.write("scalene.json", self.same_file(self.read(self.nkipy("scalene_in.json"))))
        kernels = self.nkipy("kernel_profile_rank0.json")
        first = self.merge(scalene, kernels)
        self.assertEqual(self.merge(self.write("again.json", first), kernels), first)

    def test_a_real_profile_stays_as_it_was_beside_what_is_added(self):
        profile = self.read(SCALENE)
        profile.update(start_time_absolute=999.99, start_time_perf=50.0)  # of the old form, which lacks them
        name = next(iter(profile["files"]))
        kernels = self.read(self.nkipy("kernel_profile_rank0.json"))
        known = next(line["lineno"] for line in profile["files"][name]["lines"])
        for call in kernels["kernel_calls"]:
            call.update(filename=name, lineno=known)
        merged = self.merge(self.write("scalene.json", profile), self.write("kernel_profile.json", kernels))
        for key, value in profile.items():
            if key not in ("files", "args"):  # command lines have secrets
                self.assertEqual(merged[key], value, key)
        for file, content in profile["files"].items():
            for old, new in zip(content["lines"], merged["files"][file]["lines"], strict=True):
                self.assertEqual({key: new[key] for key in old}, old)
        self.assertEqual(lines_of(merged, name)[known]["nc_time_ms"], 16)

    def test_a_web_page_with_braces_in_its_source_is_read(self):
        profile = self.same_file(self.read(self.nkipy("scalene_in.json")))
        profile["files"]["/w/model.py"]["lines"][0]["line"] = 'print("}{ \\" }")'
        page = "<!DOCTYPE html>\n<html><head><title>Scalene</title><script>const profile = " + json.dumps(profile) + ";\nshow(profile);</script></html>\n"
        merged = self.merge(self.write("profile.html", page), self.nkipy("kernel_profile_rank0.json"))
        line = lines_of(merged, "/w/model.py")[10]
        self.assertEqual((line["line"], line["nc_time_ms"]), ('print("}{ \\" }")', 13))

    def test_what_has_neither_is_refused(self):
        trace = self.write("trace.json", {"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "name": "a"}]})
        run = self.daemon.ctl.json("import", trace)["id"]
        said = self.daemon.ctl.run("export", run, "--format", "scalene", "-o", "-", expect="usage").err.decode()
        self.assertIn("neither a profile of Scalene nor", said)
