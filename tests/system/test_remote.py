"""A client on another node: kprofctl --node, with certificates made as docs/remote.md says."""

import os
import re
import signal
import socket
import unittest

from kprof_certificates import Authority, RemoteClient
from kprof_testing import Daemon, need_programs, run_kprofd, temporary_folder, wait_until


class RemoteTest(unittest.TestCase):
    def setUp(self):
        need_programs()
        self.folder = self.enterContext(temporary_folder("remote-"))
        self.lab = Authority(self.folder, "lab CA")
        self.lab.revoke()
        self.node = self.lab.issue("node", "serverAuth", "DNS:localhost,IP:127.0.0.1")
        self.ops = self.lab.issue("ops")
        self.daemon = Daemon(self.folder)

    def configure(self, rules='[[certificate]]\nname = "ops"\nrole = "operator"\n', key=None, address="127.0.0.1:0"):
        self.daemon.configure(f"""
[listen]
address = "{address}"
certificate = "{self.node[0]}"
key = "{key or self.node[1]}"
client_ca = "{self.lab.pem}"
revoked = "{self.lab.revoked}"
{rules}""")

    def start(self):
        self.configure()
        self.daemon.start()
        self.addCleanup(self.daemon.stop)
        found = wait_until(lambda: re.search(r"listening for remote clients address=(\S+)", self.daemon.log()), "it listens")
        self.address = found.group(1)

    def remote(self, certificate, *words, **options):
        """kprofctl, as it would be called on another node."""
        return RemoteClient(self.address, self.lab.pem, *certificate).run(*words, **options)

    def reload(self, says="settings were read again"):
        before = self.daemon.log().count(says)
        os.kill(self.daemon.pid, signal.SIGHUP)
        wait_until(lambda: self.daemon.log().count(says) > before, "the settings to be read again")

    def reloads(self):
        """What they took over, as the audit has it; newest first."""
        entries = self.daemon.ctl.json("audit", "--limit", "1000")["entries"]
        return [entry["detail"] for entry in entries if entry["action"] == "reload"]

    def test_an_operator_sees_what_local_users_run(self):
        self.start()
        run = self.daemon.ctl.capture("true")
        self.assertIn(run["id"], self.remote(self.ops, "runs").text)

    def test_without_a_local_user_it_starts_nothing(self):
        self.start()
        self.remote(self.ops, "capture", "command", "--detach", "--", "true", expect="not_permitted")

    def test_a_certificate_without_a_role_is_told_so(self):
        self.start()
        ran = self.remote(self.lab.issue("stranger"), "status", expect="not_permitted")
        self.assertIn(b"your certificate has no role on this node", ran.err)

    def test_a_certificate_is_revoked_without_a_restart(self):
        self.start()
        self.remote(self.ops, "status")
        self.lab.revoke(self.ops[0])
        self.reload()
        self.assertIn(b"is revoked", self.remote(self.ops, "status", expect="not_permitted").err)

    def test_a_reload_that_cannot_use_a_file_keeps_what_was(self):
        self.start()
        os.rename(self.lab.pem, self.lab.pem + ".away")
        self.configure(rules="")
        self.reload(says="the settings stay as they are")
        self.assertNotIn("settings were read again", self.daemon.log())
        os.rename(self.lab.pem + ".away", self.lab.pem)
        self.remote(self.ops, "status")

    def test_an_address_waits_for_the_next_start_as_long_as_it_is_another_one(self):
        self.start()
        waits = "wait for the next start"
        self.configure(address="127.0.0.2:0")
        self.reload()
        self.reload()
        self.assertEqual(self.daemon.log().count(waits), 2)
        self.configure()
        self.reload()
        self.assertEqual(self.daemon.log().count(waits), 2)

    def test_off_holds_at_once_and_another_address_does_not(self):
        self.start()
        self.remote(self.ops, "status")
        host, _, port = self.address.rpartition(":")
        self.configure(address="off")
        self.reload()
        self.assertIn("remote clients are not served any more", self.daemon.log())
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=30)
        self.configure()
        self.reload()
        said = ["no setting has changed; for the next start: [listen] address", "[listen] address"]
        wait_until(lambda: self.reloads() == said, "the audit to say so")

    def test_there_is_no_plaintext(self):
        self.start()
        host, _, port = self.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            self.assertLessEqual(len(plain.recv(4096)), 7)  # an alert at most
        self.remote(self.ops, "status")

    def test_check_config_looks_into_the_files(self):
        self.configure()
        self.assertEqual(run_kprofd(*self.daemon.options(), "--check-config").returncode, 0)
        self.configure(key=self.ops[1])
        checked = run_kprofd(*self.daemon.options(), "--check-config")
        self.assertEqual(checked.returncode, 1)
        self.assertIn("is not the key of", checked.stderr)

    def test_what_has_expired_is_a_warning_as_kprofd_serves_with_it(self):
        self.configure()
        self.node = self.lab.issue("node", "serverAuth", "DNS:localhost", days=-1)
        self.configure()
        checked = run_kprofd(*self.daemon.options(), "--check-config")
        self.assertEqual(checked.returncode, 0)
        self.assertIn("has expired", checked.stderr)

    def test_a_daemon_of_ones_own_starts_nothing_as_another(self):
        self.configure('[[certificate]]\nname = "ops"\nrole = "viewer"\nuser = "daemon"\nallow_system_user = true\n')
        checked = run_kprofd(*self.daemon.options(), "--check-config")
        self.assertEqual(checked.returncode, 1)
        self.assertIn("this daemon is another's own", checked.stderr)


if __name__ == "__main__":
    unittest.main()
