"""The tables that neuron-explorer writes of a Neuron runtime: the same events as JSON and as Parquet give equal rows and equal
answers; tables are known by their columns; a trace in two files is one; what is broken is said."""

import json
import os
import random

import neuron_profile_writer as writer
from kprof_testing import OwnDaemonTest, temporary_folder

BASE_NS = 1_780_000_000_000_000_000
HOSTS = ("i-0a", "i-0b")
KINDS = ("lines", "device-idle", "findings", "summary")
ROWS_SQL = ("SELECT event, process, instance, worker, thread, nc, core, exec_id, tracking_id, seq_id, model, start_ns, end_ns, size_bytes "
            "FROM neuron_event ORDER BY start_ns, event, instance, nc, core")


def made_events(seed, count):
    """Two hosts whose processes have one pid, two NeuronCores each of two physical ones; ids beyond 2^53."""
    draw, events = random.Random(seed), []
    for host in HOSTS:
        for nc in range(2):
            at = draw.randrange(1000)
            for number in range(count):
                exec_id = (1 << 60) + number
                common = {"instance": host, "pid": 4711, "nc": nc, "worker": 3}
                submit = draw.randrange(50, 900)
                took = draw.randrange(1000, 9000)
                if draw.random() < 0.7:
                    kind = draw.choice(("nrt_tensor_read", "nrt_tensor_write", "nrt_tensor_allocate", "nrt_async_sema_wait"))
                    events.append(dict(common, name=kind, at=at, ns=submit, thread=100 + nc, data={"size": "4096", "tensor_id": "3"}))
                    at += submit + draw.randrange(20)
                events.append(dict(common, name="nrt_execute", at=at, ns=submit + took, thread=100 + nc, data={"exec_id": exec_id}))
                for core in range(2):
                    late = draw.randrange(20)
                    events.append(dict(common, name="nc_exec_running", at=at + submit + late, ns=took - 40, thread=0, core=2 * nc + core,
                                       data={"exec_id": exec_id, "model_name": "graph \"%d\"\\" % (number % 2)}))
                at += submit + took + draw.randrange(2000)
        events.append({"instance": host, "pid": 4711, "nc": None, "worker": 3, "name": "aten::mm", "at": 5, "ns": 90, "thread": 9,
                       "is_framework": True, "data": {"op_id": (1 << 61) + 1}})
    draw.shuffle(events)
    return events


def write_json(path, events, samples=()):
    """As neuron-explorer writes a system profile."""
    listed = []
    for number, event in enumerate(events):
        row = {"name": event["name"], "timestamp": str(BASE_NS + event["at"]), "duration": event["ns"], "process_id": str(event["pid"]),
               "thread_id": event["thread"], "worker_gid": event["worker"], "id": number, "instance_id": event["instance"],
               "group": "framework-9" if event.get("is_framework") else "nrt-nc-000", **event["data"]}
        if event["nc"] is not None:
            row.update({"nc_idx": event["nc"], "lnc_idx": str(event["nc"])})
        if "core" in event:
            row["device_core_idx"] = event["core"]
        listed.append(row)
    lists = {"mem_usage": [], "cpu_util": [], "device_mem_usage": []}
    for table, sample in samples:
        lists[table].append(sample)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"trace_event": listed, **lists}, file)


def write_events(path, events, without=(), text_ids=False, **how):
    """The same as SystemProfileEvents."""
    def column(get):
        return [get(event) for event in events]

    def source(event):
        return "framework" if event.get("is_framework") else "neuron_hw" if "core" in event else "neuron_rt"

    pid_kind, pid = ("text", str) if text_ids else ("int64", int)
    columns = [
        ("id", "int64", list(range(len(events)))), ("name", "text", column(lambda e: e["name"])),
        ("start_ts", "int64", column(lambda e: BASE_NS + e["at"])), ("end_ts", "int64", column(lambda e: BASE_NS + e["at"] + e["ns"])),
        ("duration_ns", "int64", column(lambda e: e["ns"])), ("trace_event_source", "text", column(source)),
        ("instance_id", "text", column(lambda e: e["instance"])), ("process_id", pid_kind, column(lambda e: pid(e["pid"]))),
        ("thread_id", "int64", column(lambda e: e["thread"])), ("nc_idx", "int32", column(lambda e: e["nc"])),
        ("pcore_idx", "int32", column(lambda e: e.get("core"))), ("worker_gid", "int64", column(lambda e: e["worker"])),
        ("flow_id", "texts", column(lambda e: [f"f{e['at']}", "x"] if e["at"] % 3 else None)),
        ("framework_stream_id", "int64", column(lambda e: 7 if e.get("is_framework") else None)),
        ("extra_attributes_json", "text", column(lambda e: json.dumps(e["data"])))]
    writer.write_parquet(path, [one for one in columns if one[0] not in without], **how)


class SystemTablesTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def path(self, *names):
        path = os.path.join(self.files, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def imported(self, path):
        """The id of its run, which is not to be doubted."""
        run = self.daemon.ctl.json("import", path)
        self.assertEqual([one["code"] for one in run.get("trust", [])], [])
        return run["id"]

    def answers(self, run):
        answers = {kind: self.daemon.ctl.json("analyze", kind, run) for kind in KINDS}
        told = {kind: (answer["result"], answer.get("notes")) for kind, answer in answers.items()}
        return json.loads(json.dumps(told).replace(run, "RUN"))

    def rows(self, run, sql=ROWS_SQL):
        return self.daemon.ctl.json("query", "--run", run, sql)["rows"]

    def test_json_and_parquet_of_the_same_events_give_equal_answers(self):
        forms = [{}, {"codec": "zstd", "encoding": "delta", "text_ids": True}, {"codec": "gzip", "encoding": "delta_length", "version": 2},
                 {"codec": "none", "encoding": "plain", "version": 2, "page_rows": 7, "group_rows": 100}]
        for seed, form in enumerate(forms):
            with self.subTest(form=form):
                events = made_events(seed, 60)
                write_json(self.path(f"j{seed}", "system_profile.json"), events)
                write_events(self.path(f"p{seed}", "SystemProfileEvents.parquet"), events, **form)
                of_json = self.imported(self.path(f"j{seed}", "system_profile.json"))
                of_table = self.imported(self.path(f"p{seed}", "SystemProfileEvents.parquet"))
                self.assertEqual(len(self.rows(of_table)), len(events))
                self.assertEqual(self.rows(of_table), self.rows(of_json))
                self.assertEqual(self.answers(of_table), self.answers(of_json))
                tracks = "SELECT track.kind, track.name, track.pid, track.process, count(*) FROM slice JOIN track ON track.id = slice.track_id GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
                self.assertEqual(self.rows(of_table, tracks), self.rows(of_json, tracks))

    def test_cores_of_two_hosts_with_one_pid_are_four(self):
        write_events(self.path("SystemProfileEvents.parquet"), made_events(7, 20))
        cores = self.daemon.ctl.json("analyze", "device-idle", self.imported(self.path("SystemProfileEvents.parquet")))["result"]["cores"]
        self.assertEqual([(row["instance"], row["process"], row["nc"]) for row in cores],
                         [(host, "4711", nc) for host in HOSTS for nc in range(2)])
        for row in cores:
            categories = sum(value for name, value in row.items() if name.endswith("_ns") and name not in
                             ("start_ns", "wall_ns", "busy_ns", "idle_ns", "other_core_ns"))
            self.assertEqual((row["busy_ns"] + row["idle_ns"], categories), (row["wall_ns"], row["idle_ns"]))

    def test_a_table_in_two_pieces_is_one_trace(self):
        events = sorted(made_events(3, 40), key=lambda event: event["at"])
        write_events(self.path("whole", "SystemProfileEvents.parquet"), events)
        write_events(self.path("pieces", "SystemProfileEvents_0.parquet"), events[:100])
        write_events(self.path("pieces", "SystemProfileEvents_1.parquet"), events[100:])
        whole, pieces = self.imported(self.path("whole", "SystemProfileEvents.parquet")), self.imported(self.path("pieces"))
        for kind in ("lines", "device-idle"):
            one, other = (self.daemon.ctl.json("analyze", kind, run)["result"] for run in (whole, pieces))
            for result in (one, other):  # a part has a base of its own; hosts come as they are met
                for table in result.values():
                    if isinstance(table, list):
                        table.sort(key=json.dumps)
            self.assertEqual(one, other, kind)

    def test_tables_that_say_what_is_in_a_trace_are_no_device_profile(self):
        write_events(self.path("tables", "SystemProfileEvents.parquet"), made_events(4, 10))
        writer.write_parquet(self.path("tables", "SystemProfileMetadata.parquet"), [("first_ts_ns", "text", [str(BASE_NS)]), ("ntff_version", "int64", [5])])
        writer.write_parquet(self.path("tables", "DeviceProfileList.parquet"), [("device_profile_name", "text", ["a"]), ("nc_id", "int64", [0])])
        run = self.imported(self.path("tables"))
        told = self.daemon.ctl.json("analyze", "summary", run)
        self.assertIn("its 4 NeuronCores ran", told["result"]["neuron_runtime"][0]["says"])
        self.assertEqual(told["result"]["neuron_profiles"], [])
        self.assertIn("NeuronCores ran", self.daemon.ctl.run("report", run).out.decode())
        told = self.rows(run, "SELECT name, text FROM neuron_fact ORDER BY name")
        self.assertIn(["first_ts_ns", str(BASE_NS)], [list(row.values()) if isinstance(row, dict) else row for row in told])

    def test_columns_tell_the_table(self):
        events = made_events(5, 10)
        write_events(self.path("a", "SystemProfileEvents.parquet"), events)
        write_events(self.path("b", "export.parquet"), events, without=("id", "flow_id", "framework_stream_id", "end_ts"))
        self.assertEqual(self.rows(self.imported(self.path("b", "export.parquet"))),
                         self.rows(self.imported(self.path("a", "SystemProfileEvents.parquet"))))

    def test_samples_are_counters_of_their_hosts(self):
        at = [BASE_NS, BASE_NS + 1000]
        samples = [("cpu_util", {"cpu_id": "3", "timestamp": t, "util": 40.5, "instance_id": host}) for t in at for host in HOSTS]
        samples += [("mem_usage", {"timestamp": t, "usage": 5 << 30, "percent_usage": 2.5, "instance_id": "i-0a"}) for t in at]
        samples += [("device_mem_usage", {"hbm_idx": 1, "timestamp": t, "total_bytes": 7 << 30, "instance_id": "i-0a"}) for t in at]
        write_json(self.path("system_profile.json"), made_events(1, 2), samples)
        write_events(self.path("tables", "SystemProfileEvents.parquet"), made_events(1, 2))
        hosts = [host for _ in at for host in HOSTS]
        writer.write_parquet(self.path("tables", "CpuUsage.parquet"), [
            ("timestamp", "int64", [at[0], at[0], at[1], at[1]]), ("util_percent", "float", [40.5] * 4), ("cpu_id", "text", ["3"] * 4),
            ("instance_id", "text", hosts), ("ultraserver_instance_index", "int64", [0] * 4)])
        writer.write_parquet(self.path("tables", "HostMemUsage.parquet"), [
            ("timestamp", "int64", at), ("used_bytes", "int64", [5 << 30] * 2), ("used_percent", "double", [2.5] * 2),
            ("instance_id", "text", ["i-0a"] * 2)])
        writer.write_parquet(self.path("tables", "SystemProfileHbmUsage.parquet"), [
            ("timestamp", "int64", at), ("total_bytes", "int64", [7 << 30] * 2), ("hbm_idx", "int64", [1] * 2),
            ("instance_id", "text", ["i-0a"] * 2)])
        sql = ("SELECT track.process, track.name, counter.value, count(*) FROM counter JOIN track ON track.id = counter.track_id "
               "GROUP BY 1, 2, 3 ORDER BY 1, 2")
        of_json, of_tables = self.imported(self.path("system_profile.json")), self.imported(self.path("tables"))
        self.assertEqual(len(self.rows(of_json, sql)), 5)
        self.assertEqual(self.rows(of_tables, sql), self.rows(of_json, sql))

    def test_columns_of_numbers_where_texts_are_usual(self):
        count, events = 9000, made_events(6, 10)  # more rows than are read at once, and one dictionary for all
        writer.write_parquet(self.path("tables", "CpuUsage.parquet"), [
            ("timestamp", "int64", [BASE_NS + row for row in range(count)]), ("util_percent", "double", [float(row % 3) for row in range(count)]),
            ("cpu_id", "int64", [row % 3 for row in range(count)]), ("instance_id", "int64", [8] * count)], group_rows=count)
        sql = "SELECT track.process, track.name, counter.value, count(*) FROM counter JOIN track ON track.id = counter.track_id GROUP BY 1, 2, 3 ORDER BY 2"
        told = self.rows(self.imported(self.path("tables", "CpuUsage.parquet")), sql)
        self.assertEqual([list(row.values()) if isinstance(row, dict) else row for row in told],
                         [["node 8", f"cpu {cpu} util", cpu, count // 3] for cpu in range(3)])
        columns = [("name", "text", [event["name"] for event in events]), ("start_ts", "int64", [BASE_NS + event["at"] for event in events]),
                   ("duration_ns", "int64", [1] * len(events)), ("extra_attributes_json", "int64", [1 << 40] * len(events))]
        writer.write_parquet(self.path("odd", "SystemProfileEvents.parquet"), columns)
        run = self.daemon.ctl.json("import", self.path("odd", "SystemProfileEvents.parquet"))
        self.assertIn(f"{len(events)} events have attributes that are no JSON object", json.dumps(run))

    def test_attributes_that_are_no_json_and_a_file_that_is_cut(self):
        events = made_events(2, 10)
        for event in events[:3]:
            event["data"] = "odd"  # a text, which is no object
        write_events(self.path("SystemProfileEvents.parquet"), events)
        run = self.daemon.ctl.json("import", self.path("SystemProfileEvents.parquet"))
        self.assertIn("3 events have attributes that are no JSON object", json.dumps(run))
        self.assertEqual(len(self.rows(run["id"])), len(events))
        # Damage in the fourth row group: the rows before it are there.
        events = made_events(2, 20)
        write_events(self.path("damaged.parquet"), events, codec="zstd", group_rows=50)
        with open(self.path("damaged.parquet"), "r+b") as file:
            data = bytearray(file.read())
            at = [place for place in range(len(data)) if data.startswith(b"\x28\xb5\x2f\xfd", place)]  # where a page is packed
            data[at[3 * 30]] ^= 0xFF
            file.seek(0)
            file.write(data)
        run = self.daemon.ctl.json("import", self.path("damaged.parquet"))
        self.assertIn("it is read up to row 150", json.dumps(run))
        self.assertEqual(len(self.rows(run["id"])), 150)
        with open(self.path("SystemProfileEvents.parquet"), "rb") as file:
            data = file.read()
        with open(self.path("cut.parquet"), "wb") as file:
            file.write(data[:len(data) // 2])
        self.daemon.ctl.run("--json", "import", self.path("cut.parquet"), expect="bad_input")
