"""Imports in system mode: kprofd reads what its callers may read, and nothing that it could read itself. Needs root."""

import os
import re
import unittest

import kprof_testing
from kprof_certificates import Authority, RemoteClient
from kprof_node import ALICE, BOB, KPROFD_UID, Caller, Node
from kprof_testing import wait_until
from test_import import chrome_trace
from test_remote_captures import NodeWithAccounts


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NodeImportTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        self.node = Node(self.folder)
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        self.alice = Caller(self.node, ALICE)
        self.bob = Caller(self.node, BOB)

    def write(self, name, content, owner, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def test_a_file_that_only_its_owner_may_read_is_theirs_alone(self):
        path = self.write("a.json", chrome_trace(20), ALICE)
        self.bob.run("import", path, expect="not_permitted")
        run = self.alice.json("import", path)
        self.assertEqual((run["state"], run["uid"], run["trace"]["slices"]), ("done", ALICE, 20))
        rows = self.alice.json("query", "--run", run["id"], "SELECT count(*) FROM slice")["rows"]
        self.assertEqual(rows, [[20]])
        self.bob.run("query", "--run", run["id"], "SELECT count(*) FROM slice", expect="not_found")
        self.bob.run("export", run["id"], "--format", "csv", "-o", "-", expect="not_found")
        self.assertEqual(self.bob.json("query", "SELECT count(*) FROM trace")["rows"], [[0]])

    def test_the_same_bytes_of_two_users_are_two_runs(self):
        first = self.alice.json("import", self.write("a.json", chrome_trace(5), ALICE))["id"]
        second = self.bob.json("import", self.write("b.json", chrome_trace(5), BOB))["id"]
        self.assertNotEqual(first, second)
        again = self.alice.json("import", self.write("c.json", chrome_trace(5), ALICE))["id"]
        self.assertEqual(again, first)

    def test_what_kprofd_alone_may_read_is_not_read_for_anybody(self):
        path = self.write("state.json", chrome_trace(5), KPROFD_UID)
        self.alice.run("import", path, expect="not_permitted")
        self.assertEqual(self.alice.json("query", "SELECT count(*) FROM run")["rows"], [[0]])

    def test_a_shared_trace_is_for_everybody(self):
        run = self.alice.json("import", self.write("a.json", chrome_trace(7), ALICE), "--shared")["id"]
        self.assertEqual(self.bob.json("query", "--run", run, "SELECT count(*) FROM slice")["rows"], [[7]])
        self.assertIn("step 1", self.bob.run("export", run, "--format", "csv", "-o", "-").text)
        self.bob.run("delete", run, expect="not_permitted")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RemoteImportTest(unittest.TestCase):
    def setUp(self):
        kprof_testing.need_programs()
        self.folder = self.enterContext(kprof_testing.temporary_folder())
        lab = Authority(self.folder, "lab CA")
        os.chmod(lab.folder, 0o755)
        lab.revoke()
        certificate, key = lab.issue("node", "serverAuth", "DNS:localhost,IP:127.0.0.1")
        os.chown(key, KPROFD_UID, KPROFD_UID)
        self.node = NodeWithAccounts(self.folder, f"""
[listen]
address = "127.0.0.1:0"
certificate = "{certificate}"
key = "{key}"
client_ca = "{lab.pem}"
revoked = "{lab.revoked}"
[[certificate]]
name = "mapped"
role = "viewer"
user = "kprof-test-alice"
[[certificate]]
name = "nobody"
role = "viewer"
""")
        self.node.identity = {}  # it becomes kprofd's user when its passwd is in place
        self.addCleanup(self.node.end)
        self.node.start_helper()
        self.node.start()
        found = wait_until(lambda: re.search(r"listening for remote clients address=(\S+)", self.node.log()), "it listens")
        self.mapped = RemoteClient(found.group(1), lab.pem, *lab.issue("mapped"))
        self.nobody = RemoteClient(found.group(1), lab.pem, *lab.issue("nobody"))
        self.trace = os.path.join(self.folder, "far.json")
        with open(self.trace, "wb") as file:
            file.write(chrome_trace(3000))

    def test_a_file_is_sent_to_the_node_and_is_the_mapped_users(self):
        run = self.mapped.json("import", self.trace)
        self.assertEqual((run["state"], run["uid"], run["trace"]["slices"]), ("done", ALICE, 3000))
        self.assertEqual(os.listdir(os.path.join(self.node.state, "tmp")), [])
        self.assertEqual(self.mapped.json("import", self.trace)["id"], run["id"])
        rows = self.mapped.json("query", "--run", "@last", "SELECT count(*), min(name) FROM slice")["rows"]
        self.assertEqual(rows, [[3000, "step 0"]])
        exported = os.path.join(self.folder, "back.csv")
        self.mapped.run("export", "@last", "--format", "csv", "-o", exported)
        with open(exported, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 3001)

    def test_who_is_no_user_of_the_node_imports_nothing(self):
        self.nobody.run("import", self.trace, expect="not_permitted")
        self.assertEqual(os.listdir(os.path.join(self.node.state, "tmp")), [])
