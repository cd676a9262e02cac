// Reads traces in Perfetto's own format (protocol buffers): what PyTorch writes as .pftrace, what kprofd exports, and
// what any other writer of track events makes. Slices, instants, samples of counters, flows, arguments, GPU render
// stages and GPU counters are read; packets of other kinds (of the kernel's scheduler, of Android) are counted and left
// out. docs/trace_format.md says what becomes of each field.
//
// Reads the text twice, as packets are in no order of time (perfetto_survey.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/perfetto/packet_stream.h"
#include "daemon/ingest/perfetto/perfetto_survey.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

struct PerfettoLimits {
  PacketStream::Limits packets = {};
  PerfettoSurvey::Limits survey = {};
};

// `first`: the same text once more, for the first pass; null: `text` can be read twice, as it is kept whole.
// Fails with kBadInput for a source that is damaged in its first packet, or has more of something than the limits say.
Status ReadPerfetto(TextSource* first, TextSource& text, BatchSink& sink, const PerfettoLimits& limits);

}  // namespace kprof
