// Reads the record of a run of the tool `event` (event_samples.jsonl): a line of JSON for the run, one for each turn,
// and behind each turn its samples. They become rows of event_tables.h.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// Lines that are none of these are left out, with a warning. Fails with kBadInput where there is no turn.
Status ReadEventSamples(TextSource& text, BatchSink& sink);

// True for text that begins as such a record.
bool LooksLikeEventSamples(std::span<const char> first);

}  // namespace kprof
