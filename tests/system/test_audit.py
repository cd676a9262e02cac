"""The audit of a running daemon: what is done leaves one entry each, across restarts and crashes, and none can be changed."""

import os
import signal
import sqlite3
import unittest

from kprof_testing import OwnDaemonTest, wait_until


class AuditTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.configure("")
        self.daemon.start()
        self.ctl = self.daemon.ctl
        wait_until(self.audit, "the start's entry")  # the daemon serves before it is stored

    def audit(self, *options):
        """Oldest first."""
        answer = self.ctl.json("audit", "--limit", "1000", *options)
        self.assertEqual(answer["schema"], "kprof.audit.v1")
        return answer["entries"][::-1]

    def deeds(self, *options):
        return [(entry["action"], entry["outcome"]) for entry in self.audit(*options)]

    def assert_deeds(self, *expected):
        """What is recorded by itself may follow its deed by a moment."""
        wait_until(lambda: len(self.deeds()) >= len(expected), f"{len(expected)} entries")
        self.assertEqual(self.deeds(), list(expected))

    def test_a_run_from_its_submission_to_its_deletion(self):
        run = self.ctl.capture("true")["id"]
        self.ctl.run("pin", run)
        self.ctl.run("unpin", run)
        self.ctl.run("backup", os.path.join(self.folder, "copy.db"))
        self.ctl.run("delete", run)
        self.assert_deeds(("start", "ok"), ("submit", "ok"), ("lease_granted", "ok"), ("lease_ended", "ok"), ("pin", "ok"),
                          ("unpin", "ok"), ("backup", "ok"), ("delete", "ok"))
        for entry in self.audit():
            self.assertEqual(entry["uid"], os.getuid())
            if entry["action"] not in ("start", "backup"):
                self.assertEqual((entry["run"], entry["device"]), (run, ["cpu"]))

    def test_who_is_recorded_by_the_daemon_says_so(self):
        self.ctl.capture("true")
        self.assertEqual({entry["action"]: entry["caller"] for entry in self.audit()},
                         {"start": "kprofd", "submit": "local", "lease_granted": "kprofd", "lease_ended": "kprofd"})

    def test_a_crash_is_seen(self):
        run = self.ctl.detach("sleep", "1000")
        self.ctl.wait_for_state(run, "running")
        self.daemon.kill()
        self.daemon.start()
        self.assert_deeds(("start", "ok"), ("submit", "ok"), ("lease_granted", "ok"),
                          ("lease_ended", "lost_daemon"), ("start", "ok"))

    def test_so_is_a_stop_in_good_order(self):
        run = self.ctl.detach("sleep", "1000")
        self.ctl.wait_for_state(run, "running")
        self.daemon.stop()
        self.daemon.start()
        self.assert_deeds(("start", "ok"), ("submit", "ok"), ("lease_granted", "ok"),
                          ("lease_ended", "lost_daemon"), ("stop", "ok"), ("start", "ok"))

    def test_what_is_so_already_is_no_deed(self):
        run = self.ctl.capture("true")["id"]
        for _ in range(20):
            self.assertTrue(self.ctl.json("pin", run)["pinned"])
        self.assertEqual([deed for deed, _ in self.deeds()].count("pin"), 1)

    def reload(self, config):
        before = len(self.audit())
        self.daemon.configure(config)
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.audit()) > before, "the reload's entry")
        entry = self.audit()[-1]
        self.assertEqual((entry["action"], entry["caller"]), ("reload", "kprofd"))
        return entry["outcome"], entry["detail"]

    def test_a_reload_says_what_changed(self):
        self.assertEqual(self.reload(""), ("ok", "no setting has changed"))
        self.assertEqual(self.reload("log_level = \"warning\"\n[limits]\ncalls_per_user = 50\n[queue]\nlimit_runs = 7\n"),
                         ("ok", "[limits], log_level; for the next start: [queue]"))
        outcome, detail = self.reload("log_level = \"loud\"\n")
        self.assertEqual(outcome, "usage")
        self.assertIn("'log_level' 'loud' is not one of", detail)

    def test_so_is_a_restore(self):
        copy = os.path.join(self.folder, "copy.db")
        self.ctl.run("backup", copy)
        self.daemon.stop()
        self.assertEqual(self.daemon.restore(copy).returncode, 0)
        self.daemon.start()
        self.assert_deeds(("start", "ok"), ("restore", "ok"), ("start", "ok"))
        self.daemon.stop()
        self.daemon.start()
        self.assert_deeds(("start", "ok"), ("restore", "ok"), ("start", "ok"), ("stop", "ok"), ("start", "ok"))

    def test_it_has_a_bound_and_says_what_went(self):
        run = self.ctl.capture("true")["id"]
        for _ in range(10):
            self.ctl.run("pin", run)
            self.ctl.run("unpin", run)
        self.daemon.configure("[audit]\nmax_entries = 16\n")
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "expire" in [deed for deed, _ in self.deeds()], "entries to go")
        self.assertLess(len(self.audit()), 20)  # what has come since among them
        said = next(entry["detail"] for entry in self.audit() if entry["action"] == "expire")
        self.assertRegex(said, rf"^\d+ entries of up to 20\S+Z: there are more than \[audit\] max_entries \(uid {os.getuid()}: \d+\)$")
        self.assertIn("warning the audit is full", self.daemon.log())

    def test_it_can_be_narrowed(self):
        self.ctl.capture("true")
        self.assertEqual(len(self.audit("--uid", str(os.getuid() + 1))), 0)
        self.assertEqual(len(self.audit("--uid", str(os.getuid()), "--since", "1h")), 4)
        self.assertIn("lease_ended", self.ctl.run("audit", "--limit", "1").text)

    def test_sql_sees_it(self):
        self.ctl.capture("true")
        rows = self.ctl.json("query", "SELECT action, devices FROM audit WHERE run IS NOT NULL ORDER BY id")["rows"]
        self.assertEqual(rows, [["submit", "cpu"], ["lease_granted", "cpu"], ["lease_ended", "cpu"]])

    def test_not_even_who_has_the_file_changes_it_by_the_way(self):
        self.daemon.stop()
        catalog = sqlite3.connect(self.daemon.catalog())
        self.addCleanup(catalog.close)
        for sql in ("UPDATE audit SET uid = 0", "DELETE FROM audit", "INSERT OR REPLACE INTO audit SELECT * FROM audit"):
            with self.assertRaisesRegex(sqlite3.IntegrityError, "append-only"):
                catalog.execute(sql)


if __name__ == "__main__":
    unittest.main()
