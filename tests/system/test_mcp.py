"""kprofctl mcp: the Model Context Protocol as a client of it sees it, over pipes, in front of a real daemon."""

import base64
import json
import os
import select
import signal
import subprocess
import sys
import unittest

from kprof_testing import LIMIT_S, DaemonTest, unique_seconds, wait_until

REVISION = "2025-06-18"


class McpClient:
    """One line, one message. Whatever else comes on standard output is a failure."""

    def __init__(self, ctl, **options):
        self.process = ctl.start("mcp", stdin=subprocess.PIPE, **options)
        self.buffer = b""
        self.last_id = 0
        self.notifications = []
        self.answers = {}

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params=None, **members):
        """Sends a request; its id."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, **({"params": params} if params is not None else {}), **members})
        return self.last_id

    def notify(self, method, params=None):
        self.send({"method": method, **({"params": params} if params is not None else {})})

    def read(self, limit_s=LIMIT_S):
        """The next message; None at the end."""
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], limit_s)[0]:
                raise AssertionError(f"waited {limit_s} s for a message; so far {self.buffer}")
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                assert not self.buffer, f"half a message: {self.buffer}"
                return None
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        if isinstance(message, dict):
            assert message["jsonrpc"] == "2.0", message
        return message

    def answer(self, request):
        """The answer to the request of this id, whenever it comes."""
        while request not in self.answers:
            message = self.read()
            assert message is not None, f"no answer to {request}"
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.notifications.append(message)
        return self.answers.pop(request)

    def result(self, method, params=None):
        answer = self.answer(self.ask(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def failure(self, method, params=None):
        return self.answer(self.ask(method, params))["error"]

    def initialize(self, revision=REVISION):
        result = self.result("initialize", {"protocolVersion": revision, "capabilities": {},
                                            "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return result

    def tool(self, name, **arguments):
        """The structured content of a call that went well."""
        result = self.result("tools/call", {"name": name, "arguments": arguments})
        assert not result["isError"], result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"], result
        return result["structuredContent"]

    def tool_error(self, name, **arguments):
        result = self.result("tools/call", {"name": name, "arguments": arguments})
        assert result["isError"], result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"], result
        return result["structuredContent"]

    def close(self):
        """Its exit status, and what it wrote after the end of its input."""
        self.process.stdin.close()
        rest = []
        while (message := self.read()) is not None:
            rest.append(message)
        return self.process.wait(timeout=LIMIT_S), rest


class McpTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.mcp = self.start_client()
        self.mcp.initialize()

    def start_client(self, **options):
        client = McpClient(self.ctl, **options)
        self.addCleanup(client.process.wait)
        self.addCleanup(client.process.kill)
        for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
            self.addCleanup(stream.close)
        return client

    def start_sleep(self, client):
        """A capture under way: the id of its request, that of its run, and the token of its command."""
        token = unique_seconds()
        call = client.ask("tools/call", {"name": "capture", "arguments": {"tool": "command", "command": ["sleep", token],
                                                                          "device": "none", "labels": {"token": token}}})
        [run] = wait_until(lambda: self.ctl.json("runs", "--label", f"token={token}", "--state", "running")["runs"], "the run to begin")
        return call, run["id"], token

    def test_it_says_what_it_can(self):
        for revision in ("2024-11-05", "2025-03-26", REVISION):
            result = self.start_client().initialize(revision)
            self.assertEqual(result["protocolVersion"], revision)
            self.assertEqual(result["serverInfo"]["name"], "kprof")
            self.assertEqual(set(result["capabilities"]), {"tools", "prompts", "resources"})
        tools = {tool["name"]: tool for tool in self.mcp.result("tools/list")["tools"]}
        self.assertLessEqual({"capture", "report", "compare", "analyze", "query", "session_open", "session_show", "session_close",
                              "runs", "status"}, set(tools))
        for tool in tools.values():
            self.assertEqual(tool["inputSchema"]["type"], "object", tool)
            self.assertIn("readOnlyHint", tool["annotations"])
        self.assertFalse(tools["capture"]["annotations"]["readOnlyHint"])

    def test_a_verdict_comes_as_numbers_and_reasons(self):
        run = self.mcp.tool("capture", tool="event", command=["sleep", "0.02"], against="sleep 0.2", device="cpu",
                            labels={"try": "1"}, options={"delta": 2})
        self.assertEqual((run["schema"], run["state"], run["verdict"]), ("kprof.run.v1", "done", "FASTER"))
        self.assertLess(run["comparison"]["ci_high"], 1)
        self.assertNotIn("environment", run)
        stored = self.ctl.show(run["id"])
        self.assertEqual(stored["metrics"], run["metrics"])
        self.assertEqual(stored["labels"], {"try": "1"})
        samples = self.mcp.tool("analyze", kind="samples", runs=run["id"], rows=2)
        self.assertEqual(samples["result"]["verdict"], "FASTER")
        self.assertEqual(len(samples["result"]["turns"]), 2)
        self.assertEqual(samples["result"]["turns_left_out"], run["metrics"]["turns"] - 2)
        self.assertEqual(samples["whole"], f"kprofctl analyze samples {run['id']} --json")

    def test_the_line_of_a_shell_is_a_command_too(self):
        run = self.mcp.tool("capture", tool="command", command="echo out; echo err >&2", device="none")
        self.assertEqual(run["command"], ["sh", "-c", "echo out; echo err >&2"])
        self.assertEqual(set(run["output_tail"].splitlines()), {"out", "err"})
        self.assertEqual(self.mcp.tool("query", sql=f"SELECT state FROM run WHERE id = '{run['id']}'")["rows"], [["done"]])

    def test_what_fails_says_why_and_what_to_do(self):
        failed = self.mcp.tool_error("capture", tool="command", command=["sh", "-c", "echo broken >&2; exit 3"], device="none")
        self.assertEqual((failed["schema"], failed["code"]), ("kprof.error.v1", "command_failed"))
        self.assertEqual((failed["run"]["state"], failed["run"]["exit_code"]), ("failed", 3))
        self.assertEqual(failed["output_tail"].strip(), "broken")
        late = self.mcp.tool_error("capture", tool="command", command=["sleep", unique_seconds()], device="none", timeout_s=0.2)
        self.assertEqual(late["code"], "timed_out")
        wrong = self.mcp.tool_error("capture", tool="command", command="true", check="exit 1", device="none")
        self.assertEqual(wrong["code"], "check_failed")
        missing = self.mcp.tool_error("show", run="1zzzzzzzzzzzzzzz")
        self.assertEqual(missing["code"], "not_found")
        self.assertIn("kprofctl runs", missing["remedy"])
        self.assertIn("summary", self.mcp.tool_error("analyze", kind="nope", runs="@last")["remedy"])
        self.assertEqual(self.mcp.tool_error("capture", tool="evnt", command="true")["code"], "usage")
        self.assertEqual(self.mcp.tool_error("query", sql="DELETE FROM run")["code"], "not_permitted")
        self.assertEqual(self.mcp.tool_error("query", sql="SELECT 1; SELECT 2")["code"], "usage")

    def test_rows_are_few_unless_more_are_asked_for(self):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, i AS j FROM n"
        few = self.mcp.tool("query", sql=sql)
        self.assertEqual((len(few["rows"]), few["rows_left_out"], few["columns"]), (20, 480, ["i", "j"]))
        self.assertIn("kprofctl query", few["whole"])
        many = self.mcp.tool("query", sql=sql, rows=1000)
        self.assertEqual(len(many["rows"]), 500)
        self.assertNotIn("rows_left_out", many)
        self.assertNotIn("whole", many)
        text = self.mcp.tool("query", sql="SELECT printf('%.5000c', 'x') AS x")
        self.assertIn("more bytes)", text["rows"][0][0])
        self.assertLess(len(text["rows"][0][0]), 1000)

    def test_a_session_has_rounds(self):
        session = self.mcp.tool("session_open", device="cpu", ttl_s=600, labels={"loop": "7"})
        self.assertEqual((session["state"], session["labels"]), ("open", {"loop": "7"}))
        run = self.mcp.tool("capture", tool="command", command="true", session=session["id"])
        self.assertEqual(run["session"], session["id"])
        shown = self.mcp.tool("session_show", session=session["id"])
        self.assertEqual([row["run"] for row in shown["rounds"]], [run["id"]])
        self.assertIn("should_stop", shown)
        self.assertEqual(self.mcp.tool("session_close", session=session["id"])["state"], "closed")

    def test_runs_are_compared_reported_and_listed(self):
        first, second = (self.mcp.tool("capture", tool="event", command="sleep 0.01", device="cpu", options={"samples": 3},
                                       kernel="naps", version=version) for version in ("v1", "v2"))
        compared = self.mcp.tool("compare", run=second["id"], baseline=first["id"])
        self.assertEqual(compared["run"], [second["id"], first["id"]])
        self.assertIn(compared["result"]["verdict"], ("FASTER", "SLOWER", "SAME", "INCONCLUSIVE"))
        self.assertEqual(self.mcp.tool("report", run=second["id"])["schema"], "kprof.report.v1")
        page = self.mcp.result("tools/call", {"name": "report", "arguments": {"run": second["id"], "format": "md"}})
        self.assertNotIn("structuredContent", page)
        self.assertIn("Bottleneck", page["content"][0]["text"])
        listed = self.mcp.tool("runs", labels={"kernel": "naps"}, limit=1)["runs"]
        self.assertEqual([run["id"] for run in listed], [second["id"]])
        self.assertEqual(self.mcp.tool("status")["devices"][0]["id"], "cpu")
        self.assertIn("event", [tool["name"] for tool in self.mcp.tool("capture_tools")["tools"]])
        kinds = self.mcp.tool("analyses")["analyses"]
        self.assertIn("roofline", [kind["name"] for kind in kinds])
        self.assertEqual(set(kinds[0]), {"name", "question"})
        [help_] = self.mcp.tool("analysis_help", kind="roofline")["analyses"]
        self.assertIn("policy", [option["name"] for option in help_["options"]])

    def test_files_of_runs_are_resources(self):
        run = self.mcp.tool("capture", tool="command", device="none", collect=["*"], cwd=self.folder,
                            command="printf '# Page' > 'a page.md'; printf '\\377\\000' > b.bin; head -c 1100000 /dev/zero > c.bin")
        resources = {resource["name"]: resource for resource in self.mcp.result("resources/list")["resources"]
                     if run["id"] in resource["uri"]}
        self.assertEqual(set(resources), {"a page.md", "b.bin", "c.bin"})

        def content(name):
            return self.mcp.result("resources/read", {"uri": resources[name]["uri"]})["contents"][0]
        self.assertEqual(content("a page.md"), {"uri": f"kprof://{run['id']}/artifacts/a%20page.md", "mimeType": "text/markdown",
                                                "text": "# Page"})
        self.assertEqual(base64.b64decode(content("b.bin")["blob"]), b"\xff\0")
        failure = self.mcp.failure("resources/read", {"uri": resources["c.bin"]["uri"]})
        self.assertIn(f"kprofctl artifacts {run['id']} get c.bin -o FILE", failure["message"])
        self.assertEqual(self.mcp.failure("resources/read", {"uri": f"kprof://{run['id']}/artifacts/nope"})["code"], -32002)
        said = self.mcp.tool("capture", tool="command", command="echo said", device="none")
        log = self.mcp.result("resources/read", {"uri": f"kprof://{said['id']}/logs/stdout"})["contents"][0]
        self.assertEqual(log["text"], "said\n")
        self.assertEqual(len(self.mcp.result("resources/templates/list")["resourceTemplates"]), 2)

    def test_a_cancelled_capture_is_cancelled_and_not_answered(self):
        call, run, token = self.start_sleep(self.mcp)
        self.mcp.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
        self.assert_nothing_runs(token)
        self.assertEqual(self.ctl.show(run)["state"], "cancelled")
        self.mcp.result("ping")
        self.assertNotIn(call, self.mcp.answers)

    def test_others_are_answered_while_a_call_goes_on(self):
        call = self.mcp.ask("tools/call", {"name": "capture", "_meta": {"progressToken": "p1"},
                                           "arguments": {"tool": "command", "command": self.gate(), "device": "none"}})
        self.assertEqual(self.mcp.result("ping"), {})
        self.assertEqual(self.mcp.tool("status")["schema"], "kprof.status.v1")
        while not self.mcp.notifications:
            self.mcp.notifications.append(self.mcp.read())
        progress = self.mcp.notifications[0]
        self.assertEqual((progress["method"], progress["params"]["progressToken"]), ("notifications/progress", "p1"))
        self.mcp.send({"id": call, "method": "tools/call", "params": {"name": "status"}})
        self.assertEqual(self.mcp.answer(call)["error"]["code"], -32600)
        self.open_gate()
        self.assertEqual(self.mcp.answer(call)["result"]["structuredContent"]["state"], "done")

    def test_more_calls_than_it_takes_are_refused(self):
        calls = [self.mcp.ask("tools/call", {"name": "capture", "arguments": {"tool": "command", "command": self.gate(),
                                                                              "device": "none"}}) for _ in range(17)]
        self.assertIn("16 calls", self.mcp.answer(calls[16])["error"]["message"])
        self.open_gate()
        for call in calls[:16]:
            self.assertFalse(self.mcp.answer(call)["result"]["isError"])

    def test_at_the_end_of_its_input_it_finishes_what_reads_and_ends_what_does_not(self):
        capture, _, token = self.start_sleep(self.mcp)
        status = self.mcp.ask("tools/call", {"name": "status"})
        code, rest = self.mcp.close()
        self.assertEqual(code, 0)
        answers = {message["id"]: message["result"] for message in rest}
        self.assertEqual(answers[status]["structuredContent"]["schema"], "kprof.status.v1")
        self.assertEqual(answers[capture]["structuredContent"]["code"], "cancelled")
        self.assert_nothing_runs(token)

    def test_a_capture_does_not_outlive_its_server(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                client = self.start_client()
                _, _, token = self.start_sleep(client)
                client.process.send_signal(number)
                client.process.wait(timeout=LIMIT_S)
                self.assert_nothing_runs(token)

    def test_nonsense_is_answered_by_number(self):
        self.mcp.process.stdin.write(b"{nope\n[]\n\xff\xfe\n")
        self.mcp.process.stdin.flush()
        self.assertEqual([self.mcp.read()["error"]["code"] for _ in range(3)], [-32700, -32600, -32700])
        self.assertEqual(self.mcp.failure("nope")["code"], -32601)
        self.assertEqual(self.mcp.failure("tools/call", {"name": "nope"})["code"], -32602)
        self.mcp.process.stdin.write(b'[{"jsonrpc":"2.0","id":"a","method":"ping"},'
                                     b'{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"status"}}]\n')
        self.mcp.process.stdin.flush()
        self.assertEqual([answer["id"] for answer in self.mcp.read()], ["a", "b"])

    def test_without_a_daemon_it_serves_and_says_so(self):
        self.ctl, before = type(self.ctl)(self.path("none.sock")), self.ctl
        self.addCleanup(setattr, self, "ctl", before)
        client = self.start_client()
        client.initialize()
        error = client.tool_error("status")
        self.assertEqual(error["code"], "no_daemon")
        self.assertIn("kprofd --user", error["remedy"])

    def test_the_prompt_teaches_the_loop(self):
        [prompt] = self.mcp.result("prompts/list")["prompts"]
        self.assertEqual(prompt["name"], "optimise_kernel")
        got = self.mcp.result("prompts/get", {"name": "optimise_kernel", "arguments": {"command": "./bench --b 32"}})
        text = got["messages"][0]["content"]["text"]
        tools = {tool["name"] for tool in self.mcp.result("tools/list")["tools"]}
        for word in ("./bench --b 32", "session_open", "session_show", "session_close", "INCONCLUSIVE", "Never believe a single number"):
            self.assertIn(word, text)
        self.assertLessEqual({"session_open", "session_show", "session_close", "capture", "report"}, tools)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
