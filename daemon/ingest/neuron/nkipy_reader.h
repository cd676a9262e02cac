// Reads kernel profiles of nkipy, AWS' Python front end of Neuron (`kernel_profile.json`): the kernel calls of a
// program, and the runtime's trace of the same time as a JSON text within the JSON (system_trace_reader.h). A call may
// also tell its thread, its time, its NeuronCore, its request and its execution, as kprof's own recorder writes them.
// Rows: neuron_tables.h.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// A call or an event of more than `most_event_bytes` is left out. Fails with kNotFound for a text without calls and
// events, kBadInput for one that is cut off before both, and as the sink does.
Status ReadNkipy(TextSource& text, BatchSink& sink, int64_t most_event_bytes);

// True for an object that begins as such a profile.
bool LooksLikeNkipy(std::span<const char> first);

}  // namespace kprof
