"""Perfetto exports against Perfetto's schema: decoded by Google's protobuf with the public numbers, names and types of the messages
(protos/perfetto/trace/*.proto), written down here on their own. A field that the schema does not have, or has with another type, fails;
so does an end without its begin, a number of a string that was not sent, a track that nobody described.

Needs the programs in KPROF_BIN and Debian's python3-protobuf.
"""

import json
import os
import sys
import unittest
from collections import Counter, defaultdict

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError as error:
    raise unittest.SkipTest("needs python3-protobuf") from error

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))

import kprof_testing  # noqa: E402
from kprof_testing import DATA, OwnDaemonTest, temporary_folder  # noqa: E402

kprof_testing.need_programs()

Field = descriptor_pb2.FieldDescriptorProto
TYPES = {name: getattr(Field, f"TYPE_{name.upper()}") for name in
         ("uint64", "int64", "int32", "uint32", "fixed64", "double", "bool", "string", "enum")}

# message: {field: (number, type)}; a * before the type: repeated.
SCHEMA = {
    "Trace": {"packet": (1, "*TracePacket")},
    "TracePacket": {"timestamp": (8, "uint64"), "timestamp_clock_id": (58, "uint32"), "trusted_packet_sequence_id": (10, "uint32"),
                    "sequence_flags": (13, "uint32"), "clock_snapshot": (6, "ClockSnapshot"), "track_event": (11, "TrackEvent"),
                    "interned_data": (12, "InternedData"), "track_descriptor": (60, "TrackDescriptor")},
    "ClockSnapshot": {"clocks": (1, "*Clock"), "primary_trace_clock": (2, "int32")},
    "Clock": {"clock_id": (1, "uint32"), "timestamp": (2, "uint64")},
    "TrackDescriptor": {"uuid": (1, "uint64"), "name": (2, "string"), "process": (3, "ProcessDescriptor"),
                        "thread": (4, "ThreadDescriptor"), "parent_uuid": (5, "uint64"), "counter": (8, "CounterDescriptor")},
    "ProcessDescriptor": {"pid": (1, "int32"), "cmdline": (2, "*string"), "process_name": (6, "string")},
    "ThreadDescriptor": {"pid": (1, "int32"), "tid": (2, "int32"), "thread_name": (5, "string")},
    "CounterDescriptor": {"unit_name": (6, "string")},
    "TrackEvent": {"category_iids": (3, "*uint64"), "debug_annotations": (4, "*DebugAnnotation"), "type": (9, "int32"),
                   "name_iid": (10, "uint64"), "track_uuid": (11, "uint64"), "categories": (22, "*string"), "name": (23, "string"),
                   "counter_value": (30, "int64"), "double_counter_value": (44, "double"), "flow_ids": (47, "*fixed64"),
                   "terminating_flow_ids": (48, "*fixed64")},
    "InternedData": {"event_categories": (1, "*EventCategory"), "event_names": (2, "*EventName"),
                     "debug_annotation_names": (3, "*DebugAnnotationName")},
    "EventCategory": {"iid": (1, "uint64"), "name": (2, "string")},
    "EventName": {"iid": (1, "uint64"), "name": (2, "string")},
    "DebugAnnotationName": {"iid": (1, "uint64"), "name": (2, "string")},
    "DebugAnnotation": {"name_iid": (1, "uint64"), "bool_value": (2, "bool"), "uint_value": (3, "uint64"), "int_value": (4, "int64"),
                        "double_value": (5, "double"), "string_value": (6, "string"), "legacy_json_value": (9, "string"),
                        "name": (10, "string")},
}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
STATE_CLEARED = 1


def trace_class():
    file = descriptor_pb2.FileDescriptorProto(name="trace.proto", package="p", syntax="proto2")
    for message, fields in SCHEMA.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            field = described.field.add(name=name, number=number)
            field.label = Field.LABEL_REPEATED if kind.startswith("*") else Field.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            if kind in TYPES:
                field.type = TYPES[kind]
            else:
                field.type, field.type_name = Field.TYPE_MESSAGE, f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("p.Trace"))


TRACE = trace_class()


class Sequence:
    """What packets of one sequence have told so far."""

    def __init__(self):
        self.known = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {}}
        self.has_state = False


class PerfettoSchemaTest(OwnDaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon.start()
        self.files = self.enterContext(temporary_folder("t-"))

    def assert_all_known(self, message):
        self.assertEqual([(message.DESCRIPTOR.name, field.field_number) for field in message.UnknownFields()], [])
        for field, value in message.ListFields():
            if field.message_type is not None:
                for one in value if field.label == Field.LABEL_REPEATED else [value]:
                    self.assert_all_known(one)

    def read(self, run):
        """({name: slices}, packets); all that makes it a trace is checked."""
        trace = TRACE.FromString(self.daemon.ctl.run("export", run, "--format", "perfetto", "-o", "-").out)
        self.assert_all_known(trace)
        sequences, tracks, slices = defaultdict(Sequence), {0}, Counter()
        begun, points = defaultdict(list), []
        for packet in trace.packet:
            sequence = sequences[packet.trusted_packet_sequence_id]
            if packet.sequence_flags & STATE_CLEARED:
                sequence.has_state = True
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    self.assertGreater(entry.iid, 0)
                    self.assertEqual(sequence.known[field.name].setdefault(entry.iid, entry.name), entry.name)
            if packet.HasField("track_descriptor"):
                tracks.add(packet.track_descriptor.uuid)
            if packet.HasField("track_event"):
                self.assertTrue(sequence.has_state)
                points.append((packet.timestamp, packet, sequence))
        for packet in trace.packet:
            if packet.HasField("track_descriptor") and packet.track_descriptor.HasField("parent_uuid"):
                self.assertIn(packet.track_descriptor.parent_uuid, tracks)
        points.sort(key=lambda point: point[0])  # stable, as readers sort
        for _, packet, sequence in points:
            event = packet.track_event
            self.assertIn(event.track_uuid, tracks)
            if event.HasField("name_iid"):
                self.assertIn(event.name_iid, sequence.known["event_names"])
            for category in event.category_iids:
                self.assertIn(category, sequence.known["event_categories"])
            for annotation in event.debug_annotations:
                if annotation.HasField("name_iid"):
                    self.assertIn(annotation.name_iid, sequence.known["debug_annotation_names"])
                if annotation.HasField("legacy_json_value"):
                    json.loads(annotation.legacy_json_value)
            if event.type == BEGIN:
                begun[event.track_uuid].append(packet.timestamp)
                slices[sequence.known["event_names"][event.name_iid]] += 1
            elif event.type == END:
                self.assertTrue(begun[event.track_uuid], "an end without its begin")
                begun[event.track_uuid].pop()
            else:
                self.assertIn(event.type, (INSTANT, COUNTER))
        return slices, trace.packet, begun

    def count_in_sql(self, run):
        rows = self.daemon.ctl.json("query", "--run", run, "SELECT name, count(*) FROM slice WHERE dur_ns IS NOT NULL GROUP BY name")
        return {name: count for name, count in rows["rows"]}

    def test_a_made_trace(self):
        events = [{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "python"}}]
        for i in range(50):
            events.append({"ph": "X", "name": "outer", "cat": "a", "pid": 3, "tid": 4, "ts": 100 * i, "dur": 90,
                           "args": {"text": "ä", "list": [1, {"k": None}], "number": 1.5, "flag": True, "big": 2 ** 62}})
            events.append({"ph": "X", "name": "inner", "cat": "b", "pid": 3, "tid": 4, "ts": 100 * i, "dur": 90})
            events.append({"ph": "X", "name": "crosses", "cat": "b", "pid": 3, "tid": 4, "ts": 100 * i + 50, "dur": 80})
            events.append({"ph": "X", "name": "empty", "cat": "b", "pid": 3, "tid": 4, "ts": 100 * i, "dur": 0})
            events.append({"ph": "C", "name": "load", "pid": 3, "ts": i, "args": {"x": i / 3}})
            events.append({"ph": "s", "name": "f", "cat": "f", "id": i, "pid": 3, "tid": 4, "ts": 100 * i})
            events.append({"ph": "f", "bp": "e", "name": "f", "cat": "f", "id": i, "pid": 3, "tid": 4, "ts": 100 * i + 60})
        path = os.path.join(self.files, "t.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "baseTimeNanoseconds": 1_700_000_000_000_000_000}, file)
        run = self.daemon.ctl.json("import", path)["id"]
        slices, packets, begun = self.read(run)
        self.assertEqual(slices, {"outer": 50, "inner": 50, "crosses": 50, "empty": 50})
        self.assertFalse(any(begun.values()), "a begin without its end")
        values = [packet.track_event.double_counter_value for packet in packets if packet.track_event.type == COUNTER]
        self.assertEqual(values, [i / 3 for i in range(50)])
        flows = Counter(flow for packet in packets for flow in
                        [*packet.track_event.flow_ids, *packet.track_event.terminating_flow_ids])
        self.assertEqual(set(flows.values()), {2})
        self.assertEqual(len(flows), 50)
        clocks = {clock.clock_id: clock.timestamp for packet in packets for clock in packet.clock_snapshot.clocks}
        self.assertEqual(clocks, {6: 0, 1: 1_700_000_000_000_000_000})

    @unittest.skipUnless(os.path.isdir(DATA), f"no {DATA}")
    def test_real_traces(self):
        for name in ("a100_cupti_counters", "mi250_minitoy", "h100_qwen15"):
            with self.subTest(name):
                run = self.daemon.ctl.json("import", os.path.join(DATA, "kineto", f"{name}.json.gz"))["id"]
                slices, _, begun = self.read(run)
                self.assertFalse(any(begun.values()))
                self.assertEqual(slices, self.count_in_sql(run))


if __name__ == "__main__":
    unittest.main()
