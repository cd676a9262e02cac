"""The Debian package as dpkg sees it, on a node where no systemd runs: what it holds, that it comes and goes without a
trace, and that it can be built again. KPROF_PACKAGE names the package; .ci/check_package builds it.
"""

import os
import re
import shutil
import tempfile
import unittest

import debian_node
from debian_node import Node, field_of, run

PACKAGE = os.environ.get("KPROF_PACKAGE", "")
STATE = "var/lib/kprofd"


def setUpModule():
    if not PACKAGE:
        raise unittest.SkipTest("KPROF_PACKAGE names no package")


class Contents(unittest.TestCase):
    """Needs no root."""

    def test_lintian_has_nothing_to_say(self):
        if shutil.which("lintian") is None:
            self.skipTest("no lintian")
        self.assertEqual(run("lintian", "--allow-root", "--fail-on", "error,warning", PACKAGE, limit_s=300), "")

    def test_files_are_where_the_hierarchy_wants_them(self):
        listed = run("dpkg-deb", "--contents", PACKAGE)
        modes = {line.split()[5]: line.split()[0] for line in listed.splitlines()}
        for program, mode in (("usr/bin/kprofctl", "-rwxr-xr-x"), ("usr/sbin/kprofd", "-rwxr-xr-x"),
                              ("usr/libexec/kprof/kprof-launch", "-rwx--x--x")):
            self.assertEqual(modes[f"./{program}"], mode, program)
        for file in ("etc/kprofd/kprofd.toml", "usr/lib/systemd/system/kprofd.service", "usr/lib/systemd/system/kprofd.socket",
                     "usr/lib/sysusers.d/kprof.conf", "usr/lib/tmpfiles.d/kprof.conf", "usr/share/man/man1/kprofctl.1.gz",
                     "usr/share/man/man5/kprofd.toml.5.gz", "usr/share/man/man8/kprofd.8.gz",
                     "usr/share/bash-completion/completions/kprofctl", "usr/share/zsh/vendor-completions/_kprofctl",
                     "usr/share/fish/vendor_completions.d/kprofctl.fish", "usr/share/kprof/proto/kprof/v1/runs.proto",
                     "usr/share/doc/kprof/operations.md", "usr/share/doc/kprof/examples/optimise_loop.py", "usr/lib/python3/dist-packages/kprof/__init__.py",
                     "usr/lib/python3/dist-packages/kprof/kernelagent.py", "usr/lib/python3/dist-packages/kprof/py.typed",
                     "usr/lib/python3/dist-packages/kprof/v1/runs_pb2_grpc.py"):
            self.assertEqual(modes[f"./{file}"], "-rw-r--r--", file)
        self.assertTrue(any(name.endswith("/kprof/kprof_trace.so") for name in modes), listed)
        self.assertIn("root/root", listed)
        self.assertEqual(re.findall(r"^\S+ (?!root/root)\S+", listed, re.MULTILINE), [])

    def test_libraries_are_dependencies(self):
        needs = field_of(PACKAGE, "Depends")
        for library in ("libgrpc++", "libprotobuf", "libsqlite3-0", "libc6", "libstdc++6"):
            self.assertIn(library, needs)

    def test_a_unit_says_nothing_that_systemd_does_not_know(self):
        with tempfile.TemporaryDirectory() as root:
            run("dpkg-deb", "--extract", PACKAGE, root)
            # What the units name and Debian brings.
            for needed in ("usr/lib/systemd/system/basic.target", "usr/lib/systemd/system/sysinit.target",
                           "usr/lib/systemd/system/sockets.target", "usr/lib/systemd/system/shutdown.target",
                           "usr/lib/systemd/system/multi-user.target"):
                os.makedirs(os.path.dirname(os.path.join(root, needed)), exist_ok=True)
                with open(os.path.join(root, needed), "w", encoding="utf-8") as file:
                    file.write("[Unit]\n")
            os.makedirs(os.path.join(root, "bin"))
            shutil.copy("/bin/sh", os.path.join(root, "bin/sh"))
            folder = os.path.join(root, "usr/lib/systemd/system")
            units = [name for name in sorted(os.listdir(folder)) if name.startswith("kprofd")]
            said = run("systemd-analyze", "verify", f"--root={root}", "--man=no", *units, expect=None)
        self.assertEqual([line for line in said.splitlines() if "kprof" in line], [])


class Installation(unittest.TestCase):
    """`cmake --install` of the build that the package was made of."""

    def install(self, *options):
        root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, root)
        build = os.path.dirname(os.path.dirname(PACKAGE))
        run("cmake", "--install", build, *options, env={**os.environ, "DESTDIR": root})
        return root

    def read(self, *path):
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()

    def test_it_installs_what_the_package_holds(self):
        listed = run("dpkg-deb", "--contents", PACKAGE)
        packed = {line.split()[5].removeprefix("./") for line in listed.splitlines() if not line.startswith("d")}
        root = self.install()
        installed = {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}
        self.assertEqual(installed, packed)

    def test_units_and_settings_follow_another_prefix(self):
        root = self.install("--prefix", "/opt/kprof")
        unit = self.read(root, "opt/kprof/lib/systemd/system/kprofd.service")
        self.assertIn("ExecStart=/opt/kprof/sbin/kprofd --config /opt/kprof/etc/kprofd/kprofd.toml", unit)
        self.assertTrue(os.path.exists(os.path.join(root, "opt/kprof/sbin/kprofd")))
        unit = self.read(root, "opt/kprof/lib/systemd/system/kprofd-helper.service")
        self.assertIn("ExecStart=/opt/kprof/sbin/kprofd-helper --launcher /opt/kprof/libexec/kprof/kprof-launch "
                      "--clocks /opt/kprof/libexec/kprof/kprof-clocks --remote-users /opt/kprof/etc/kprofd/remote-users\n", unit)
        self.assertTrue(os.path.exists(os.path.join(root, "opt/kprof/libexec/kprof/kprof-launch")))
        self.assertTrue(os.path.exists(os.path.join(root, "opt/kprof/etc/kprofd/kprofd.toml")))
        self.assertFalse(os.path.exists(os.path.join(root, "usr")))
        self.assertFalse(os.path.exists(os.path.join(root, "etc")))

    def test_a_configuration_that_is_there_stays(self):
        root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, root)
        os.makedirs(os.path.join(root, "etc/kprofd"))
        with open(os.path.join(root, "etc/kprofd/kprofd.toml"), "w", encoding="utf-8") as file:
            file.write("# mine\n")
        run("cmake", "--install", os.path.dirname(os.path.dirname(PACKAGE)), env={**os.environ, "DESTDIR": root})
        self.assertEqual(self.read(root, "etc/kprofd/kprofd.toml"), "# mine\n")


class OnANode(unittest.TestCase):
    """Where an image is built, say: dpkg runs, systemd does not."""

    def setUp(self):
        debian_node.need_tools()
        self.node = Node(PACKAGE, "plain")
        self.addCleanup(self.node.close)

    def test_it_comes_and_goes_without_a_trace(self):
        before = self.node.files()
        self.node.install(PACKAGE)
        self.assertRegex(self.node.run("getent", "passwd", "kprof"), r"^kprof:.*:/usr/sbin/nologin$")
        self.assertIn("kprofd", self.node.run("kprofd", "--version"))
        self.assertIn("good", self.node.run("kprofd", "--check-config", "--config", "/etc/kprofd/kprofd.toml"))
        for unit in ("kprofd.service", "kprofd.socket"):
            self.assertEqual(self.node.run("systemctl", "is-enabled", unit).strip(), "enabled")
        os.makedirs(self.node.path(STATE))
        self.node.run("dpkg", "--remove", "kprof")
        self.assertTrue(os.path.isdir(self.node.path(STATE)), "a remove took what was measured")
        self.assertTrue(os.path.exists(self.node.path("etc/kprofd/kprofd.toml")))
        self.node.run("dpkg", "--purge", "kprof")
        self.assertEqual(self.node.files() - before, set())

    def test_an_upgrade_keeps_settings_and_what_was_disabled(self):
        self.node.install(PACKAGE)
        with open(self.node.path("etc/kprofd/kprofd.toml"), "a", encoding="utf-8") as file:
            file.write('log_level = "debug"\n')
        self.node.run("systemctl", "disable", "kprofd.service")
        newer = debian_node.with_version(PACKAGE, "9.0", debian_node.CACHE)
        self.node.install(newer)
        with open(self.node.path("etc/kprofd/kprofd.toml"), encoding="utf-8") as file:
            self.assertIn('log_level = "debug"', file.read())
        for unit in ("kprofd.service", "kprofd.socket"):  # the socket goes with the service
            self.assertEqual(self.node.run("systemctl", "is-enabled", unit, expect=1).strip(), "disabled")

    def test_the_pages_are_found(self):
        self.node.install(PACKAGE)
        for page in ("kprofd", "kprofctl", "kprofd.toml"):
            self.assertTrue(self.node.run("man", "--where", page).strip().endswith(".gz"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
