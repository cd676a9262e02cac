"""The installed service under a real systemd: a small Debian is booted in a container, the package installed, and what
docs/operations.md promises is tried. KPROF_PACKAGE names the package; .ci/check_package builds it.
"""

import json
import os
import re
import shutil
import unittest

import debian_node
from debian_node import BootedNode, wait_until

PACKAGE = os.environ.get("KPROF_PACKAGE", "")
# Starts a unit as ann with a channel as its input, finds a process of hers by its mark and ends it, opens a file of hers
# as her, having dropped all rights for good.
HELPER_WORK = r"""
exec >/var/lib/kprofd-helper/seen
channel='cat; grep NoNewPrivs /proc/self/status; grep -o "^0::/user.slice/user-1500.slice" /proc/self/cgroup | cut -c4-'
echo hello | systemd-run --quiet --collect --pipe --uid=1500 --gid=1500 --slice=user-1500.slice sh -c "$channel"
systemd-run --quiet --collect --uid=1500 --unit=victim --setenv=KPROF_RUN_ID=marked sleep 1000
pid=$(systemctl show --value --property=MainPID victim)
until tr '\0' '\n' </proc/$pid/environ | sed -n 's/^KPROF_RUN_ID=//p' | grep marked; do sleep 0.1; done
kill -9 $pid && echo killed
as_ann='cat /tmp/of_ann; grep CapBnd /proc/self/status'
setpriv --reuid=1500 --regid=1500 --init-groups --bounding-set=-all --inh-caps=-all sh -c "$as_ann"
"""
# Of the build that the package is from, beside it.
HOSTILE = os.path.join(os.path.dirname(os.path.dirname(PACKAGE)), "bin", "hostile_command")
# The same, for a driver: where units, whose environment nobody chooses, find it.
DRIVER = os.path.join(os.path.dirname(HOSTILE), "libnvml_stand_in.so")
DRIVER_CONTROL = os.path.join(os.path.dirname(HOSTILE), "nvml_stand_in")
MODEL = "/dev/shm/kprof-nvml-stand-in"
CTL = ("kprofctl", "--socket", "/run/kprofd/kprofd.sock")


def setUpModule():
    if not PACKAGE:
        raise unittest.SkipTest("KPROF_PACKAGE names no package")
    debian_node.need_tools()


class Served(BootedNode):
    """One that is asked by ann, a user as any."""

    def capture_of(self, *command):
        """A detached one of hers; its id."""
        said = self.run(*CTL, "--json", "capture", "command", "--detach", "--device", "none", "--cwd", "/", "--", *command, user="ann")
        return json.loads(said.splitlines()[-1])["id"]

    def capture(self, *command):
        """The same, once it runs."""
        run = self.capture_of(*command)
        self.wait_for_state(run, "running")
        return run

    def show(self, run):
        return json.loads(self.run(*CTL, "--json", "show", run, user="ann"))

    def wait_for_state(self, run, state):
        wait_until(lambda: self.show(run)["state"] == state, f"run {run} to be {state}")


class Service(unittest.TestCase):
    """One node for all: each test leaves it as it found it, with kprofd running."""

    @classmethod
    def setUpClass(cls):
        cls.node = Served(PACKAGE, "booted")
        cls.addClassCleanup(cls.node.close)
        cls.node.install(PACKAGE)

    def setUp(self):
        self.node.run("systemctl", "reset-failed", "kprofd.service", expect=None)
        self.node.run("systemctl", "start", "kprofd.socket", "kprofd.service")

    def tearDown(self):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            print(self.node.journal("kprofd*")[-4000:])

    def pid(self):
        return int(self.node.property("kprofd.service", "MainPID"))

    def kill(self, signal_name):
        self.node.run("systemctl", "kill", "--kill-who=main", f"--signal={signal_name}", "kprofd.service")

    def status(self, user=None):
        return json.loads(self.node.run(*CTL, "--json", "status", user=user))

    def configure(self, *lines):
        """Until the test has ended; the caller reloads."""
        path = self.node.path("etc/kprofd/kprofd.toml")
        shutil.copy(path, path + ".before")
        self.addCleanup(shutil.move, path + ".before", path)
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    def test_it_is_ready_when_systemd_says_so(self):
        self.assertEqual(self.node.property("kprofd.service", "ActiveState"), "active")
        self.assertEqual(self.node.property("kprofd.service", "Type"), "notify")
        self.assertEqual(self.status()["pid"], int(self.node.run("systemctl", "show", "--value", "--property=MainPID", "kprofd")))

    def test_it_is_kprof_and_its_state_is_nobody_elses(self):
        self.assertEqual(self.node.run("stat", "--format=%U %a", "/var/lib/kprofd").split(), ["kprof", "700"])
        self.assertEqual(self.node.run("stat", "--format=%U %a", "/run/kprofd").split(), ["root", "755"])
        self.assertEqual(self.node.run("stat", "--format=%a", "/run/kprofd/kprofd.sock").strip(), "666")
        self.assertEqual(self.node.run("stat", "--format=%U", f"/proc/{self.pid()}").strip(), "kprof")

    def test_every_user_reaches_it(self):
        self.assertEqual(self.status(user="ann")["mode"], "system")

    def test_a_client_starts_it(self):
        self.node.run("systemctl", "stop", "kprofd.service")
        self.assertEqual(self.node.property("kprofd.service", "ActiveState"), "inactive")
        self.assertGreater(self.status()["pid"], 0)
        self.assertEqual(self.node.property("kprofd.service", "ActiveState"), "active")

    def test_no_client_finds_nobody_while_it_restarts(self):
        asking = self.node.start("sh", "-c", f"for i in $(seq 60); do {' '.join(CTL)} status >/dev/null || echo failed; done")
        for _ in range(3):
            self.node.run("systemctl", "restart", "kprofd.service")
        out, err = asking.communicate(timeout=120)
        self.assertEqual((out, err), ("", ""))

    def test_a_stopped_process_is_ended_by_the_watchdog(self):
        folder = "/run/systemd/system/kprofd.service.d"
        self.node.run("mkdir", "-p", folder)
        self.node.run("sh", "-c", f"printf '[Service]\\nWatchdogSec=2s\\n' >{folder}/test.conf")
        self.addCleanup(self.node.run, "sh", "-c", f"rm -r {folder} && systemctl daemon-reload && systemctl restart kprofd")
        self.node.run("systemctl", "daemon-reload")
        self.node.run("systemctl", "restart", "kprofd.service")
        before = self.pid()
        self.kill("SIGSTOP")
        wait_until(lambda: self.pid() not in (0, before), "another kprofd")
        self.assertIn("Watchdog timeout", self.node.journal("kprofd.service"))
        self.assertNotEqual(self.status()["pid"], before)

    def test_a_killed_one_comes_back(self):
        before = self.pid()
        self.kill("SIGKILL")
        self.assertNotEqual(wait_until(lambda: self.pid() not in (0, before) and self.status()["pid"], "another kprofd"), before)

    def test_a_killed_helper_comes_back_and_its_runs_go_on(self):
        run = self.node.capture("sh", "-c", "until [ -e /run/helper-killed ]; do sleep 0.1; done")
        before = self.node.property("kprofd-helper.service", "MainPID")
        self.node.run("systemctl", "kill", "--kill-who=main", "--signal=SIGKILL", "kprofd-helper.service")
        wait_until(lambda: self.node.property("kprofd-helper.service", "MainPID") != before, "it to be gone")
        self.assertEqual(self.node.show(run)["state"], "running")
        self.node.wait_for_state(self.node.capture_of("true"), "done")  # the next one is asked by its socket
        self.node.run("touch", "/run/helper-killed")
        self.node.wait_for_state(run, "done")

    def test_of_a_killed_one_no_run_is_left(self):
        run = self.node.capture("sleep", "1000")
        unit = f"kprof-run-{run}.service"
        self.assertEqual(self.node.property(unit, "ActiveState"), "active")
        before = self.pid()
        self.kill("SIGKILL")
        wait_until(lambda: self.pid() not in (0, before), "another kprofd")
        self.node.wait_for_state(run, "failed")
        said = json.loads(self.node.run(*CTL, "--json", "show", run, user="ann"))
        self.assertEqual(said["error"]["code"], "lost_daemon")
        wait_until(lambda: self.node.property(unit, "ActiveState") == "inactive", "its unit to be gone")

    def install_driver(self):
        """The stand-in for NVIDIA's, which everybody may ask and root alone may set."""
        shutil.copy(DRIVER, self.node.path("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"))
        shutil.copy(DRIVER_CONTROL, self.node.path("usr/local/bin/nvml_stand_in"))
        self.addCleanup(self.node.run, "rm", "-f", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", MODEL)
        self.driver("init", "h200")
        self.driver("set", "node", "permission", "root")
        self.node.run("chmod", "666", MODEL)
        self.node.run("systemctl", "restart", "kprofd.service")

    def driver(self, *words):
        return self.node.run("nvml_stand_in", MODEL, *words)

    def settings(self):
        shown = json.loads(self.driver("show", "0"))
        return {name: shown[name] for name in ("lock", "persistence", "power_limit_mw", "app_clocks")}

    def keepers(self):
        said = self.node.run("systemctl", "list-units", "--plain", "--no-legend", "--state=active,activating", "kprof-clocks-*")
        return [line.split()[0] for line in said.splitlines()]

    def lock(self):
        said = self.node.run(*CTL, "--json", "capture", "command", "--detach", "--device", "0", "--clocks", "lock,power=600", "--cwd",
                             "/", "--", "sleep", "1000", user="ann")
        run = json.loads(said.splitlines()[-1])["id"]
        self.node.wait_for_state(run, "running")
        self.assertEqual(self.settings()["lock"], {"min_mhz": 1500, "max_mhz": 1500}, self.node.show(run)["trust"])
        return run

    def wait_until_as_before(self, before):
        wait_until(lambda: self.settings() == before, "the device to be as it was")
        wait_until(lambda: not self.keepers(), "who held its clocks to be gone")
        held = self.node.path("var/lib/kprofd-helper/clocks")
        self.assertEqual([name for name in os.listdir(held) if name.endswith(".held")], [])

    def test_clocks_are_held_by_units_of_their_own_and_always_given_back(self):
        self.install_driver()
        before = self.settings()
        devices = json.loads(self.node.run(*CTL, "--json", "devices", user="ann"))["devices"]
        self.assertEqual([(device["id"], device["health"]) for device in devices], [("cpu", "ok"), ("0", "ok")])
        run = self.lock()
        (keeper,) = self.keepers()
        self.assertEqual(self.node.property(keeper, "CapabilityBoundingSet"), "cap_sys_admin")
        self.node.run("systemctl", "kill", "--kill-who=main", "--signal=SIGKILL", "kprofd-helper.service")
        wait_until(lambda: self.node.property("kprofd-helper.service", "ActiveState") != "active", "the helper to be gone")
        self.assertNotEqual(self.settings(), before, "it is not the helper who holds them")
        self.node.run(*CTL, "cancel", run, user="ann")
        self.node.wait_for_state(run, "cancelled")
        self.assertEqual(self.settings(), before)
        with self.subTest("kprofd is killed"):
            self.lock()
            self.kill("SIGKILL")
            self.wait_until_as_before(before)
        with self.subTest("so is who holds them, before anybody could start another"):
            wait_until(lambda: self.node.property("kprofd.service", "ActiveState") == "active", "another kprofd")
            wait_until(lambda: not self.status()["queue"]["running"], "the device to be free")
            self.lock()
            self.kill("SIGSTOP")
            self.node.run("systemctl", "kill", "--signal=SIGKILL", *self.keepers())
            wait_until(lambda: not self.keepers(), "it to be gone")
            self.assertNotEqual(self.settings(), before)
            self.kill("SIGKILL")
            self.wait_until_as_before(before)  # by ExecStopPost, or the kprofd after it
            wait_until(lambda: "are given back" in self.node.journal("kprofd.service"), "ExecStopPost to say so")

    def test_a_hostile_command_gets_nothing_in_its_unit(self):
        shutil.copy(HOSTILE, self.node.path("usr/local/bin/hostile_command"))
        self.addCleanup(os.unlink, self.node.path("usr/local/bin/hostile_command"))
        self.node.capture_of("true")  # the helper runs
        helper = self.node.property("kprofd-helper.service", "MainPID")
        run = self.node.capture_of("hostile_command", "--read", "/etc/shadow", "--read", "/var/lib/kprofd", "--read",
                              "/var/lib/kprofd/catalog.db", "--read", "/var/lib/kprofd-helper/grants", "--write",
                              "/var/lib/kprofd/catalog.db", "--write", "/etc/kprofd/kprofd.toml", "--connect",
                              "/run/kprofd-helper/helper.sock", "--signal", str(self.pid()), "--signal", helper)
        wait_until(lambda: self.node.show(run)["state"] in ("done", "failed"), "it to give up")
        table = self.node.run(*CTL, "logs", run, user="ann")
        print(table)
        self.assertGreater(len(table.splitlines()), 9)
        self.assertEqual([line for line in table.splitlines() if line.endswith("DONE")], [])

    def test_the_journal_has_priorities_and_no_second_time(self):
        entries = self.node.run("journalctl", "--unit=kprofd.service", "--output=json", "--no-pager", "--identifier=kprofd")
        ready = [json.loads(line) for line in entries.splitlines() if "kprofd is ready" in line][-1]
        self.assertEqual(ready["PRIORITY"], "6")
        self.assertTrue(ready["MESSAGE"].startswith("info kprofd is ready"), ready["MESSAGE"])

    def test_settings_that_make_no_sense_are_said_once_and_close_the_door(self):
        self.configure("nonsense = 1")
        before = self.pid()
        self.node.run("systemctl", "reload", "kprofd.service", expect=1)
        self.assertIn("there is no setting 'nonsense' here", self.node.journal("kprofd.service"))
        self.assertEqual(self.node.property("kprofd.service", "ActiveState"), "active")
        self.kill("SIGHUP")  # kprofd looks itself, too
        wait_until(lambda: "the settings stay as they are" in self.node.journal("kprofd.service"), "a complaint")
        self.assertEqual(self.status()["pid"], before)
        self.node.run("systemctl", "restart", "kprofd.service", expect=1)
        self.assertEqual(self.node.property("kprofd.service", "Result"), "exit-code")
        self.assertEqual(self.node.property("kprofd.service", "NRestarts"), "0")

    def test_the_helpers_sandbox_allows_its_work_and_reaches_no_command(self):
        """Its unit, with a script that does what the helper does in place of the helper."""
        with open(os.path.join(debian_node.ROOT, "deploy", "kprofd-helper.service"), encoding="utf-8") as file:
            unit = re.sub(r"(?m)^(Requires|After)=.*\n", "", file.read())
        unit = re.sub(r"(?m)^ExecStart=.*", "ExecStart=/bin/sh /root/helper-work", unit).replace("Type=simple", "Type=oneshot")
        with open(self.node.path("etc/systemd/system/helper-work.service"), "w", encoding="utf-8") as file:
            file.write(unit)
        with open(self.node.path("root/helper-work"), "w", encoding="utf-8") as file:
            file.write(HELPER_WORK)
        self.node.run("sh", "-c", "umask 077; echo of ann >/tmp/of_ann; chown ann /tmp/of_ann")
        self.node.run("systemctl", "daemon-reload")
        self.node.run("systemctl", "start", "helper-work.service", expect=None)
        with open(self.node.path("var/lib/kprofd-helper/seen"), encoding="utf-8") as file:
            seen = file.read().split("\n")
        self.assertEqual(seen, ["hello", "NoNewPrivs:\t0", "/user.slice/user-1500.slice", "marked", "killed", "of ann",
                                "CapBnd:\t0000000000000000", ""])

    def test_an_upgrade_waits_for_the_runs(self):
        # Root may see nothing of it, and yet it is waited for.
        self.configure("[access]", 'admins = ["ann"]')
        self.node.run("systemctl", "reload", "kprofd.service")
        before = self.pid()
        run = self.node.capture("sh", "-c", "until [ -e /run/go ]; do sleep 0.1; done")
        said = self.node.install(debian_node.with_version(PACKAGE, "9.0", debian_node.CACHE))
        self.assertIn("takes over when no run is under way", said)
        wait_until(lambda: "waiting for 1 runs" in self.node.journal("kprofd-restart.service"), "the upgrade to wait")
        self.assertEqual(self.pid(), before)
        self.assertEqual(self.node.show(run)["state"], "running")
        self.node.run("touch", "/run/go")
        self.node.wait_for_state(run, "done")
        wait_until(lambda: self.pid() not in (0, before), "the new kprofd")
        self.assertEqual(self.node.show(run)["state"], "done")


class Removal(unittest.TestCase):
    """A node of its own: it is not the same afterwards."""

    def test_a_remove_stops_it_and_a_purge_takes_all(self):
        node = Served(PACKAGE, "removed")
        self.addCleanup(node.close)
        node.install(PACKAGE)
        self.assertEqual(node.property("kprofd.service", "ActiveState"), "active")
        run = node.capture("sleep", "4321")
        said = node.run("dpkg", "--remove", "kprof", limit_s=120)
        self.assertIn("stopping kprofd", said)
        self.assertNotIn("/proc", node.run("sh", "-c", "grep -l -z '^432[1]$' /proc/[0-9]*/cmdline 2>&- || true"))
        self.assertEqual(node.property("kprofd.service", "ActiveState"), "inactive")
        self.assertFalse(os.path.exists(f"/proc/{node.init}/root/run/kprofd/kprofd.sock"))
        node.install(PACKAGE)
        self.assertEqual(node.show(run)["error"]["code"], "lost_daemon")
        node.run("sh", "-c", "echo ann >/etc/kprofd/remote-users")
        node.run("dpkg", "--purge", "kprof", limit_s=120)
        self.assertFalse(os.path.exists(node.path("var/lib/kprofd")))
        self.assertFalse(os.path.exists(node.path("etc/kprofd")))
        self.assertEqual(node.run("systemctl", "list-unit-files", "--no-legend", "kprof*", expect=None).strip(), "")

    def test_a_purge_empties_a_file_system_of_its_own_and_leaves_what_others_made(self):
        node = Served(PACKAGE, "purged")
        self.addCleanup(node.close)
        node.run("mkdir", "/var/lib/kprofd")
        node.run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/kprofd")
        node.install(PACKAGE)
        node.wait_for_state(node.capture_of("true"), "done")
        node.run("sh", "-c", "echo key >/etc/kprofd/node.key")
        node.run("sh", "-c", "mkdir /srv/helper && touch /srv/helper/left && rm -rf /var/lib/kprofd-helper && "
                             "ln -s /srv/helper /var/lib/kprofd-helper")
        node.run("dpkg", "--purge", "kprof", limit_s=120)
        self.assertEqual(node.run("ls", "-A", "/var/lib/kprofd"), "")
        self.assertEqual(node.run("ls", "-A", "/srv/helper"), "", "what a link leads to goes as well")
        self.assertFalse(os.path.lexists(node.path("var/lib/kprofd-helper")))
        self.assertEqual(node.run("ls", "-A", "/etc/kprofd"), "node.key\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
