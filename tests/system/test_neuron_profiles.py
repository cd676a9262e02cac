"""Device profiles of NeuronCores: made ones in JSON and in Parquet give equal answers, which are the profiler's own numbers; real
counters follow our formulas; broken files are refused or read as far as they go."""

import json
import os
import random
import re
import unittest

import neuron_profile_writer as writer
from kprof_testing import DATA, OwnDaemonTest, temporary_folder

KINDS = ("engines", "instructions", "dma", "neuron-bounds", "findings", "summary")
NEURON = os.path.join(DATA, "neuron")


class NeuronProfilesTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def path(self, name):
        return os.path.join(self.files, name)

    def imported(self, path, *options):
        """The id of its run."""
        return self.daemon.ctl.json("import", *options, path)["id"]

    def refused(self, path):
        return self.daemon.ctl.run("--json", "import", path, expect="bad_input").err.decode()

    def answer(self, kind, run, *options):
        return self.daemon.ctl.json("analyze", kind, run, *options)

    def without_run(self, value, run):
        return json.loads(json.dumps(value).replace(run, "RUN"))

    def json_run(self, profile, **how):
        path = self.path("p%d.json" % random.randrange(1 << 40))
        writer.write_json(profile, path, **how)
        return self.imported(path)

    def parquet_run(self, profile, **how):
        folder = self.path("q%d" % random.randrange(1 << 40))
        writer.write_folder(profile, folder, **how)
        return self.imported(folder)

    def test_json_and_parquet_of_the_same_rows_give_equal_answers(self):
        forms = [{}, {"codec": "zstd", "encoding": "delta"}, {"codec": "gzip", "encoding": "delta_length", "version": 2},
                 {"codec": "lz4_raw", "encoding": "split"}, {"codec": "none", "encoding": "runs", "version": 2, "page_rows": 7, "group_rows": 100}]
        for seed, form in enumerate(forms):
            with self.subTest(form=form):
                profile = writer.Profile(seed, 400, debug=True)
                of_json, of_parquet = self.json_run(profile, shuffle=seed), self.parquet_run(profile, **form)
                for kind in KINDS:
                    one = self.without_run(self.answer(kind, of_json)["result"], of_json)
                    other = self.without_run(self.answer(kind, of_parquet)["result"], of_parquet)
                    for answer in (one, other):  # the tables made here do not say the NEFF's name
                        for row in answer.get("findings", []) + answer.get("neuron_profiles", []):
                            row.pop("kernel")
                    self.assertEqual(one, other, kind)

    def test_sums_are_the_profilers_own(self):
        for seed in range(6):
            profile = writer.Profile(seed, 300 + 100 * seed)
            run = self.json_run(profile, shuffle=seed)
            result = self.answer("engines", run)["result"]
            self.assertEqual(result["total_ns"], round(profile.summary["total_time"] * 1e9))
            work = 0
            for row in result["engines"]:
                work += row["work_instructions"]
                # Each row of work is cut by less than a ns, at its begin and in its duration.
                self.assertLessEqual(abs(row["difference_ns"]), row["work_instructions"] + 1, row)
                self.assertEqual(row["instructions"], profile.summary[row["engine"] + "_engine_instruction_count"])
                self.assertGreater(row["rows_ns"], 2 * row["active_ns"])
            dma = result["dma"][0]
            self.assertLessEqual(abs(dma["difference_ns"]), dma["packets"] + 1)
            for row in result["counters"]:
                if row["summary_value"] is None or row["value"] is None:
                    continue
                if row["unit"] == "ns":
                    self.assertLessEqual(abs(row["difference"]), work + dma["packets"] + 1, row)
                else:
                    self.assertEqual(row["difference"], 0, row)
            for row in result["utilization"]:
                if row["summary_value"] is not None:
                    self.assertAlmostEqual(row["value"] / max(row["summary_value"], 1e-12), 1, places=3, msg=row)

    def test_overlaps_are_those_of_the_rows(self):
        profile = writer.Profile(3, 500)
        result = self.answer("engines", self.json_run(profile))["result"]
        cut = lambda rows: [(r["start"] // 1000, r["start"] // 1000 + r["duration"] // 1000) for r in rows]
        work = {e.lower(): cut([r for r in profile.instructions if r["engine"] == e and r["opcode"] != "EVENT_SEMAPHORE"]) for e in writer.ENGINES}
        work["dma"] = cut([r for r in profile.dma if not r["aggregated"]])
        for row in result["overlaps"]:
            one, other = work[row["engine"]], work[row["other"]]
            self.assertEqual(row["overlap_ns"], writer.union(one) + writer.union(other) - writer.union(one + other), row)
        compute = sum((work[e.lower()] for e in writer.ENGINES), [])
        dma = result["dma"][0]
        self.assertEqual(dma["unhidden_ns"], writer.union(compute + work["dma"]) - writer.union(compute))
        self.assertEqual(dma["hidden_ns"] + dma["unhidden_ns"], dma["active_ns"])
        self.assertEqual(result["active_ns"], writer.union(compute + work["dma"]))

    def test_picoseconds_give_the_same_answers(self):
        profile = writer.Profile(8, 300, debug=True)
        in_ns, in_ps = self.json_run(profile), self.json_run(profile, picoseconds=True, shuffle=4)
        for kind in KINDS:
            self.assertEqual(self.without_run(self.answer(kind, in_ns)["result"], in_ns), self.without_run(self.answer(kind, in_ps)["result"], in_ps), kind)

    def test_instructions_are_found_by_their_source(self):
        profile = writer.Profile(2, 400, debug=True)
        for run in (self.json_run(profile), self.parquet_run(profile)):
            work = [r for r in profile.instructions if r["opcode"] != "EVENT_SEMAPHORE"]
            with_source = [r for r in work if "source" in r]
            found = self.answer("instructions", run, "--source", "/./")["result"]
            self.assertEqual((found["instructions"], found["with_source"]), (len(with_source), len(with_source)))
            lines = {f'{row["file"]}:{row["line"]}': (row["count"], row["sum_ns"]) for row in found["lines"]}
            expected = {}
            for row in with_source:
                count, ns = expected.get(row["source"], (0, 0))
                expected[row["source"]] = (count + 1, ns + row["duration"] // 1000)
            self.assertEqual(lines, expected)
            self.assertEqual(self.answer("instructions", run, "--source", "model.py")["result"]["instructions"], sum("model.py" in r["source"] for r in with_source))
            pattern = r"(model|kernels/attention)\.py:1[2-4]$"
            self.assertEqual(self.answer("instructions", run, "--source", f"/{pattern}/")["result"]["instructions"], sum(bool(re.search(pattern, r["source"])) for r in with_source))
            slowest = self.answer("instructions", run, "--slowest", "1")["result"]["slowest"]
            self.assertEqual([row["duration_ns"] for row in slowest], [max(r["duration"] // 1000 for r in work)])
            begin, end = 20_000, 60_000
            chosen = self.answer("instructions", run, "--from", str(begin), "--to", str(end))["result"]
            clipped = 0
            for row in work:
                start, stop = row["start"] // 1000, row["start"] // 1000 + row["duration"] // 1000
                clipped += max(0, min(stop, end) - max(start, begin))
            self.assertEqual(chosen["work_ns"], clipped)

    def test_frames_lead_to_lines(self):
        columns = {
            "Instruction": [("id", "int64", [1, 2, 3, 4]), ("start_ts", "int64", [0, 10, 20, 30]), ("duration_ns", "int64", [5, 6, 7, 8]),
                            ("engine", "text", ["Tensor"] * 4), ("opcode", "text", ["MATMUL"] * 4),
                            ("stack_frame_ids", "list", [[7], [99, 8], None, None]), ("kernel_instruction_name", "text", [None, None, "k1", "k9"])],
            "StackFrame": [("id", "text", ["7", "8"]), ("file_location_id", "int32", [1, None]), ("parent_frame_id", "text", [None, "7"])],
            "StackFrameFileLocation": [("id", "text", ["1"]), ("file_name_id", "int32", [4]), ("function_name_id", "int32", [5]), ("line_number", "int32", [33])],
            "StackFrameFileName": [("id", "text", ["4"]), ("name", "text", ["/w/model.py"])],
            "KernelInstructions": [("kernel_instruction_name", "text", ["k1", "k1"]), ("stack_frame_id", "int64", [1, 2]),
                                   ("stack_frame_depth", "int64", [0, 1]), ("file_path", "text", ["outer.py", "kernel.py"]), ("line_number", "int64", [1, 44])],
        }
        folder = self.path("frames")
        os.makedirs(folder)
        for table, of in columns.items():
            writer.write_parquet(os.path.join(folder, table + ".parquet"), of)
        lines = self.answer("instructions", self.imported(folder))["result"]["lines"]
        self.assertEqual({(row["file"], row["line"]): row["sum_ns"] for row in lines}, {("/w/model.py", 33): 11, ("kernel.py", 44): 7})

    def test_a_first_execution_is_said_to_be_one(self):
        for cold, codes in ((True, ["cold_start"]), (False, [])):
            answer = self.answer("engines", self.json_run(writer.Profile(1, 300, cold=cold)))
            self.assertEqual([one["code"] for one in answer["trust"] if one["code"] == "cold_start"], codes)

    def test_dma_without_packets_is_unknown_and_not_zero(self):
        profile = writer.Profile(1, 300)
        profile.dma = [row for row in profile.dma if row["aggregated"]]
        run = self.json_run(profile)
        self.assertIsNone(self.answer("engines", run)["result"]["dma"][0]["active_ns"])
        bounds = {row["bound"]: row for row in self.answer("neuron-bounds", run)["result"]["bounds"]}
        self.assertIsNone(bounds["memory_bound"]["ns"])
        self.assertIn("packets", bounds["memory_bound"]["unknown_because"])
        self.assertIsNone(bounds["perfect_pipeline"]["ns"])
        answer = self.answer("neuron-bounds", run)
        self.assert_nulls_are_explained(answer["result"])
        self.assertTrue(any("bn_speedup is not known" in note and "packets" in note for note in answer["notes"]), answer["notes"])
        self.assertIsNotNone(bounds["compute_bound"]["ns"])
        self.assertIn("neuron_exposed_dma", [row["code"] for row in self.answer("findings", run)["result"]["not_evaluated"]])

    def test_two_cores_are_kept_apart(self):
        profile = writer.Profile(1, 200)
        folder = self.path("cores")
        os.makedirs(folder)
        for table, columns in profile.tables().items():
            if table in ("Instruction", "DmaPacket"):
                doubled = [(name, kind, values + values) for name, kind, values in columns if name != "pcore_idx"]
                rows = len(columns[0][2])
                doubled.append(("pcore_idx", "int64", [0] * rows + [1] * rows))
                columns = doubled
            writer.write_parquet(os.path.join(folder, table + ".parquet"), columns)
        run = self.imported(folder)
        engines = self.answer("engines", run)["result"]["engines"]
        self.assertEqual(sorted({row["core"] for row in engines}), [0, 1])
        self.assertEqual(len(engines), 10)
        one = self.answer("engines", run, "--core", "1")["result"]
        self.assertEqual([row["active_ns"] for row in one["engines"]], [row["active_ns"] for row in engines if row["core"] == 0])
        bounds = self.answer("neuron-bounds", run)["result"]["bounds"]
        self.assertEqual([row["ns"] for row in bounds if row["core"] == 0][3], [row["ns"] for row in bounds if row["core"] == 1][3])

    def assert_nulls_are_explained(self, result):
        for table in ("bounds", "gaps", "changes", "cores"):
            for row in result[table]:
                numbers = [value for name, value in row.items() if name in ("ns", "bound_ns", "speedup", "beyond_overlap", "bn_speedup", "tensor_peak", "dma_peak")]
                self.assertEqual(None in numbers, row["unknown_because"] is not None, row)

    def test_each_of_two_cores_has_its_own_share_of_bytes(self):
        profile = writer.Profile(5, 300)
        # The second core has the transfers of the first queue, and the packets of these.
        second = {row["id"] for row in profile.dma if row["aggregated"] and row["queue"].endswith("0")}
        core_of = lambda row: int((row["id"] if row["aggregated"] else row["of"]) in second)
        tables = profile.tables()
        for table, rows in (("DmaPacket", [r for r in profile.dma if not r["aggregated"]]), ("DmaPacketAggregated", [r for r in profile.dma if r["aggregated"]])):
            tables[table].append(("pcore_idx", "int64", [core_of(row) for row in rows]))
        tables["Instruction"].append(("pcore_idx", "int64", [i % 2 for i in range(len(tables["Instruction"][0][2]))]))
        folder = self.path("shares")
        os.makedirs(folder)
        for table, columns in tables.items():
            writer.write_parquet(os.path.join(folder, table + ".parquet"), columns)
        answer = self.answer("neuron-bounds", self.imported(folder))
        bounds = {(row["core"], row["bound"]): row for row in answer["result"]["bounds"]}
        self.assertIsNone(answer["result"]["bn_speedup"])
        self.assertTrue(any("table cores" in note for note in answer["notes"]), answer["notes"])
        self.assertEqual([row["core"] for row in answer["result"]["cores"]], [0, 1])
        self.assert_nulls_are_explained(answer["result"])
        for core in (0, 1):
            transfers = [row for row in profile.dma if row["aggregated"] and core_of(row) == core]
            self.assertTrue(transfers)
            moved = {}
            for row in transfers:
                if row["type"] != "instruction":
                    moved[row["variable"]] = moved.get(row["variable"], 0) + row["bytes"]
            necessary = sum(min(t["size"], moved.get(t["variable"], 0)) for t in profile.tensors)
            self.assertGreater(necessary, 0)
            self.assertAlmostEqual(bounds[core, "memory_bound_ideal"]["ns"], sum(row["bytes"] for row in transfers) / writer.DMA * 1e9, places=3)
            self.assertAlmostEqual(bounds[core, "memory_bound_ideal_no_reloads"]["ns"], necessary / writer.DMA * 1e9, places=3)
            self.assertIn("what this core moved", bounds[core, "memory_bound_ideal_no_reloads"]["basis"])

    def test_folders_of_ranks_are_one_run_each_of_its_rank(self):
        for rank in (0, 1):
            writer.write_folder(writer.Profile(rank, 100), self.path(f"job/rank{rank}"))
        run = self.imported(self.path("job"))
        engines = self.answer("engines", run)["result"]["engines"]
        self.assertEqual(sorted({row["rank"] for row in engines}), [0, 1])
        self.assertEqual(len(engines), 10)
        self.assertEqual({row["rank"] for row in self.answer("engines", run, "--rank", "1")["result"]["engines"]}, {1})

    def test_broken_parquet_files_are_refused_or_read_as_far_as_they_go(self):
        whole = self.path("Instruction.parquet")
        writer.write_parquet(whole, writer.Profile(1, 3000).tables()["Instruction"], group_rows=500)
        with open(whole, "rb") as file:
            content = bytearray(file.read())
        cut = self.path("cut/Instruction.parquet")
        os.makedirs(os.path.dirname(cut))
        for size in (3, 11, 100, len(content) // 2, len(content) - 1):
            with open(cut, "wb") as file:
                file.write(content[:size])
            self.refused(cut)
        # The pages of a later row group are damaged: what stands before them is read.
        damaged = bytearray(content)
        for at in range(len(content) // 2, len(content) // 2 + 4000):
            damaged[at] ^= 0x5A
        with open(cut, "wb") as file:
            file.write(damaged)
        run = self.imported(cut)
        count = self.answer("instructions", run)["result"]["instructions"]
        self.assertTrue(0 < count < 3000, count)
        self.assertIn("it is read up to row", json.dumps(self.daemon.ctl.json("show", run)))
        rng = random.Random(7)
        for _ in range(15):
            hostile = bytearray(content[-2500:] if len(content) < 4000 else content)
            for _ in range(20):
                hostile[rng.randrange(4, len(hostile) - 8)] = rng.randrange(256)
            with open(cut, "wb") as file:
                file.write(hostile)
            ran = self.daemon.ctl.run("--json", "import", "--again", cut, expect=None)
            if ran.code != 0:
                self.assertEqual(ran.error["code"], "bad_input", ran)

    def test_wrong_files_are_told(self):
        other = self.path("other.parquet")
        writer.write_parquet(other, [("a", "int64", [1, 2]), ("b", "text", ["x", "y"])])
        self.assertIn("neither its name nor its columns", self.refused(other))
        newer = self.path("Metadata.parquet")
        writer.write_parquet(newer, [("profile_schema_version", "text", ["13.1.0"]), ("ntff_version", "int64", [6])])
        shown = json.dumps(self.daemon.ctl.json("show", self.imported(newer)))
        self.assertIn("tool_version_unknown", shown)
        self.assertIn("13.1.0", shown)
        few = self.path("few/Instruction.parquet")
        os.makedirs(os.path.dirname(few))
        writer.write_parquet(few, [("opcode", "text", ["NOP"]), ("id", "int64", [1])])
        self.assertIn("lacks the columns engine, start_ts, duration_ns", json.dumps(self.daemon.ctl.json("show", self.imported(few))))

    def test_findings_fire_where_the_profile_says_so(self):
        codes = lambda run: {row["code"] for row in self.answer("findings", run)["result"]["findings"]}
        loud = codes(self.json_run(writer.Profile(1, 600)))
        self.assertLessEqual({"neuron_spills", "neuron_transposes", "neuron_data_lost", "neuron_tensor_idle", "neuron_small_descriptors"}, loud)
        quiet = writer.Profile(1, 600, spill=False, transposes=False)
        quiet.warnings = []
        quiet = codes(self.json_run(quiet))
        self.assertFalse({"neuron_spills", "neuron_transposes", "neuron_data_lost", "neuron_first_execution"} & quiet, quiet)

    def test_findings_name_what_was_waited_for(self):
        # Vector waits for DMA queue q0 from 1,000 to 5,000 ns, and for Scalar's instruction of model.py:7 from 6,000 to 8,000.
        columns = {"Instruction": [("id", "int64", [1, 2, 3, 4, 5, 6]), ("engine", "text", ["Vector", "Vector", "Vector", "Vector", "Vector", "Scalar"]),
                                   ("opcode", "text", ["COPY", "EVENT_SEMAPHORE", "COPY", "EVENT_SEMAPHORE", "COPY", "ACTIVATE"]),
                                   ("start_ts", "int64", [0, 1000, 5000, 6000, 8000, 7500]), ("duration_ns", "int64", [1000, 4000, 1000, 2000, 2000, 500]),
                                   ("nki_source_location", "text", ["model.py:1", None, "model.py:2", None, "model.py:3", "model.py:7"])],
                   "DmaPacket": [("id", "int64", [7, 8, 9]), ("start_ts", "int64", [0, 4600, 9900]), ("duration_ns", "int64", [100, 400, 100]),
                                 ("transfer_bytes", "int64", [512, 512, 512]), ("queue_name", "text", ["q0", "q0", "q1"]), ("queue_type", "text", ["data"] * 3)]}
        folder = self.path("waits")
        os.makedirs(folder)
        for table, of in columns.items():
            writer.write_parquet(os.path.join(folder, table + ".parquet"), of)
        run = self.imported(folder)
        waits = self.answer("neuron-bounds", run)["result"]["waits"]
        self.assertEqual([(row["engine"], row["waited_for"], row["is_dma"], row["file"], row["line"], row["waits"], row["wait_ns"], row["percent"]) for row in waits],
                         [("vector", "q0", True, None, None, 1, 4000, 40), ("vector", "scalar", False, "model.py", 7, 1, 2000, 20)])
        found = {row["code"]: row for row in self.answer("findings", run)["result"]["findings"]}
        wait = found["neuron_sync_wait"]
        self.assertIn("the vector engine, the one that works longest, waits for 6.0 us, 60.0 % of the window: 4.0 us for DMA queue q0, 2.0 us for the scalar engine at model.py:7", wait["message"])
        self.assertEqual((wait["gain_ns"], wait["gain_percent"]), (6000, 60))
        self.assertIn("begin these loads earlier", wait["hint"])
        # DMA works less than Vector: that it rests costs nothing.
        self.assertNotIn("neuron_dma_idle", found)

    def test_idle_dma_is_a_finding_where_dma_is_the_bottleneck(self):
        columns = {"Instruction": [("id", "int64", [1]), ("engine", "text", ["Vector"]), ("opcode", "text", ["COPY"]), ("start_ts", "int64", [0]), ("duration_ns", "int64", [1000])],
                   "DmaPacket": [("id", "int64", [7, 8]), ("start_ts", "int64", [0, 7000]), ("duration_ns", "int64", [2000, 3000]),
                                 ("transfer_bytes", "int64", [512, 512]), ("queue_name", "text", ["q0"] * 2), ("queue_type", "text", ["data"] * 2)]}
        folder = self.path("idle")
        os.makedirs(folder)
        for table, of in columns.items():
            writer.write_parquet(os.path.join(folder, table + ".parquet"), of)
        found = {row["code"]: row for row in self.answer("findings", self.imported(folder))["result"]["findings"]}
        self.assertEqual(found["neuron_dma_idle"]["gain_ns"], 5000)

    def test_a_summary_is_a_first_look(self):
        profile = writer.Profile(3, 500, debug=True)
        run = self.json_run(profile)
        result = self.answer("summary", run)["result"]
        row, = result["neuron_profiles"]
        engines = self.answer("engines", run)["result"]
        work = {one["engine"]: one["active_ns"] for one in engines["engines"]} | {"dma": engines["dma"][0]["active_ns"]}
        busiest = max(work, key=work.get)
        used = {one["name"]: one["value"] for one in engines["utilization"]}
        self.assertEqual((row["wall_ns"], row["active_percent"], row["busiest"]), (engines["total_ns"], engines["active_percent"], busiest))
        self.assertEqual((row["mfu_percent"], row["mbu_percent"]), (used["mfu"], used["mbu"]))
        self.assertAlmostEqual(row["busiest_percent"], 100 * work[busiest] / engines["total_ns"])
        self.assertEqual(row["bound"], "latency" if row["active_percent"] < 50 else "memory" if busiest == "dma" else "compute")
        lines = self.answer("instructions", run)["result"]["lines"][:5]
        self.assertEqual([(one["file"], one["line"], one["count"], one["sum_ns"]) for one in result["neuron_top"]],
                         [(one["file"], one["line"], one["count"], one["sum_ns"]) for one in lines])
        found = self.answer("findings", run)["result"]["findings"]
        self.assertEqual([one["code"] for one in result["findings"]], [one["code"] for one in found][:3])
        screen = self.daemon.ctl.run("analyze", "summary", run).out.decode()
        for words in ("neuron ", "bound ", "used ", "MFU ", "TOP LINES", f"{lines[0]['file']}:{lines[0]['line']}", "FINDINGS", "try: "):
            self.assertIn(words, screen)
        # Without lines of source the instructions with most time stand there.
        screen = self.daemon.ctl.run("analyze", "summary", self.json_run(writer.Profile(4, 300))).out.decode()
        self.assertIn("TOP INSTRUCTIONS", screen)

    def cores_run(self, seed=9, rows=600):
        """Of two cores: the first one has a tenth of the rows and is idle most of the time, all spills are the second's."""
        tables = writer.Profile(seed, rows).tables()
        of = {name: {column[0]: column[2] for column in columns} for name, columns in tables.items()}
        cores = {"Instruction": [int(bool(i % 10 or spilled)) for i, spilled in enumerate(of["Instruction"]["spill_reload_bytes"])]}
        moved = of["DmaPacketAggregated"]
        owner = {key: int(bool(i % 10 or "VIRTUAL" in source)) for i, (key, source) in enumerate(zip(moved["id"], moved["source"]))}
        cores["DmaPacketAggregated"] = [owner[key] for key in moved["id"]]
        cores["DmaPacket"] = [owner[key] for key in of["DmaPacket"]["packet_aggregation_id"]]
        folder = self.path("two_cores%d" % random.randrange(1 << 40))
        os.makedirs(folder)
        for table, columns in tables.items():
            if table in cores:
                columns = [column for column in columns if column[0] != "pcore_idx"] + [("pcore_idx", "int64", cores[table])]
            writer.write_parquet(os.path.join(folder, table + ".parquet"), columns)
        return self.imported(folder)

    def test_findings_are_of_the_core_that_has_them(self):
        run = self.cores_run()
        found = {row["code"]: row for row in self.answer("findings", run)["result"]["findings"]}
        spills = found["neuron_spills"]
        self.assertTrue(spills["message"].startswith("core 1: "), spills)
        evidence = {one["metric"]: one["value"] for one in spills["evidence"]}
        self.assertEqual(evidence["core"], 1)
        summary = self.answer("summary", run)["result"]
        self.assertEqual(summary["neuron_profiles"][0]["spill_reload_bytes"], evidence["spill_reload_bytes"])
        # That the core with little work is idle makes nothing slower.
        for code in ("neuron_dma_idle", "neuron_sync_wait", "neuron_tensor_idle"):
            if code in found:
                self.assertTrue(found[code]["message"].startswith("core 1: "), found[code])
        self.assertEqual([one["code"] for one in summary["findings"]], [one["code"] for one in self.answer("findings", run)["result"]["findings"]][:3])

    def test_gains_are_of_the_execution(self):
        run = self.json_run(writer.Profile(1, 600))
        total = self.answer("engines", run)["result"]["total_ns"]
        for row in self.answer("findings", run)["result"]["findings"]:
            if row["gain_ns"]:
                self.assertAlmostEqual(row["gain_percent"], 100 * row["gain_ns"] / total, places=1)

    def test_one_core_of_several_has_no_numbers_of_the_summary(self):
        run = self.cores_run()
        answer = self.answer("engines", run)
        self.assertTrue(any("peaks of 2 physical cores" in note for note in answer["notes"]), answer["notes"])
        one = self.answer("engines", run, "--core", "1")["result"]
        self.assertEqual({row["core"] for row in one["engines"]}, {1})
        self.assertEqual({row["summary_value"] for row in one["utilization"] + one["counters"] if row["name" if "name" in row else "counter"] != "ridge"}, {None})
        nothing = self.answer("engines", run, "--core", "7")
        self.assertEqual(nothing["result"]["engines"], [])
        self.assertIn("the profile has nothing of core 7", nothing["notes"])

    def bounds_everywhere(self, run):
        """What bounds it by the summary, its screen, and the report."""
        row, = self.answer("summary", run)["result"]["neuron_profiles"]
        screen = self.daemon.ctl.run("analyze", "summary", run).out.decode()
        report = self.daemon.ctl.json("report", run)
        return row["bound"], next((line[12:] for line in screen.splitlines() if line.startswith("bound ")), None), report["bottleneck"], report["root_cause"]

    def test_without_dma_nobody_knows_what_bounds_it(self):
        profile = writer.Profile(1, 300)
        folder = self.path("alone")
        os.makedirs(folder)
        writer.write_parquet(os.path.join(folder, "Instruction.parquet"), profile.tables()["Instruction"])
        whole = self.path("whole.json")
        writer.write_json(profile, whole, log=False)
        with open(whole, encoding="utf-8") as file:
            text = file.read()
        cut = self.path("cut.json")
        with open(cut, "w", encoding="utf-8") as file:
            file.write(text[:text.index('"dma"')])
        for path in (folder, cut):
            with self.subTest(path=path):
                run = self.imported(path)
                bound, screen, bottleneck, cause = self.bounds_everywhere(run)
                self.assertEqual((bound, bottleneck), (None, "Unknown"))
                self.assertIn("not known, as DMA was not recorded", screen)
                self.assertIn("DMA was not recorded", cause)
                self.assertIsNone(self.answer("neuron-bounds", run)["result"]["bottleneck"])
                for row in self.answer("findings", run)["result"]["findings"]:
                    self.assertNotIn("DMA works for 0", row["message"])

    def test_bounds_of_a_summary_alone_are_of_its_counters(self):
        profile = writer.Profile(3, 500)
        path = self.path("counters.json")
        # As somebody takes it out of what summary-json wrote: without the name around it.
        counters = {**profile.summary, "instance_type": "inf2.xlarge"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(counters, file)
        run = self.imported(path)
        result = self.answer("neuron-bounds", run)["result"]
        bounds = {row["bound"]: row for row in result["bounds"]}
        self.assertAlmostEqual(result["total_ns"], counters["total_time"] * 1e9, places=3)
        self.assertAlmostEqual(bounds["memory_bound"]["ns"], counters["dma_active_time"] * 1e9, places=3)
        self.assertAlmostEqual(bounds["compute_bound"]["ns"], counters["tensor_engine_active_time"] * 1e9, places=3)
        self.assertTrue(all(row["core"] is None for row in result["bounds"]))
        self.assert_nulls_are_explained(result)
        active = {name: counters[name + "_engine_active_time"] for name in ("tensor", "vector", "scalar", "gpsimd")} | {"dma": counters["dma_active_time"]}
        busiest = max(active, key=active.get)
        self.assertEqual(result["bottleneck"], busiest)
        bound, _, bottleneck, cause = self.bounds_everywhere(run)
        self.assertEqual(bound, "latency" if counters["total_active_time_percent"] < 0.5 else "memory" if busiest == "dma" else "compute")
        self.assertEqual(bottleneck.lower().removesuffix("-bound"), bound)
        self.assertIn(f"{busiest} is active longest", cause)
        del counters["dma_active_time"], counters["dma_active_time_percent"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(counters, file)
        bounds = {row["bound"]: row for row in self.answer("neuron-bounds", self.imported(path))["result"]["bounds"]}
        self.assertIsNone(bounds["memory_bound"]["ns"])
        self.assertIn("dma_active_time", bounds["memory_bound"]["unknown_because"])

    def test_waits_for_a_queue_without_a_name_are_waits_for_dma(self):
        columns = {"Instruction": [("id", "int64", [1, 2, 3]), ("engine", "text", ["Vector"] * 3), ("opcode", "text", ["COPY", "EVENT_SEMAPHORE", "COPY"]),
                                   ("start_ts", "int64", [0, 1000, 5000]), ("duration_ns", "int64", [1000, 4000, 5000])],
                   "DmaPacket": [("id", "int64", [7, 8, 9]), ("start_ts", "int64", [0, 4600, 9900]), ("duration_ns", "int64", [100, 400, 100]),
                                 ("transfer_bytes", "int64", [512] * 3), ("queue_type", "text", ["data"] * 3)]}
        folder = self.path("nameless")
        os.makedirs(folder)
        for table, of in columns.items():
            writer.write_parquet(os.path.join(folder, table + ".parquet"), of)
        run = self.imported(folder)
        waits = self.answer("neuron-bounds", run)["result"]["waits"]
        self.assertEqual([(row["engine"], row["waited_for"], row["is_dma"], row["wait_ns"]) for row in waits], [("vector", "a DMA queue without a name", True, 4000)])
        found = {row["code"]: row for row in self.answer("findings", run)["result"]["findings"]}
        self.assertIn("4.0 us for a DMA queue without a name", found["neuron_sync_wait"]["message"])
        self.assertIn("begin these loads earlier", found["neuron_sync_wait"]["hint"])

    def test_picoseconds_are_known_without_a_total(self):
        profile = writer.Profile(8, 300)
        path = self.path("ps.json")
        writer.write_json(profile, path, picoseconds=True, log=False)
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        whole = self.answer("engines", self.imported(path))["result"]["engines"]
        del content["summary"][0]["total_time"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        run = self.imported(path)
        self.assertEqual([row["active_ns"] for row in self.answer("engines", run)["result"]["engines"]], [row["active_ns"] for row in whole])
        self.assertNotIn("time_unit_unknown", json.dumps(self.daemon.ctl.json("show", run)))
        del content["summary"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        self.assertIn("time_unit_unknown", json.dumps(self.daemon.ctl.json("show", self.imported(path))))

    def test_two_runs_are_compared_by_their_executions(self):
        before, after = self.json_run(writer.Profile(3, 300)), self.json_run(writer.Profile(3, 900))
        engines = {run: self.answer("engines", run)["result"] for run in (before, after)}
        answer = self.answer("compare", after, "--baseline", before)["result"]
        rows = {row["what"]: row for row in answer["neuron"]}
        totals = [engines[run]["total_ns"] for run in (before, after)]
        self.assertEqual([rows["execution"]["before"], rows["execution"]["after"]], totals)
        self.assertAlmostEqual(rows["execution"]["delta_percent"], 100 * (totals[1] - totals[0]) / totals[0])
        self.assertAlmostEqual(answer["ratio"], totals[1] / totals[0])
        for i, run in enumerate((before, after)):
            for row in engines[run]["engines"]:
                self.assertEqual(rows[row["engine"] + " engine active"]["after" if i else "before"], row["active_ns"])
            self.assertEqual(rows["DMA active"]["after" if i else "before"], engines[run]["dma"][0]["active_ns"])
        self.assertEqual((answer["totals"], answer["before_total_ns"]), ([], None))
        self.assertIn("tensor engine active", self.daemon.ctl.run("compare", after, "--baseline", before).out.decode())
        report = self.daemon.ctl.run("report", after, "--baseline", before).out.decode()
        self.assertIn("## Profile: kernel.neff", report)
        self.assertRegex(report, r"Duration[^\n]*%.2f[^\n]*%.2f" % (totals[0] / 1000, totals[1] / 1000))
        self.assertNotIn("nothing ran on a device", report)

    def test_an_export_has_a_process_for_each_core(self):
        run = self.parquet_run(writer.Profile(4, 200))
        path = self.path("chrome.json")
        self.daemon.ctl.run("export", run, "--format", "chrome", "--output", path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual([event["args"]["name"] for event in events if event["name"] == "process_name"], ["NeuronCore"])
        self.assertEqual(len({event["pid"] for event in events if event["ph"] == "X"}), 1)

    def test_a_timeline_shows_engines_without_overlaps(self):
        run = self.json_run(writer.Profile(4, 800))
        rows = self.daemon.ctl.json("query", "--run", run, "--limit", "10000",
                                    "SELECT track_id, ts_ns, dur_ns FROM slice WHERE category IN ('instruction', 'wait') ORDER BY track_id, ts_ns")["rows"]
        last = {}
        for track, begin, duration in rows:
            self.assertGreaterEqual(begin, last.get(track, 0))
            last[track] = begin + duration
        self.assertGreater(len(last), 5)

    @unittest.skipUnless(os.path.isdir(NEURON), "needs the real files (KPROF_TEST_DATA)")
    def test_real_counters_follow_the_formulas(self):
        counters = {}
        with open(os.path.join(NEURON, "pantheonneuron", "02-profiler-counters.txt"), encoding="utf-8") as file:
            for line in file:
                words = line.replace(",", " ").split()
                for i, word in enumerate(words[:-2]):
                    if words[i + 1] == "=" and word.replace("_", "").isalnum():
                        try:
                            counters[word] = float(words[i + 2])
                        except ValueError:
                            counters[word] = words[i + 2]
        self.assertGreater(len(counters), 50)
        path = self.path("summary.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"n_0a1b": {**counters, "instance_type": "inf2.xlarge"}}, file)
        result = self.answer("engines", self.imported(path))["result"]
        used = {row["name"]: row for row in result["utilization"]}
        # No metadata is there: the peak is the profiler's own, 91.75 TFLOP/s, and not half of the data sheet's 190.
        for name in ("mfu", "mfu_inst", "hfu", "mbu", "arithmetic_intensity"):
            self.assertAlmostEqual(used[name]["value"] / used[name]["summary_value"], 1, places=6)
        self.assertEqual(result["total_ns"], 149710)
        tensor = next(row for row in result["engines"] if row["engine"] == "tensor")
        self.assertAlmostEqual(tensor["active_percent"], 89.507, places=2)
        self.assertEqual(tensor["active_ns"], 134001)
        with open(os.path.join(NEURON, "trnblas", "mp2_energy_kernel_summary_json_subset.json"), encoding="utf-8") as file_of_subset:
            subset = json.load(file_of_subset)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"n_ffff": subset}, file)
        result = self.answer("engines", self.imported(path))["result"]
        # As it stands there it has no name around it.
        flat = self.answer("engines", self.imported(file_of_subset.name))["result"]
        self.assertEqual([row["active_ns"] for row in flat["engines"]], [row["active_ns"] for row in result["engines"]])
        self.assertEqual(result["total_ns"], 213808050)
        self.assertAlmostEqual(result["active_percent"], 97.402, places=2)
        vector = next(row for row in result["engines"] if row["engine"] == "vector")
        self.assertAlmostEqual(vector["active_percent"], 96.454, places=2)
        self.assertEqual(vector["instructions"], 403039)


if __name__ == "__main__":
    unittest.main()
