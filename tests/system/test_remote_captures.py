"""Captures from another node on one in system mode: the root helper starts them, as the users whom root has listed, also when
their client follows them. Needs root."""

import os
import re
import signal
import unittest

import kprof_testing
from kprof_certificates import Authority, RemoteClient
from kprof_node import ALICE, BOB, KPROFD_UID, Caller, Node
from kprof_testing import unique_seconds, wait_until


class NodeWithAccounts(Node):
    """One on which alice and bob have accounts, in a passwd of kprofd's own: rules for certificates name users."""

    def begin(self, environment=None):
        passwd = os.path.join(self.folder, "passwd")
        with open("/etc/passwd", encoding="utf-8") as ours, open(passwd, "w", encoding="utf-8") as file:
            file.write(ours.read() + "".join(f"{name}:x:{uid}:{uid}::/:/bin/sh\n" for name, uid in
                                             (("kprof-test-alice", ALICE), ("kprof-test-bob", BOB))))
        super().begin(environment)

    def command(self):
        become = ["setpriv", "--reuid", str(KPROFD_UID), "--regid", str(KPROFD_UID), "--clear-groups"]
        mount = 'mount --bind "$1" /etc/passwd && shift && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mount, "sh", os.path.join(self.folder, "passwd"), *become, *super().command()]


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RemoteCapturesTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        folder = self.enterContext(kprof_testing.temporary_folder())
        self.lab = lab = Authority(folder, "lab CA")
        os.chmod(lab.folder, 0o755)
        lab.revoke()
        certificate, key = lab.issue("node", "serverAuth", "DNS:localhost,IP:127.0.0.1")
        os.chown(key, KPROFD_UID, KPROFD_UID)
        self.node = NodeWithAccounts(folder, f"""
[listen]
address = "127.0.0.1:0"
certificate = "{certificate}"
key = "{key}"
client_ca = "{lab.pem}"
revoked = "{lab.revoked}"
[[certificate]]
name = "listed"
role = "viewer"
user = "kprof-test-alice"
[[certificate]]
name = "unlisted"
role = "viewer"
user = "kprof-test-bob"
""")
        self.node.identity = {}  # it becomes kprofd's user when its passwd is in place
        self.addCleanup(self.node.end)
        with open(self.node.remote_users, "w", encoding="ascii") as file:
            file.write(f"# as whom clients on other nodes may start something\n{ALICE}\n")
        self.node.start_helper()
        self.node.start()
        found = wait_until(lambda: re.search(r"listening for remote clients address=(\S+)", self.node.log()), "it listens")
        certificate, key = lab.issue("listed")
        self.certificate = certificate
        self.listed = RemoteClient(found.group(1), lab.pem, certificate, key)
        self.unlisted = RemoteClient(found.group(1), lab.pem, *lab.issue("unlisted"))

    def test_one_that_its_client_follows_runs_on_the_node_as_the_listed_user(self):
        ended = self.listed.capture("sh", "-c", "id -u; pwd")
        self.assertEqual((ended["state"], ended["uid"], ended["attached"]), ("done", ALICE, True))
        self.assertEqual(self.listed.run("logs", ended["id"]).text, f"{ALICE}\n/\n")
        self.assertIn("launched_in_daemon_cgroup", [reason["code"] for reason in ended["trust"]])
        self.assertIn(ended["id"], Caller(self.node, ALICE).run("runs").text)
        Caller(self.node, BOB).run("show", ended["id"], expect="not_found")

    def test_it_ends_with_its_client(self):
        seconds = unique_seconds()
        client = self.listed.start("--json", "capture", "command", "--", "sleep", seconds,
                                   preexec_fn=kprof_testing.as_in_a_terminal)
        wanted = f"sleep\0{seconds}\0".encode()

        def sleeps():
            return wanted in [line for line, _ in kprof_testing.living_processes().values()]
        wait_until(sleeps, "it to run")
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual(client.returncode, kprof_testing.EXIT["cancelled"])
        wait_until(lambda: not sleeps(), "its processes to be gone")

    def test_a_detached_one_runs_as_the_listed_user(self):
        run = self.listed.detach("id", "-u")
        self.assertEqual(self.listed.wait(run)["state"], "done")
        self.assertEqual(self.listed.run("logs", run).text, f"{ALICE}\n")

    def test_whom_root_has_not_listed_starts_nothing(self):
        for options in ((), ("--detach",)):
            refused = self.unlisted.run("--json", "capture", "command", *options, "--", "id", expect="not_permitted")
            self.assertIn(b"is not one as whom remote clients may", refused.out + refused.err)
        self.assertEqual(self.unlisted.json("runs")["runs"], [])

    def test_whom_root_takes_out_meanwhile_starts_nothing(self):
        holder, waits = (self.listed.detach(*words, options=("--device", "cpu")) for words in (("sleep", "600"), ("true",)))
        wait_until(lambda: self.listed.json("show", holder)["state"] == "running", "the first to run")
        with open(self.node.remote_users, "w", encoding="ascii") as file:
            file.write("# nobody any more\n")
        self.assertEqual(self.listed.json("show", waits)["state"], "queued")
        self.listed.run("cancel", holder)
        ended = self.listed.wait(waits)
        self.assertEqual((ended["state"], ended["error"]["code"]), ("failed", "not_permitted"))
        self.assertIn("is not one as whom remote clients may start something", ended["error"]["message"])
        self.assertIn("have root list it", ended["error"]["remedy"])

    def test_what_waits_of_a_certificate_that_is_revoked_ends(self):
        holder, waits = (self.listed.detach(*words, options=("--device", "cpu")) for words in (("sleep", "600"), ("true",)))
        wait_until(lambda: self.listed.json("show", holder)["state"] == "running", "the first to run")
        self.lab.revoke(self.certificate)
        self.node.process.send_signal(signal.SIGHUP)
        alice = Caller(self.node, ALICE)
        ended = wait_until(lambda: (run := alice.json("show", waits))["state"] == "failed" and run, "it to end")
        self.assertEqual(ended["error"]["code"], "not_permitted")
        self.assertRegex(ended["error"]["message"], r"certificate listed, .* of CN = lab CA\), is revoked")
        self.assertEqual(alice.json("show", holder)["state"], "running")
        alice.run("cancel", holder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
