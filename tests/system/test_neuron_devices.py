"""AWS Neuron devices of stand-ins for their tools and their driver's files: found, told of, leased, and whatever may
befall those who tell of them."""

import json
import os
import signal
import subprocess
import time
import unittest

import kprof_testing
from kprof_testing import Daemon, distrust, kill_if_there, processes_with, temporary_folder, wait_until
from neuron_stand_in import NeuronNode

REAL = os.path.join(kprof_testing.DATA, "neuron", "pantheonneuron")
# A process that uses both cores of the first device, and cannot be one of this machine.
RUNTIME = {"pid": 4999001, "tag": "train", "cores": {"0": 80.0, "1": 40.0}, "completed": 12, "errors": {"numerical": 2}}


class NeuronTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(temporary_folder())

    def begin(self, config="", **node):
        node.setdefault("monitor", {"period_s": 0.1})
        self.node = NeuronNode(self.folder, **node)
        self.start(config)

    def start(self, config=""):
        self.daemon = Daemon(self.folder, environment=self.node.environment)
        if config:
            self.daemon.configure(config)
        self.addCleanup(self.daemon.stop)
        self.daemon.start()
        self.ctl = self.daemon.ctl

    def devices(self):
        return {device["id"]: device for device in self.ctl.json("devices")["devices"]}

    def facts(self, device="neuron0"):
        return self.devices()[device]["neuron"]

    def until(self, condition, what):
        """Asks for the devices until they are so; they are returned."""
        def look():
            devices = self.devices()
            return devices if condition(devices) else None
        return wait_until(look, what)

    def until_health(self, health, device="neuron0"):
        return self.until(lambda devices: devices[device]["health"] == health, f"{device} to be {health}")[device]

    def monitors(self):
        return processes_with(os.path.join(self.node.tools, "neuron-monitor"))

    def visible_cores(self, *options, environment=None):
        run = self.ctl.capture("sh", "-c", "echo \"<$NEURON_RT_VISIBLE_CORES>\"", options=options,
                               env=dict(self.ctl.environment, **(environment or {})))
        self.assertEqual(run["state"], "done")
        return self.ctl.run("logs", run["id"]).text.strip()


class FoundTest(NeuronTest):
    def check_trn2(self, devices):
        self.assertEqual(list(devices), ["cpu", "neuron0", "neuron1"])
        device = devices["neuron1"]
        self.assertEqual((device["kind"], device["name"], device["health"], device["trouble"]),
                         ("neuron", "Trainium2", "ok", None))
        facts = device["neuron"]
        self.assertEqual((facts["index"], facts["chip"], facts["core_version"], facts["instance_type"]),
                         (1, "Trainium2", "v3", "trn2.48xlarge"))
        self.assertEqual((facts["physical_cores"], facts["lnc"], facts["memory_bytes"]), (8, 2, 96 << 30))
        self.assertEqual([core["number"] for core in facts["cores"]], [4, 5, 6, 7])
        self.assertEqual((facts["pci"], facts["numa_node"], facts["connected"]), ("0000:01:1f.0", -1, [0]))

    def test_each_is_found_by_neuron_ls(self):
        self.begin(chip="trn2", devices=2, instance_type="trn2.48xlarge")
        self.check_trn2(self.devices())

    def test_each_is_found_by_the_shape_of_later_tools(self):
        self.begin(chip="trn2", devices=2, instance_type="trn2.48xlarge")
        self.node.describe(chip="trn2", devices=2, instance_type="trn2.48xlarge", tools="2.34", monitor={"period_s": 0.1})
        time.sleep(5)  # neuron-ls is not asked more often
        self.check_trn2(self.devices())
        self.assertEqual(self.devices()["neuron0"]["neuron"]["notes"], [])

    def test_sysfs_alone_tells_of_devices(self):
        self.begin(tools=(), driver="2.30.2")
        device = self.devices()["neuron0"]
        self.assertEqual((device["name"], device["health"]), ("Inferentia2", "ok"))
        facts = device["neuron"]
        self.assertEqual((facts["serial"], facts["driver_version"]), ("a1b2c3d4e5f60000", "2.30.2"))
        self.assertEqual((facts["memory_uncorrected"], facts["memory_repairable_uncorrected"], facts["sram_uncorrected"]),
                         (1, 2, 3))
        self.assertEqual((facts["power_min_percent"], facts["power_max_percent"], facts["power_mean_percent"]),
                         (0.32, 3.04, 1.57))
        self.assertEqual(facts["unhealthy_components"], ["hbm", "link_host"])
        self.assertEqual(facts["execution_errors"], 6)
        self.assertEqual((len(facts["cores"]), facts["lnc"]), (2, 1))
        self.assertEqual(self.visible_cores(), "<0,1>")
        self.assertIn("unhealthy: hbm+link_host", self.ctl.run("devices").text)

    def test_an_old_drivers_zeros_and_a_power_that_is_not_valid_are_not_shown(self):
        self.begin(tools=())
        self.node.load_driver("2.24", "--power", "POWER_STATUS_NO_DATA,0,0.0,0.0,0.0")
        self.daemon.stop()
        self.start()
        facts = self.facts()
        self.assertEqual((facts["execution_errors"], facts["power_mean_percent"]), (None, None))

    def test_its_clock_cannot_be_controlled_and_nobody_is_blamed(self):
        self.begin()
        device = self.devices()["neuron0"]
        self.assertEqual(device["neuron"]["clock_control"], "not_supported")
        self.assertEqual((device["clocks"]["lockable"], device["clocks"]["locked"]), (False, False))
        for policy in ("lock", "lock!", "base"):
            session = self.ctl.json("session", "open", "--device", "neuron0", "--clocks", policy, "--ttl", "10m")
            self.assertEqual(session["trust"], [], policy)
            self.ctl.run("session", "close", session["id"])

    def test_a_run_on_it_has_no_clocks(self):
        self.begin()
        for options in ((), ("--clocks", "lock")):
            run = self.ctl.capture("true", options=("--device", "neuron0", *options))
            self.assertEqual((run["device"], run["clocks"]), (["neuron0"], "none"))

    def test_a_missing_program_is_told_where_a_device_is_and_its_folder_is_looked_into(self):
        self.begin()
        checks = {check["check"]: check for check in self.ctl.json("doctor")["diagnoses"]}
        self.assertEqual(checks["tool_neuron-explorer"]["level"], "warning")
        self.assertIn("aws-neuronx-tools", checks["tool_neuron-explorer"]["remedy"])
        self.assertIn(os.path.join(self.node.tools, "neuron-ls"), checks["tools"]["message"])

    def test_its_peaks_are_known(self):
        self.begin(chip="trn1")
        peaks = {(peak["quantity"], peak["dtype"]): peak["value"] for peak in self.devices()["neuron0"]["peaks"]}
        self.assertEqual((peaks["dense_rate", "bf16"], peaks["memory_bandwidth", None]), (190, 820))
        cores = {(peak["quantity"], peak["dtype"]): peak for peak in self.facts()["core_peaks"]}
        self.assertEqual(cores["memory_bandwidth", None]["value"], 410)
        self.assertIn("1 of 2 cores", cores["memory_bandwidth", None]["source"])

    def test_a_node_without_tools_and_driver_is_a_normal_node(self):
        self.begin(tools=())
        self.assertEqual(list(self.devices()), ["cpu"])
        self.assertEqual(self.ctl.capture("true")["state"], "done")
        wait_until(lambda: not processes_with(self.node.tools), "the worker to be gone")

    def test_tools_that_come_later_are_found(self):
        self.begin(tools=())
        self.assertEqual(list(self.devices()), ["cpu"])
        self.node.install("neuron-ls")
        self.until(lambda devices: "neuron0" in devices, "the device to be found")
        self.assertEqual(self.visible_cores("--device", "neuron0"), "<0,1>")

    def test_nothing_is_looked_for_where_the_configuration_says_so(self):
        self.begin(config="[devices]\nfind = false\n")
        self.assertEqual(list(self.devices()), ["cpu"])

    def test_the_configuration_names_the_places(self):
        self.node = NeuronNode(self.folder, driver="2.28")
        places = f'[devices]\nneuron_tools = "{self.node.tools}"\nneuron_sysfs = "{self.node.tree}"\n'
        self.daemon = Daemon(self.folder, config=places)
        self.addCleanup(self.daemon.stop)
        self.daemon.start(environment={"KPROF_NEURON_BIN": "/nowhere", "KPROF_NEURON_SYSFS": "/nowhere"})
        self.ctl = self.daemon.ctl
        self.assertEqual(self.facts()["driver_version"], "2.28")


class LeaseTest(NeuronTest):
    def test_it_makes_visible_the_cores_that_were_found(self):
        self.begin(chip="trn2", devices=2)
        self.assertEqual(self.visible_cores(), "<0,1,2,3>")
        self.assertEqual(self.visible_cores("--device", "neuron1"), "<4,5,6,7>")
        self.assertEqual(self.visible_cores("--device", "1"), "<4,5,6,7>")
        self.assertEqual(self.visible_cores("--device", "all"), "<0,1,2,3,4,5,6,7>")
        self.assertEqual(self.visible_cores(environment={"NEURON_RT_VISIBLE_CORES": "5-6"}), "<5,6>")

    def test_the_configuration_names_those_that_are_leased(self):
        self.begin(config='[[device]]\nkind = "neuron"\nid = "half"\ncores = [2]\n', devices=2, runtimes=[RUNTIME])
        devices = self.devices()
        self.assertEqual(list(devices), ["cpu", "half"])
        self.assertEqual((devices["half"]["name"], devices["half"]["neuron"]["index"]), ("Inferentia2", 1))
        self.assertEqual(self.visible_cores(), "<2>")


class WatchedRunTest(NeuronTest):
    def capture(self, *options, seconds=1.5, expect=0):
        return self.ctl.capture("sleep", str(seconds), options=("--device", "neuron0", *options), expect=expect)

    def codes(self, run):
        return [reason["code"] for reason in distrust(run)]

    def start_other(self):
        """A process of nobody's run that has the runtime on the first device's cores."""
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        return other.pid

    def test_what_it_told_is_a_part_of_the_run(self):
        self.begin(driver="2.30.2", runtimes=[RUNTIME])
        run = self.capture(seconds=3)
        self.assertEqual((run["state"], self.codes(run)), ("done", []))
        self.assertGreater(run["metrics"]["device_neuron0_samples"], 1)
        rows = self.ctl.json("query", "--run", run["id"], "SELECT t.name, max(c.value) FROM track t JOIN counter c ON c.track_id = t.id "
                             "WHERE t.process LIKE 'device neuron0%' GROUP BY t.name")["rows"]
        told = dict(rows)
        self.assertEqual((told["core_0_busy_percent"], told["core_1_busy_percent"]), (80, 40))
        self.assertGreater(told["memory_used_bytes"], 0)

    def test_others_on_it_are_named(self):
        pid = self.start_other()
        self.begin(runtimes=[dict(RUNTIME, pid=pid)])
        run = self.capture(seconds=2)
        (shared,) = [reason["message"] for reason in run["trust"] if reason["code"] == "device_shared"]
        self.assertIn(f"pid {pid} (sleep", shared)

    def test_what_it_counts_during_the_run_and_nothing_else_is_the_runs(self):
        self.begin(driver="2.30.2")
        errors = os.path.join(self.node.tree, "neuron0/neuron_core0/stats/status/hw_error/total")
        memory = os.path.join(self.node.tree, "neuron0/stats/hardware/mem_ecc_uncorrected")
        self.assertTrue(os.path.exists(errors) and os.path.exists(memory))
        for path, value in ((errors, 1000), (memory, 30)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{value}\n")
        quiet = self.ctl.capture("true", options=("--device", "neuron0"))
        self.assertEqual(self.codes(quiet), [], "that was before")
        run = self.ctl.capture("sh", "-c", f"echo 1003 > {errors}; echo 32 > {memory}", options=("--device", "neuron0"))
        said = {reason["code"]: reason["message"] for reason in distrust(run)}
        self.assertEqual(said, {"memory_errors": "device neuron0: 2 uncorrected memory errors during the run",
                                "execution_errors": "device neuron0: 3 executions with errors during the run"})

    def test_a_monitor_that_cannot_be_had_leaves_it_unwatched(self):
        self.begin(driver="2.30.2", monitor={"exit": 1, "reports": 0})
        run = self.capture(seconds=26)
        self.assertEqual((self.codes(run), run["metrics"]["device_neuron0_samples"]), (["device_unwatched"], 0))

    def test_exclusive_takes_nobodys_silence_for_quiet(self):
        self.begin(driver="2.30.2")
        self.assertEqual(self.ctl.capture("true", options=("--device", "neuron0", "--exclusive"))["state"], "done")
        for tool in ("neuron-ls", "neuron-monitor"):
            self.node.remove(tool)
        for monitor in self.monitors():
            kill_if_there(monitor)
        time.sleep(8)  # what they told last is too old by then
        refused = self.ctl.run("--json", "capture", "command", "--device", "neuron0", "--exclusive", "--queue-timeout", "1s", "--", "true",
                               expect="queue_timeout")
        self.assertIn("nobody knows who", refused.error["message"])

    def test_exclusive_waits_until_they_are_gone(self):
        pid = self.start_other()
        self.begin(runtimes=[dict(RUNTIME, pid=pid)])
        run = self.ctl.detach("true", options=("--device", "neuron0", "--exclusive"))
        self.ctl.wait_for_state(run, "preparing")
        time.sleep(1)
        self.assertEqual(self.ctl.show(run)["state"], "preparing")
        self.node.describe(monitor={"period_s": 0.1})
        for monitor in self.monitors():
            kill_if_there(monitor)  # the stand-in for it says what it said at its start
        self.ctl.wait(run, expect="done")


class ToldTest(NeuronTest):
    def busy(self, devices):
        return devices["neuron0"]["neuron"]["cores"][0]["utilization_percent"] == 80

    def test_the_monitor_tells_what_runs_and_runs_only_while_somebody_asks(self):
        self.begin(runtimes=[RUNTIME])
        self.assertEqual(self.monitors(), [])
        facts = self.until(self.busy, "the first report")["neuron0"]["neuron"]
        self.assertEqual([(core["utilization_percent"], core["pids"]) for core in facts["cores"]],
                         [(80, [RUNTIME["pid"]]), (40, [RUNTIME["pid"]])])
        self.assertEqual([(process["pid"], process["command"]) for process in facts["processes"]],
                         [(RUNTIME["pid"], "python3 train.py")])
        runtime = facts["runtimes"][0]
        self.assertEqual((runtime["pid"], runtime["tag"], runtime["completed"], runtime["failed"], runtime["errors"]),
                         (RUNTIME["pid"], "train", 12, 0, 2))
        self.assertEqual((runtime["p50_latency_s"], runtime["memory_bytes"], runtime["host_bytes"]), (0.004, 6680, 5000))
        self.assertEqual(facts["memory_used_bytes"], 6680)
        self.assertIn("60 % busy", self.ctl.run("devices").text)
        self.assertEqual(len(self.monitors()), 1)
        self.assertEqual(self.daemon.stop(), 0)
        self.assertEqual(self.monitors(), [])

    def test_a_killed_kprofd_leaves_no_tool(self):
        self.begin(runtimes=[RUNTIME])
        self.until(self.busy, "the first report")
        self.daemon.kill()
        wait_until(lambda: not processes_with(self.node.tools), "the worker and its tools to be gone")
        self.daemon.start()
        self.until(self.busy, "a report again")

    def test_a_monitor_that_dies_comes_back(self):
        self.begin(runtimes=[RUNTIME])
        self.until(self.busy, "the first report")
        first = self.monitors()
        for pid in first:
            kill_if_there(pid)
        self.until(lambda devices: any("neuron-monitor" in note for note in devices["neuron0"]["neuron"]["notes"]),
                   "it to be told")
        wait_until(lambda: self.monitors() and self.monitors() != first, "another one")
        devices = self.until(self.busy, "a report again")
        self.assertEqual((devices["neuron0"]["health"], devices["neuron0"]["neuron"]["notes"]), ("ok", []))

    def test_without_a_monitor_the_others_tell(self):
        self.begin(tools=("neuron-ls",), driver="2.28", runtimes=[RUNTIME])
        device = self.devices()["neuron0"]
        self.assertEqual(device["health"], "ok")
        self.assertEqual([process["pid"] for process in device["neuron"]["processes"]], [RUNTIME["pid"]])
        self.assertEqual(device["neuron"]["serial"], "a1b2c3d4e5f60000")
        self.until(lambda devices: any("find neuron-monitor" in note for note in devices["neuron0"]["neuron"]["notes"]),
                   "it to be noted")

    def test_a_monitor_that_hangs_holds_up_nobody(self):
        self.begin(monitor={"hang": True})
        self.devices()
        began = time.monotonic()
        self.assertEqual(self.devices()["neuron0"]["health"], "ok")
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(self.visible_cores(), "<0,1>")


class HealthTest(NeuronTest):
    def worker(self):
        found = [pid for pid in processes_with(self.node.tree) if pid != self.daemon.pid]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_a_neuron_ls_that_hangs_is_no_hindrance_and_is_told(self):
        self.begin(driver="2.28", ls={"hang_s": 600})
        device = self.until(lambda devices: "neuron0" in devices, "the device to be found")["neuron0"]
        self.assertEqual(device["health"], "unresponsive")
        self.assertIn("no answer in time", device["trouble"])
        self.assertEqual(device["neuron"]["serial"], "a1b2c3d4e5f60000")
        self.assertEqual(self.ctl.capture("true", options=("--device", "cpu"))["state"], "done")
        wait_until(lambda: not processes_with(os.path.join(self.node.tools, "neuron-ls")), "it to be killed")

    def test_a_neuron_ls_that_hangs_alone_tells_of_nothing(self):
        self.begin(ls={"hang_s": 600})
        self.assertEqual(list(self.devices()), ["cpu"])
        self.assertEqual(self.ctl.capture("true")["state"], "done")
        wait_until(lambda: "no answer in time" in self.daemon.log(), "it to be logged")

    def test_a_device_that_nobody_tells_of_any_more_is_lost_and_comes_back(self):
        self.begin(devices=2)
        self.assertEqual(self.devices()["neuron1"]["health"], "ok")
        self.node.describe(devices=1)
        self.assertIn("neither neuron-ls", self.until_health("lost", "neuron1")["trouble"])
        self.assertEqual(self.devices()["neuron0"]["health"], "ok")
        self.node.describe(devices=2)
        self.until_health("ok", "neuron1")

    def test_tools_that_fail_make_it_failed_where_nobody_else_tells_of_it(self):
        self.begin()
        self.assertEqual(self.devices()["neuron0"]["health"], "ok")
        self.node.describe(ls={"exit": 1, "stdout": "", "stderr": "driver not loaded\n"})
        self.assertIn("driver not loaded", self.until_health("failed")["trouble"])
        self.node.describe()
        self.until_health("ok")

    def test_a_worker_that_is_killed_is_replaced(self):
        self.begin()
        self.assertEqual(self.devices()["neuron0"]["health"], "ok")
        kill_if_there(self.worker())
        wait_until(lambda: "Neuron devices cannot be asked" in self.daemon.log(), "it to be noticed")
        self.until_health("ok")

    def test_a_worker_that_hangs_makes_it_unresponsive_and_holds_up_nobody(self):
        self.begin()
        self.assertEqual(self.devices()["neuron0"]["health"], "ok")
        os.kill(self.worker(), signal.SIGSTOP)
        began = time.monotonic()
        self.devices()
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(self.visible_cores(), "<0,1>")
        wait_until(lambda: "has said nothing for" in self.daemon.log(), "it to be noticed", limit_s=60)
        self.assertIn("health=unresponsive", self.daemon.log())
        self.until_health("ok")


class WhichChipTest(NeuronTest):
    """Without the driver's files, and neuron-monitor, as in a container."""

    def dmi(self, vendor, product):
        folder = os.path.join(self.folder, "sys", "devices", "virtual", "dmi", "id")
        os.makedirs(folder)
        for name, text in (("sys_vendor", vendor), ("product_name", product)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def begin_with(self, config="", **node):
        self.begin(config, tools=("neuron-ls",), **node)
        device = self.devices()["neuron0"]
        return device, device["neuron"]

    def test_the_text_of_neuron_ls_tells(self):
        device, facts = self.begin_with(chip="trn1")
        self.assertEqual((device["name"], facts["chip"], facts["chip_source"]), ("Trainium1", "Trainium1", "neuron-ls (trn1.2xlarge)"))
        self.assertIn("820", json.dumps([peak for peak in device["peaks"] if "memory_bandwidth" in peak.values()]))

    @unittest.skipUnless(os.path.isdir(REAL), f"needs {REAL}")
    def test_the_real_text_of_an_inf2(self):
        with open(os.path.join(REAL, "01-neuron-ls.txt"), encoding="utf-8") as file:
            text, _, rest = file.read().partition("$ neuron-ls --json-output")
        device, facts = self.begin_with(ls={"text": text.removeprefix("$ neuron-ls\n"), "json": rest.partition("NOTE:")[0]}, chip="trn1")
        self.assertEqual((device["name"], facts["chip_source"], facts["memory_bytes"]),
                         ("Inferentia2", "neuron-ls (inf2.xlarge)", 32 << 30))
        self.assertTrue(device["peaks"])

    def test_the_firmware_tells(self):
        self.dmi("Amazon EC2", "inf2.xlarge")
        device, facts = self.begin_with(instance_type="")
        self.assertEqual((device["name"], facts["chip_source"]), ("Inferentia2", "the firmware (DMI) (inf2.xlarge)"))

    def test_the_configuration_tells(self):
        device, facts = self.begin_with(config='[devices]\nneuron_chip = "trn2.48xlarge"\n', instance_type="")
        self.assertEqual((device["name"], facts["chip_source"]), ("Trainium2", "the configuration (trn2.48xlarge)"))

    def test_nobody_tells(self):
        self.dmi("QEMU", "inf2.xlarge")
        device, facts = self.begin_with(instance_type="")
        self.assertEqual((device["name"], facts["chip"], device["peaks"]), ("Neuron device", None, []))
        self.assertTrue(any("neuron_chip" in note for note in facts["notes"]), facts["notes"])


if __name__ == "__main__":
    unittest.main()
