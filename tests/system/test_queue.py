"""Who goes when: one run at a time per device, first come first served, bounded concurrency without a device."""

import unittest

import kprof_testing
from kprof_testing import DaemonTest, wait_until

FIRST_UUID, SECOND_UUID = "GPU-11111111-2222-3333-4444-555555555555", "GPU-99999999-8888-7777-6666-555555555555"


class QueueOnCpuTest(DaemonTest):
    def test_runs_go_one_at_a_time_in_the_order_of_their_submission(self):
        log = self.path("order")
        runs = [self.ctl.detach("sh", "-c", f"echo begin {i} >> {log}; sleep 0.02; echo end {i} >> {log}") for i in range(8)]
        for run in runs:
            self.ctl.wait(run, expect=0)
        self.assertEqual(self.read("order").decode().splitlines(), [f"{word} {i}" for i in range(8) for word in ("begin", "end")])

    def test_a_queued_run_knows_its_place(self):
        first = self.ctl.detach("sh", "-c", self.gate())
        second, third = self.ctl.detach("true"), self.ctl.detach("true")
        self.assertEqual([self.ctl.show(run).get("queue_position") for run in (first, second, third)], [None, 1, 2])
        self.assertIn("queue       1 before it", self.ctl.run("show", third).text)
        status = self.ctl.json("status")
        self.assertEqual((status["queue"]["running"], status["queue"]["queued"]), (1, 2))
        cpu = self.ctl.json("devices")["devices"][0]
        self.assertEqual((cpu["id"], cpu["kind"], cpu["run"], cpu["queued"]), ("cpu", "cpu", first, 2))
        waiting = self.ctl.start("capture", "command", "--", "true")
        wait_until(lambda: self.ctl.json("status")["queue"]["queued"] == 3, "the third in the queue")
        self.open_gate()
        _, err = waiting.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertIn(b"queued, 2 before it", err)
        for run in (first, second, third):
            self.ctl.wait(run, expect=0)
        self.assertIsNone(self.ctl.json("devices")["devices"][0]["run"])

    def test_a_queued_run_can_be_cancelled(self):
        first = self.ctl.detach("sh", "-c", self.gate())
        marker = self.path("ran")
        second = self.ctl.detach("touch", marker)
        self.ctl.run("cancel", second)
        run = self.ctl.wait(second, expect="cancelled")
        self.assertEqual((run["started_ns"], run["exit_code"]), (None, None))
        self.open_gate()
        self.ctl.wait(first, expect=0)
        self.assertEqual(self.read("ran"), b"")

    def test_a_queue_timeout_passes(self):
        first = self.ctl.detach("sh", "-c", self.gate())
        second = self.ctl.capture("true", options=("--queue-timeout", "200ms"), expect="queue_timeout")
        self.assertEqual((second["state"], second["error"]["code"], second["started_ns"]), ("failed", "queue_timeout", None))
        third = self.ctl.detach("true", options=("--queue-timeout", "10m"))
        self.open_gate()
        self.ctl.wait(first, expect=0)
        self.ctl.wait(third, expect=0)

    def test_runs_without_a_device_do_not_wait_for_it(self):
        first = self.ctl.detach("sh", "-c", self.gate())
        run = self.ctl.capture("true", options=("--device", "none"))
        self.assertEqual((run["state"], run["device"]), ("done", []))
        self.open_gate()
        self.ctl.wait(first, expect=0)


class QueueLimitsTest(DaemonTest):
    CONFIG = "[queue]\nlimit_runs = 3\nrunning_without_device = 2\n"

    def test_a_full_queue_refuses(self):
        first = self.ctl.detach("sh", "-c", self.gate())
        self.ctl.wait_for_state(first, "running")
        waiting = [self.ctl.detach("true") for _ in range(3)]
        ran = self.ctl.run("--json", "capture", "command", "--", "true", expect="queue_full")
        self.assertEqual(ran.error["code"], "queue_full")
        self.open_gate()
        for run in [first, *waiting]:
            self.ctl.wait(run, expect=0)

    def test_so_many_and_no_more_run_without_a_device(self):
        runs = [self.ctl.detach("sh", "-c", self.gate(), options=("--device", "none")) for _ in range(4)]
        for run in runs[:2]:
            self.ctl.wait_for_state(run, "running")
        self.assertEqual([self.ctl.show(run)["state"] for run in runs], ["running", "running", "queued", "queued"])
        self.open_gate()
        for run in runs:
            self.ctl.wait(run, expect=0)


class AcceleratorsTest(DaemonTest):
    CONFIG = f"""
[[device]]
kind = "nvidia"
name = "first"
uuid = "{FIRST_UUID}"

[[device]]
kind = "nvidia"
name = "second"
uuid = "{SECOND_UUID}"

[[device]]
id = "n"
kind = "neuron"
cores = [4, 5]
"""

    def visible(self, *options, environment=None):
        run = self.ctl.capture("sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES;$NEURON_RT_VISIBLE_CORES"', options=options,
                               env=dict(self.ctl.environment, **(environment or {})))
        return run["device"], self.log_of(run["id"]).decode().strip()

    def test_a_command_sees_exactly_what_it_leases(self):
        self.assertEqual(self.visible("--device", "0"), (["0"], f"{FIRST_UUID};"))
        self.assertEqual(self.visible("--device", SECOND_UUID), (["1"], f"{SECOND_UUID};"))
        self.assertEqual(self.visible("--device", "1,0"), (["0", "1"], f"{FIRST_UUID},{SECOND_UUID};"))
        self.assertEqual(self.visible("--device", "n"), (["n"], ";4,5"))
        self.assertEqual(self.visible("--device", "all"), (["0", "1", "n"], f"{FIRST_UUID},{SECOND_UUID};4,5"))
        self.assertEqual(self.visible("--device", "cpu"), (["cpu"], ";"))
        self.assertEqual(self.visible("--device", "none"), ([], ";"))

    def test_the_default_is_what_the_caller_sees_else_the_first(self):
        self.assertEqual(self.visible()[0], ["0"])
        self.assertEqual(self.visible(environment={"CUDA_VISIBLE_DEVICES": "1"}), (["1"], f"{SECOND_UUID};"))
        self.assertEqual(self.visible(environment={"CUDA_VISIBLE_DEVICES": SECOND_UUID[:12]})[0], ["1"])
        self.assertEqual(self.visible(environment={"NEURON_RT_VISIBLE_CORES": "4-5"})[0], ["n"])

    def test_two_devices_run_side_by_side(self):
        # Each waits for the other to have started: one after the other they would never end.
        one, two = self.path("one"), self.path("two")
        first = self.ctl.detach("sh", "-c", f"touch {one}; until [ -e {two} ]; do sleep 0.02; done", options=("--device", "0"))
        second = self.ctl.detach("sh", "-c", f"touch {two}; until [ -e {one} ]; do sleep 0.02; done", options=("--device", "1"))
        self.ctl.wait(first, expect=0)
        self.ctl.wait(second, expect=0)

    def test_a_run_on_both_waits_for_both_and_is_not_overtaken(self):
        holder = self.ctl.detach("sh", "-c", self.gate(), options=("--device", "0"))
        self.ctl.wait_for_state(holder, "running")
        both = self.ctl.detach("true", options=("--device", "0,1"))
        later = self.ctl.detach("true", options=("--device", "1"))
        self.assertEqual(self.ctl.show(both)["state"], "queued")
        self.assertEqual(self.ctl.show(later)["state"], "queued")
        self.open_gate()
        runs = [self.ctl.wait(run, expect=0) for run in (holder, both, later)]
        self.assertLessEqual(int(runs[0]["ended_ns"]), int(runs[1]["started_ns"]))
        self.assertLessEqual(int(runs[1]["ended_ns"]), int(runs[2]["started_ns"]))

    def test_devices_are_listed(self):
        devices = self.ctl.json("devices")["devices"]
        self.assertEqual([device["id"] for device in devices], ["cpu", "0", "1", "n"])
        self.assertEqual(devices[1]["uuid"], FIRST_UUID)
        self.assertEqual(set(devices[1]), {"id", "kind", "name", "uuid", "run", "run_uid", "session", "session_uid",
                                           "held_since_ns", "queued", "health", "trouble", "remedy", "nvidia",
                                           "neuron", "clocks", "peaks"})
        self.assertIn("first", self.ctl.run("devices").text)


if __name__ == "__main__":
    unittest.main()
