"""The devices while somebody watches: events as they happen, the live view, and what a scraper sees."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

import kprof_testing
from kprof_testing import wait_until
from test_devices import DevicesTest


class Events:
    """A kprofctl devices --events, read as it writes."""

    def __init__(self, ctl):
        self.process = ctl.start("--json", "devices", "--events")
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = b""

    def seen(self):
        self.text += self.process.stdout.read() or b""
        return [json.loads(line) for line in self.text.splitlines(keepends=True) if line.endswith(b"\n")]

    def wait_for(self, kind, device="0"):
        def look():
            return [event for event in self.seen() if (event["kind"], event["device"]) == (kind, device)]
        return wait_until(look, f"an event {kind} of device {device}")[-1]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=kprof_testing.LIMIT_S)
        return self.process.returncode


class DeviceEventsTest(DevicesTest):
    def test_what_befalls_a_device_is_told_as_it_happens(self):
        self.daemon.start()
        events = self.events()
        session = self.ctl.json("session", "open", "--device", "0", "--clocks", "lock")
        self.assertEqual(events.wait_for("leased")["text"], "to session " + session["id"])
        self.assertEqual(events.wait_for("locked")["value"], 1500)
        self.model.control("event", "0", "xid", "79")
        wait_until(lambda: any((event["kind"], event["value"]) == ("xid", 79) for event in events.seen()), "the Xid")
        self.ctl.run("session", "close", session["id"])
        events.wait_for("unlocked")
        events.wait_for("released")
        self.model.set(1, "lost", 1)
        self.assertIn("lost", events.wait_for("health", device="1")["text"])
        self.assertEqual(events.end(), 0)

    def events(self):
        """They are being told."""
        events = Events(self.ctl)
        self.addCleanup(events.process.wait)
        self.addCleanup(events.process.kill)
        wait_until(lambda: self.model.control("event", "0", "xid", "13") or events.seen(), "events to be told", every_s=0.1)
        return events

    def test_a_daemon_that_was_away_is_watched_again(self):
        self.daemon.start()
        events = self.events()
        self.daemon.kill()
        self.daemon.start()
        wait_until(lambda: self.ctl.capture("true", options=("--device", "0")) and
                   any(event["kind"] == "leased" for event in events.seen()), "it to watch again")
        self.assertEqual(events.end(), 0)

    def test_a_daemon_that_stops_ends_its_watches_and_does_not_wait_for_them(self):
        self.daemon.start()
        events = self.events()
        began = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assertLess(time.monotonic() - began, 10 * kprof_testing.SLOW)
        events.process.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(events.process.returncode, kprof_testing.EXIT["no_daemon"])


class LiveViewTest(DevicesTest):
    def view(self, columns=120, rows=30, **environment):
        """kprofctl devices --watch on a terminal of its own: its process, and what reads the terminal."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        subprocess.run(["stty", "rows", str(rows), "cols", str(columns)], stdin=slave, check=True)
        before = subprocess.run(["stty", "-g"], stdin=slave, check=True, capture_output=True).stdout
        process = subprocess.Popen([*self.ctl.command("devices", "--watch")], stdin=slave, stdout=slave,
                                   stderr=subprocess.PIPE,
                                   env=dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8", **environment))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.screen = b""

        def read():
            while select.select([master], [], [], 0)[0]:
                try:
                    self.screen += os.read(master, 65536)
                except OSError:
                    break
            return self.screen

        def settings():
            return subprocess.run(["stty", "-g"], stdin=slave, check=True, capture_output=True).stdout

        self.assert_restored = lambda: self.assertEqual(settings(), before)
        return process, master, read

    def see(self, read, pattern):
        return wait_until(lambda: re.search(pattern, read(), re.DOTALL), f"the screen to show {pattern}")

    def test_it_shows_the_devices_and_what_befalls_them_and_leaves_the_terminal_as_it_was(self):
        self.daemon.start()
        self.model.set(0, "load", 100)
        process, master, read = self.view()
        self.see(read, rb"\x1b\[\?1049h.*NVIDIA H200")
        run = self.ctl.detach("sleep", "600", options=("--device", "0", "--clocks", "lock"))
        self.see(read, rb"1500 of 1500 MHz")
        self.see(read, b"run " + run.encode())
        self.see(read, rb"EVENTS.*leased.*to run " + run.encode())
        os.write(master, b"q")
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), 0)
        self.see(read, rb"\x1b\[\?25h\x1b\[\?1049l$")
        self.assert_restored()
        self.ctl.run("cancel", run)

    def test_a_signal_leaves_the_terminal_as_it_was(self):
        self.daemon.start()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process, _, read = self.view(NO_COLOR="1")
                self.see(read, rb"NVIDIA H200")
                self.assertNotIn(b"\x1b[1m", read())
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), 0)
                self.see(read, rb"\x1b\[\?1049l$")
                self.assert_restored()

    def test_it_stays_while_the_daemon_is_away(self):
        self.daemon.start()
        process, master, read = self.view()
        self.see(read, rb"NVIDIA H200")
        self.daemon.kill()
        self.see(read, rb"kprofd is away")
        self.daemon.start()
        self.screen = b""
        self.see(read, rb"NVIDIA H200")
        wait_until(lambda: b"kprofd is away" not in self.fresh(read), "it to be back")
        os.write(master, b"q")
        self.assertEqual(process.wait(timeout=kprof_testing.LIMIT_S), 0)

    def fresh(self, read):
        self.screen = b""
        time.sleep(1.2)
        return read()

    def test_without_a_terminal_it_prints_the_list_again_and_again(self):
        self.daemon.start()
        process = self.ctl.start("devices", "--watch")
        time.sleep(2.5)
        process.kill()
        text = process.communicate(timeout=kprof_testing.LIMIT_S)[0].decode()
        self.assertGreaterEqual(text.count("NVIDIA H200"), 2)
        self.assertNotIn("\x1b", text)


class ScrapedDevicesTest(DevicesTest):
    def setUp(self):
        super().setUp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.daemon.configure(f'http = "127.0.0.1:{self.port}"\n')

    def test_a_scraper_sees_what_the_devices_tell_now(self):
        self.daemon.start()
        self.model.set(0, "load", 100)
        session = self.ctl.json("session", "open", "--device", "0", "--clocks", "lock=1200")
        text = self.scrape()
        self.assertIn('kprof_device_info{device="0",kind="nvidia",', text)
        self.assertEqual(self.value(text, "kprof_device_up"), 1)
        self.assertEqual(self.value(text, "kprof_device_sm_clock_hertz"), 1.2e9)
        self.assertEqual(self.value(text, "kprof_device_sm_clock_locked_hertz"), 1.2e9)
        self.assertEqual(self.value(text, "kprof_device_busy_ratio"), 1)
        self.assertGreater(self.value(text, "kprof_device_power_watts"), 100)
        self.assertEqual(self.value(text, "kprof_device_throttled", 'device="0",reason="power_cap"'), 0)
        self.assertNotIn('device="cpu",kind', text)
        self.ctl.run("session", "close", session["id"])
        self.model.set(0, "load", 0)
        text = self.scrape()
        self.assertEqual(self.value(text, "kprof_device_sm_clock_locked_hertz"), 0)
        self.assertEqual(self.value(text, "kprof_device_busy_ratio"), 0)

    def test_events_are_counted(self):
        self.daemon.start()
        self.model.control("event", "0", "xid", "79")
        wait_until(lambda: 'kprof_device_events_total{device="0",kind="xid"} 1\n' in self.scrape(), "it to be counted")

    def test_one_that_hangs_makes_nobody_wait_long_and_tells_nothing(self):
        self.model.set(1, "hang", "all", 600000)
        self.daemon.start()
        wait_until(lambda: self.value(self.scrape(), "kprof_device_up", 'device="1"') == 0, "it to be noticed", every_s=0.2)
        began = time.monotonic()
        text = self.scrape()
        self.assertLess(time.monotonic() - began, 3 * kprof_testing.SLOW)
        self.assertEqual(self.value(text, "kprof_device_up"), 1)
        self.model.set("all", "faults_clear")

    def scrape(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=kprof_testing.LIMIT_S) as answer:
            return answer.read().decode()

    def value(self, text, name, labels='device="0"'):
        found = re.search(rf"^{name}{{{labels}}} (\S+)$", text, re.MULTILINE)
        self.assertIsNotNone(found, f"{name} in {text}")
        return float(found.group(1))


if __name__ == "__main__":
    unittest.main()
