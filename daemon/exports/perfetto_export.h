// Writes trace parts as a Perfetto trace (protocol buffers, perfetto.protos.Trace). docs/exports.md says what of a part
// is in it.
//
// Messages and fields that are written, by their numbers in protos/perfetto/trace:
//   Trace             packet 1
//   TracePacket       clock_snapshot 6, timestamp 8, trusted_packet_sequence_id 10, track_event 11, interned_data 12,
//                     sequence_flags 13, track_descriptor 60
//   ClockSnapshot     clocks 1 (clock_id 1, timestamp 2), primary_trace_clock 2
//   TrackDescriptor   uuid 1, name 2, process 3 (pid 1, process_name 6), thread 4 (pid 1, tid 2, thread_name 5),
//                     parent_uuid 5, counter 8
//   TrackEvent        category_iids 3, debug_annotations 4, type 9, name_iid 10, track_uuid 11,
//                     double_counter_value 44, flow_ids 47, terminating_flow_ids 48
//   InternedData      event_categories 1, event_names 2, debug_annotation_names 3 (iid 1, name 2 of each)
//   DebugAnnotation   name_iid 1, bool_value 2, uint_value 3, int_value 4, double_value 5, string_value 6,
//                     legacy_json_value 9, name 10
//
// Blocks; one thread. Memory as chrome_export.h, and what slices are open.
#pragma once

#include <span>

#include "daemon/exports/export_part.h"
#include "daemon/exports/export_sink.h"
#include "storage/base/status.h"

namespace kprof {

// Fails as the parts do, as the sink does, and with kCancelled.
Status ExportPerfetto(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);

}  // namespace kprof
