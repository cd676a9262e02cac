"""What devices can do at most, by the table, the driver and what was measured on them; of whole devices and of parts."""

import json
import os
import unittest

import kprof_testing
from test_devices import DevicesTest


class PeaksTest(DevicesTest):
    def peaks(self, device="0", origin=None):
        listed = self.ctl.json("peaks", "--device", device)["peaks"]
        return {(peak["quantity"], peak["dtype"]): peak for peak in listed if origin in (None, peak["origin"])}

    def measure(self, said="kprof-ceiling: 4400 GB/s", device="0", command=("echo",)):
        return self.ctl.capture(*command, said, options=("--device", device))["id"]

    def record(self, run, *options, of="copy", **rest):
        return self.ctl.run("--json", "peaks", "record", run, "--of", of, *options, **rest)


class CeilingsTest(PeaksTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()

    def test_what_a_benchmark_reached_stands_beside_the_peak(self):
        run = self.measure()
        recorded = self.record(run).json
        self.assertEqual((recorded["device_id"], recorded["ceiling"]["value"], recorded["ceiling"]["origin"]), ("0", 4400, "measured"))
        self.assertEqual(recorded["peak"]["origin"], "table")
        self.assertIn(run, recorded["ceiling"]["source"])
        self.assertEqual(self.peaks(origin="measured")["memory_bandwidth", None]["value"], 4400)
        self.assertGreater(self.peaks(origin="table")["memory_bandwidth", None]["value"], 4400)
        self.assertEqual(self.peaks("1", origin="measured"), {})
        listed = {peak["origin"] for peak in self.devices()["0"]["peaks"] if peak["quantity"] == "memory_bandwidth"}
        self.assertEqual(listed, {"table", "measured"})
        self.assertIn("4400 GB/s (0.", self.ctl.run("peaks").text)
        entry = self.ctl.json("audit", "--limit", "1")["entries"][0]
        self.assertEqual((entry["action"], entry["run"], entry["device"]), ("ceiling", run, ["0"]))

    def test_the_last_of_a_quantity_counts_and_outlives_run_and_kprofd(self):
        self.record(self.measure())
        run = self.measure("kprof-ceiling: 4300 GB/s")
        self.record(run)
        self.record(run, "--value", "780 TFLOP/s", of="bf16")
        self.ctl.run("delete", run)
        self.daemon.stop()
        self.daemon.start()
        measured = self.peaks(origin="measured")
        self.assertEqual({name: peak["value"] for name, peak in measured.items()},
                         {("memory_bandwidth", None): 4300, ("dense_rate", "bf16"): 780})
        forgotten = self.ctl.json("peaks", "forget", "--device", "0")
        self.assertEqual((forgotten["device"], forgotten["forgotten"]), ("0", 2))
        self.assertEqual(self.peaks(origin="measured"), {})
        self.ctl.run("peaks", "forget", "--device", "0", expect="not_found")
        self.assertEqual(self.ctl.json("audit", "--limit", "1")["entries"][0]["action"], "ceiling_forgotten")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.peaks(origin="measured"), {})

    def test_what_speaks_against_the_run_stands_beside_it(self):
        self.record(self.measure())
        sure = self.peaks(origin="measured")["memory_bandwidth", None]
        self.assertEqual((sure["confidence"], sure["note"]), ("high", "with --clocks none"))
        self.model.set("node", "permission", "none")
        run = self.ctl.capture("echo", "kprof-ceiling: 4300 GB/s", options=("--device", "0", "--clocks", "lock"))["id"]
        self.record(run)
        unsure = self.peaks(origin="measured")["memory_bandwidth", None]
        self.assertEqual((unsure["confidence"], unsure["note"]),
                         ("medium", "with --clocks lock; what speaks against its run: clocks_not_locked"))
        self.assertEqual(self.ctl.run("peaks", "forget", "--device", "0").text, "device 0: 1 ceiling is forgotten\n")

    def test_an_analysis_has_those_of_its_device_beside_the_peaks(self):
        run = self.measure()
        self.record(run)
        self.record(run, "--value", "780 TFLOP/s", of="bf16")
        text = kprof_testing.read_file(os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", "kernel_report.json"))
        report = os.path.join(self.folder, "report.json")
        with open(report, "wb") as file:
            file.write(text.replace(b"NVIDIA H100 80GB HBM3", b"NVIDIA H200"))
        here, elsewhere = [
            self.ctl.capture("cp", report, "out.json", options=("--device", device, "--collect", "out.json"),
                             cwd=self.folder)["id"] for device in ("0", "1")]
        imported = self.ctl.json("import", report)["id"]
        self.daemon.stop()
        self.daemon.start()
        source = f"run {run} at "

        def measured(of):
            rows = self.ctl.json("query", "--run", of, "SELECT measured_tflops, measured_gb_s, measured_confidence, measured_source, "
                                                       "peak_tflops, peak_gb_s FROM analyze_roofline WHERE dtype = 'bf16'")["rows"]
            self.assertEqual([row[4:] for row in rows], [[989, 4800]] * len(rows))  # a ceiling takes no peak's place
            self.assertTrue(rows)
            return rows[0][:4]

        rate, bandwidth, confidence, said = measured(here)
        self.assertEqual((rate, bandwidth, confidence), (780, 4400, "high"))
        self.assertTrue(said.startswith(source) and "may be of another" not in said, said)
        self.assertEqual(measured(elsewhere), [None] * 4)
        rate, bandwidth, confidence, said = measured(imported)
        self.assertEqual((rate, bandwidth, confidence), (780, 4400, "medium"))
        self.assertIn("on the one NVIDIA H200 that has ceilings here: the kernel may be of another", said)

        self.assertIn(f"\nMeasured ceiling: 780.0 TFLOP/s bf16, 4.40 TB/s ({source}", self.ctl.run("report", here).text)
        roof = json.loads(self.ctl.run("report", here, "--format", "json").text)["roof"]
        self.assertEqual((roof["gb_per_s"], roof["measured_tflop_per_s"], roof["measured_gb_per_s"], roof["measured_dtype"],
                          roof["measured_confidence"]), (4800, 780, 4400, "bf16", "high"))
        self.assertNotIn("Measured ceiling", self.ctl.run("report", elsewhere).text)
        for of, lines in ((here, 2), (elsewhere, 0)):
            folder = os.path.join(self.folder, of)
            os.mkdir(folder)
            self.ctl.run("report", of, "-o", folder)
            chart = kprof_testing.read_file(os.path.join(folder, "roofline.svg"))
            self.assertEqual(chart.count(b"stroke-dasharray"), lines)
        self.ctl.run("peaks", "forget", "--device", "0")
        self.assertEqual(measured(here), [None] * 4)

    def test_a_device_that_may_be_another_or_in_parts_has_none(self):
        run = self.measure()
        self.model.set(0, "mig", "on")
        self.assertIn("MIG", self.record(run, expect="usage").error["message"])
        self.model.set(0, "mig", "off")
        self.daemon.stop()
        self.daemon.start()
        refused = self.record(run, "--value", "4400 GB/s", expect="usage")
        self.assertIn("before this kprofd was started", refused.error["message"])
        self.model.set(0, "lost", 1)
        lost = self.measure()
        self.assertIn("MIG mode", self.record(lost, expect="usage").error["message"])
        self.assertEqual(self.peaks(origin="measured"), {})

    def test_a_number_beyond_the_peak_is_refused(self):
        refused = self.record(self.measure("kprof-ceiling: 9000 GB/s"), expect="bad_input")
        self.assertIn("times the peak", refused.error["message"])
        self.assertIn("[devices]", refused.error["remedy"])
        for value in ("4400 TFLOP/s", "0.001 GB/s"):
            self.record("@last", "--value", value, expect="bad_input")
        self.assertEqual(self.peaks(origin="measured"), {})

    def test_it_is_of_a_run_that_ended_well_on_one_device(self):
        said = "kprof-ceiling: 4400 GB/s"
        failed = self.ctl.capture("sh", "-c", f"echo {said}; exit 3", options=("--device", "0"), expect=None)["id"]
        for run, why in ((failed, "ended well"), (self.measure(device="cpu"), "processors"),
                         (self.measure(device="0,1"), "2 devices"), (self.measure(device="none"), "0 devices")):
            with self.subTest(why):
                refused = self.record(run, expect="usage")
                self.assertIn(why, refused.error["message"])
                self.assertTrue(refused.error["remedy"])
        running = self.ctl.detach("sleep", "600", options=("--device", "0"))
        self.ctl.wait_for_state(running, "running")
        self.record(running, "--value", "4400 GB/s", expect="usage")
        self.ctl.run("cancel", running)
        self.record("nothing", "--value", "1 GB/s", expect=None)
        self.assertEqual(self.peaks(origin="measured"), {})

    def test_a_benchmark_that_says_nothing_is_asked_to(self):
        refused = self.record(self.measure("done"), expect="bad_input")
        self.assertIn("kprof-ceiling: ", refused.error["message"])


class OverrideTest(PeaksTest):
    """Peaks of a file of the administrator's count in every analysis."""

    PEAKS = """device,quantity,dtype,accumulate,value,unit,confidence,source,note
H100-SXM5-80GB,memory_bandwidth,,,3000,GB/s,medium,we measured it,
Acme-X1,vendor,,,nvidia,,,,
Acme-X1,compute_capability,,,9.0,,,,
Acme-X1,core_kind,,,SM,,,,
Acme-X1,name,,,Acme X1,,,,
Acme-X1,dense_rate,bf16,fp32,500,TFLOP/s,low,a leaflet,
Acme-X1,memory_bandwidth,,,2000,GB/s,low,a leaflet,
"""

    def imported(self, trace, device="NVIDIA H100 80GB HBM3"):
        text = kprof_testing.read_file(os.path.join(kprof_testing.ROOT, "tests", "golden", "traces", trace))
        report = os.path.join(self.folder, "report.json")
        with open(report, "wb") as file:
            file.write(text.replace(b"NVIDIA H100 80GB HBM3", device.encode()))
        return self.ctl.json("import", report)["id"]

    def roof(self, run):
        rows = self.ctl.json("query", "--run", run,
                             "SELECT peak_tflops, peak_confidence, peak_source, peak_gb_s, bandwidth_confidence, bandwidth_source "
                             "FROM analyze_roofline WHERE dtype = 'bf16'")["rows"]
        self.assertEqual(len(rows), 1)
        return rows[0]

    def test_analyses_reports_and_charts_have_them(self):
        peaks = os.path.join(self.folder, "peaks.csv")
        with open(peaks, "w", encoding="utf-8") as file:
            file.write(self.PEAKS)
        self.daemon.start()
        known, unknown = self.imported("kernel_report.json"), self.imported("kernel_report.json", "Acme X1")
        self.assertEqual(self.roof(known)[3:5], [3350, "high"])
        self.assertEqual(self.roof(unknown)[0], None)
        self.daemon.stop()
        self.daemon.configure(f'[devices]\npeaks = "{peaks}"\n')
        self.daemon.start()

        rate, confidence, source, *bandwidth = self.roof(known)
        self.assertEqual((rate, confidence), (989, "high"))  # what the file does not have stays
        self.assertNotIn("we measured it", source)
        self.assertEqual(bandwidth, [3000, "medium", "we measured it"])
        self.assertEqual(self.roof(unknown), [500, "low", "a leaflet", 2000, "low", "a leaflet"])

        kernels = self.ctl.json("analyze", "roofline", unknown)["result"]["kernels"]
        self.assertEqual({kernel["peak_gb_s"] for kernel in kernels}, {2000})
        roof = json.loads(self.ctl.run("report", unknown, "--format", "json").text)["roof"]
        self.assertEqual((roof["tflop_per_s"], roof["gb_per_s"]), (500, 2000))
        folder = os.path.join(self.folder, "files")
        os.mkdir(folder)
        self.ctl.run("report", unknown, "-o", folder)
        self.assertIn(b"500 TFLOP/s, 2000 GB/s", kprof_testing.read_file(os.path.join(folder, "roofline.svg")))

        operators = " ".join(self.ctl.json("analyze", "operators", self.imported("roofline.json"))["notes"])
        self.assertIn("memory 3000 GB/s (we measured it)", operators)


class PartsTest(PeaksTest):
    def test_an_instance_has_its_share(self):
        self.model.set(0, "mig", "on")
        self.model.set(0, "mig_add", "3g.71gb")
        self.daemon.start()
        device = self.devices()["0"]
        (instance,) = device["nvidia"]["mig_instances"]
        whole = {(peak["quantity"], peak["dtype"]): peak["value"] for peak in device["peaks"]}
        part = {(peak["quantity"], peak["dtype"]): peak for peak in instance["peaks"]}
        rate = part["dense_rate", "bf16"]
        self.assertAlmostEqual(rate["value"], whole["dense_rate", "bf16"] * instance["sm_count"] / 132, places=3)
        self.assertEqual(rate["origin"], "scaled")
        self.assertAlmostEqual(part["memory_bandwidth", None]["value"], whole["memory_bandwidth", None] / 2, places=3)
        self.assertIsNone(instance["no_peaks"])
        refused = self.record(self.measure(), expect="usage")
        self.assertIn("MIG", refused.error["message"])

    def test_a_whole_device_is_no_part(self):
        self.daemon.start()
        self.assertEqual(self.devices()["0"]["nvidia"]["mig_instances"], [])


if __name__ == "__main__":
    unittest.main()
