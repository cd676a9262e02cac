"""Backing up the catalog, and putting a backup in its place."""

import os
import sqlite3
import stat
import unittest

import kprof_testing
from kprof_testing import Daemon, DaemonTest, OwnDaemonTest, wait_until


class BackUpTest(DaemonTest):
    def test_a_daemon_starts_on_a_backup(self):
        run = self.ctl.capture("echo", "kept", options=("--label", "k=v"))
        failed = self.ctl.capture("false", expect="command_failed")
        done = self.ctl.json("backup", self.path("b.db"))
        self.assertEqual((done["schema"], done["size_bytes"]), ("kprof.backup.v1", os.path.getsize(self.path("b.db"))))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("b.db")).st_mode), 0o600)
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])
        restored = Daemon(self.path("restored"))
        os.makedirs(restored.state)
        os.rename(self.path("b.db"), restored.catalog())
        restored.start()
        try:
            self.assertEqual(restored.ctl.show(run["id"]), run)
            self.assertEqual(restored.ctl.show(failed["id"]), failed)
            self.assertEqual(restored.ctl.json("status")["storage"]["health"], "ok")
            self.assertEqual(restored.ctl.capture("true")["state"], "done")
            # The files are not part of a backup: that is said, not crashed over.
            ran = restored.ctl.run("--json", "artifacts", run["id"], "get", "stdout.log", "-o", self.path("x"), expect=None)
            self.assertNotEqual(ran.code, 0)
            self.assertTrue(ran.error["message"])
        finally:
            self.assertEqual(restored.stop(), 0)

    def test_a_backup_taken_while_runs_come_and_go_is_whole(self):
        runs = [self.ctl.detach("true") for _ in range(20)]
        self.ctl.run("backup", self.path("b.db"))
        for run in runs:
            self.ctl.wait(run, expect=0)
        database = sqlite3.connect(self.path("b.db"))
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        database.close()

    def test_a_backup_goes_to_standard_output_too(self):
        out = self.ctl.run("backup", "-").out
        self.assertTrue(out.startswith(b"SQLite format 3\0"))

    def test_one_that_cannot_be_written_leaves_nothing(self):
        self.ctl.run("backup", "/nonexistent/b.db", expect=None)
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "tmp")), [])


class RestoreTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.backup = os.path.join(self.folder, "b.db")

    def test_a_backup_takes_the_place_of_a_killed_daemons_catalog(self):
        known = self.daemon.ctl.capture("echo", "known")
        self.daemon.ctl.run("backup", self.backup)
        forgotten = self.daemon.ctl.capture("echo", "forgotten")["id"]
        self.daemon.kill()
        self.assertTrue(os.path.exists(self.daemon.catalog("catalog.db-wal")))
        done = self.daemon.restore(self.backup)
        self.assertEqual(done.returncode, 0, done.stderr)
        replaced = done.stdout.split()[-1]
        self.daemon.start()
        self.assertEqual([run["id"] for run in self.daemon.ctl.json("runs")["runs"]], [known["id"]])
        self.assertEqual(self.daemon.ctl.show(known["id"]), known)
        self.assertEqual(self.daemon.ctl.run("logs", known["id"]).out, b"known\n")
        # Nothing of the other one is lost, neither its rows nor its files.
        wait_until(lambda: os.path.exists(os.path.join(self.daemon.state, "lost", forgotten, "stdout.log")), "its files")
        database = sqlite3.connect(replaced)
        self.assertEqual(database.execute("SELECT count(*) FROM runs").fetchall(), [(2,)])
        database.close()

    def test_a_catalog_that_is_gone_is_not_made_anew_over_its_runs_files(self):
        run = self.daemon.ctl.capture("echo", "precious")["id"]
        self.daemon.ctl.run("backup", self.backup)
        self.daemon.stop()
        for gone in (os.unlink, lambda path: open(path, "wb").close()):
            gone(self.daemon.catalog())
            self.daemon.begin()
            self.assertEqual(self.daemon.process.wait(timeout=kprof_testing.LIMIT_S), kprof_testing.EXIT["storage_broken"])
            self.assertIn("--restore", self.daemon.log())
        self.assertEqual(self.daemon.restore(self.backup).returncode, 0)
        self.daemon.start()
        self.assertEqual(self.daemon.ctl.run("logs", run).out, b"precious\n")

    def test_no_name_is_no_backup(self):
        self.daemon.stop()
        done = self.daemon.restore("")
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(self.daemon.answers())

    def test_it_is_refused_while_the_daemon_lives(self):
        run = self.daemon.ctl.capture("true")["id"]
        self.daemon.ctl.run("backup", self.backup)
        done = self.daemon.restore(self.backup)
        self.assertEqual(done.returncode, kprof_testing.EXIT["usage"])
        self.assertIn(f"pid {self.daemon.pid}", done.stderr)
        self.assertEqual(self.daemon.ctl.show(run)["id"], run)

    def test_what_is_no_backup_is_refused_and_changes_nothing(self):
        run = self.daemon.ctl.capture("true")["id"]
        self.daemon.kill()
        for content in (b"", b"hello", b"SQLite format 3\0" + bytes(5000)):
            with open(self.backup, "wb") as file:
                file.write(content)
            done = self.daemon.restore(self.backup)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(self.backup, done.stderr)
        self.assertIn("no such", self.daemon.restore(self.backup + "x").stderr.lower())
        self.daemon.start()
        self.assertEqual(self.daemon.ctl.show(run)["id"], run)


if __name__ == "__main__":
    unittest.main()
