// Reads system traces of AWS Neuron, as JSON: what nrt_sys_trace gives (`events`, `data_version`), and what
// neuron-profile and neuron-explorer write of them (`trace_event` or `trace_events`, with series of the host's and the
// devices' memory). Lines of a tool's log may stand before. Rows: neuron_event_rows.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/neuron/neuron_event_rows.h"
#include "daemon/ingest/neuron/text_cursor.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// The act in failures.
constexpr const char* kReadAsNeuronSystem = "read it as a Neuron system trace";

// The outcome of reading a text with events.
struct SystemTraceText {
  int64_t events = 0;
  bool has_list = false;  // a list of events is there
  bool is_cut = false;    // the text ends before it does
};

// Reads the object, or the list, that `cursor` stands at; rows go to `rows`. `text`: what the cursor reads, for
// progress. Fails as the sink and the text do.
Result<SystemTraceText> ReadSystemTraceText(TextCursor& cursor, TextSource& text, NeuronEventRows& rows);

// An event of more than `most_event_bytes` is left out. Fails with kNotFound for a text without a list of such events,
// kBadInput for one that is cut off before the first event, and as the sink does.
Status ReadNeuronSystem(TextSource& text, BatchSink& sink, int64_t most_event_bytes);

// True for a text that begins as one of these, also behind lines of a log.
bool LooksLikeNeuronSystem(std::span<const char> first);

// The number of events that a tool's log says were dropped: "Warning: 1001 trace events were dropped during capture
// (stored 530560 out of 531561 total events)"; 0: it says so of none.
int64_t DroppedEventsIn(std::string_view log);

}  // namespace kprof
