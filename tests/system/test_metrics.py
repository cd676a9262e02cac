"""/metrics of a running daemon: what it says, that Prometheus takes it, and that the pages, alerts and dashboard that name
its families name nothing else. What needs promtool (package prometheus) is skipped by name where that is not."""

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import unittest

from kprof_testing import LIMIT_S, ROOT, OwnDaemonTest, run_kprofd, wait_until

RULES = os.path.join(ROOT, "deploy", "prometheus", "kprofd.rules.yml")
RULES_TEST = os.path.join(ROOT, "tests", "prometheus", "kprofd.rules.test.yml")
DASHBOARD = os.path.join(ROOT, "deploy", "grafana", "kprofd.json")
PAGE = os.path.join(ROOT, "docs", "metrics.md")
OURS = re.compile(r"\b(?:kprof|process)_[a-z_]+")
LABEL = re.compile(r'([a-z_]+)="')


def promtool(*args, text=""):
    found = shutil.which("promtool")
    if found is None:
        raise unittest.SkipTest("no promtool; install the package prometheus")
    return subprocess.run([found, *args], input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def families(text):
    """{name: type} of a page of metrics."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))


def samples(text):
    """{"name{labels}": value}."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def series_names(text):
    """What may stand in a query: histograms have three names."""
    names = set()
    for name, kind in families(text).items():
        names |= {name + suffix for suffix in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return names


def documented():
    """The rows of docs/metrics.md: name, type, labels, meaning."""
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^\| `([a-z_]+)` \| (gauge|counter|histogram) \|([^|]*)\|(.*)\|$", file.read(), re.MULTILINE)


def of_system_mode():
    """Of these those that this daemon of one user has not; test_node.py looks at them."""
    return {name for name, _, _, meaning in documented() if meaning.startswith(" system mode:")}


class MetricsTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        options = self.daemon.options
        self.daemon.options = lambda: [*options(), "--http", "127.0.0.1:0"]
        self.daemon.start()
        found = wait_until(lambda: re.search(r"serves HTTP address=127\.0\.0\.1:(\d+)", self.daemon.log()), "an HTTP port")
        self.port = int(found[1])

    def get(self, path, method="GET", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        self.addCleanup(connection.close)
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response, response.read().decode()

    def metrics(self):
        response, text = self.get("/metrics")
        self.assertEqual(response.status, 200)
        self.assertEqual(response.getheader("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        return text

    def used(self):
        """The page of a daemon of which every family has something to say."""
        self.daemon.ctl.capture("sh", "-c", "true")
        self.daemon.ctl.run("capture", "command", "--", "false", expect="command_failed")
        self.daemon.ctl.run("show", "nosuchrun", expect="not_found")
        trace = os.path.join(self.folder, "trace.json")
        with open(trace, "wb") as file:
            file.write(b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"i","name":"b","pid":1,"tid":1,"ts":1}]')
        self.daemon.ctl.run("query", "--run", self.daemon.ctl.json("import", trace)["id"], "SELECT name FROM slice")
        # A call is counted when it is over, which its client sees a moment before.
        return wait_until(lambda: (page := self.metrics()).count('code="NOT_FOUND"') and page, "the last call to be counted")

    def test_prometheus_takes_them(self):
        done = promtool("check", "metrics", text=self.used())
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_they_count_what_was_done(self):
        counted = samples(self.used())
        self.assertEqual(counted['kprof_runs_ended_total{tool="command",outcome="done"}'], 1)
        self.assertEqual(counted['kprof_runs_ended_total{tool="command",outcome="command_failed"}'], 1)
        self.assertEqual(counted['kprof_lease_hold_seconds_count{device="cpu"}'], 2)
        self.assertEqual(counted['kprof_rpc_seconds_count{method="kprof.v1.RunsService/SubmitRun"}'], 2)
        self.assertEqual(counted['kprof_rpc_errors_total{method="kprof.v1.RunsService/GetRun",code="NOT_FOUND"}'], 1)
        self.assertEqual(counted["kprof_stored_runs"], 3)
        self.assertEqual(counted["kprof_import_events_total"], 2)
        self.assertGreater(counted["kprof_import_source_bytes_total"], 90)
        self.assertGreater(counted["kprof_trace_cache_bytes"], 0)
        self.assertGreater(counted["kprof_catalog_commit_seconds_count"], 2)
        self.assertGreaterEqual(counted['kprof_connections_accepted_total{listener="rpc"}'], 3)
        self.assertEqual(counted["kprof_log_lines_dropped_total"], 0)

    def test_none_names_a_user_or_a_run(self):
        text = self.used()
        self.assertEqual(set(LABEL.findall(text)) - {
            "action", "code", "device", "le", "listener", "method", "outcome", "reason", "state", "stream", "tool", "what", "version"},
            set())

    def test_the_page_lists_each_of_them_and_no_other(self):
        rows = [row for row in documented() if row[0] not in of_system_mode()]
        text = self.used()
        self.assertEqual({name: kind for name, kind, _, _ in rows}, families(text))
        for name, _, labels, _ in rows:
            shown = re.search(rf"^{name}(?:_bucket)?{{(.*)}} ", text, re.MULTILINE)
            if shown:
                self.assertEqual(set(re.findall(r"`(\w+)`", labels)), set(LABEL.findall(shown[1])) - {"le"}, name)

    def test_the_dashboard_and_the_alerts_ask_for_nothing_else(self):
        names = series_names(self.used()) | of_system_mode()
        with open(DASHBOARD, encoding="utf-8") as file:
            dashboard = json.load(file)
        asked = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]
        self.assertGreater(len(asked), 20)
        with open(RULES, encoding="utf-8") as file:
            asked += [("alert", expr) for expr in re.findall(r"^ +expr: (.*)$", file.read(), re.MULTILINE)]
        for where, expr in asked:
            self.assertEqual(set(OURS.findall(expr)) - names, set(), f"{where}: {expr}")

    def test_health_is_said(self):
        response, text = self.get("/healthz")
        self.assertEqual((response.status, text), (200, "ok\n"))

    def test_a_page_that_had_its_name_resolved_to_us_reads_nothing(self):
        response, text = self.get("/metrics", headers={"Host": f"evil.example:{self.port}"})
        self.assertEqual(response.status, 421)
        self.assertNotIn("kprof_", text)

    def test_nothing_can_be_written(self):
        for method in ("POST", "PUT", "DELETE"):
            self.assertIn(self.get("/metrics", method=method)[0].status, (405, 413))

    def test_idle_connections_keep_nobody_out(self):
        idle = [socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S) for _ in range(200)]
        for one in idle:
            self.addCleanup(one.close)
        self.assertIn("kprof_runs", self.metrics())
        self.daemon.ctl.capture("true")


class HttpAddressTest(OwnDaemonTest):
    def test_only_loopback_is_taken(self):
        done = run_kprofd(*self.daemon.options(), "--http", "0.0.0.0:7977")
        self.assertEqual(done.returncode, 2)
        self.assertIn("loopback", done.stderr)
        self.assertIn("ssh -L", done.stderr)

    def test_so_says_the_configuration(self):
        self.daemon.configure('http = "192.0.2.1:80"\n')
        done = run_kprofd(*self.daemon.options(), "--check-config")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kprofd.toml:1: 'http' is refused", done.stderr)

    def test_a_taken_port_keeps_nobody_from_starting(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.daemon.configure(f'http = "127.0.0.1:{other.getsockname()[1]}"\n')
            self.daemon.start()
            self.daemon.ctl.capture("true")
            self.assertIn("the port is taken", self.daemon.log())

    def test_off_is_off(self):
        self.daemon.configure('http = "127.0.0.1:0"\n')
        options = self.daemon.options
        self.daemon.options = lambda: [*options(), "--http", "off"]
        self.daemon.start()
        self.assertNotIn("serves HTTP", self.daemon.log())


class AlertsTest(unittest.TestCase):
    def test_prometheus_takes_them(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_they_fire_when_they_should(self):
        done = promtool("test", "rules", RULES_TEST)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_has_a_test(self):
        with open(RULES, encoding="utf-8") as rules, open(RULES_TEST, encoding="utf-8") as tests:
            alerts = re.findall(r"- alert: (\w+)", rules.read())
            tested = re.findall(r"- alertname: (\w+)", tests.read())
        self.assertGreater(len(alerts), 10)
        self.assertEqual(set(alerts), set(tested))


if __name__ == "__main__":
    unittest.main()
