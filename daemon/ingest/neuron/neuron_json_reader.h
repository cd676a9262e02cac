// Reads what the Neuron profiler writes as JSON of a device profile (docs/trace_format.md#from-neuron-device-profiles):
// the whole profile (`--output-format json`), an object of lists, and its summary (`summary-json`), an object of
// counters for each profile, `{"n_<hash>": {...}}`, or such counters alone. Lines of the tool's log may stand before
// the first two.
//
// The text is read twice: first for the metadata that says whether its times are ns or ps, which may stand anywhere.
// Memory: a row, at most `most_row_bytes`, and as profile_rows.h says.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/neuron/profile_rows.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// Begins a warning that nobody knows the unit of the profile's times: such a one gets a trust code of its own.
inline constexpr std::string_view kTimeUnitUnknown = "time_unit_unknown: ";

// `first`: the same text once more. Null: only the job is asked for, of which such a profile says nothing. Fails with
// kNotFound for a text without such an object, and as reading does. A text that ends early is read as far as it goes,
// with a warning.
Status ReadNeuronJson(TextSource* first, TextSource& text, BatchSink& sink, int64_t most_row_bytes,
                      const ProfileLimits& limits = {});

bool LooksLikeNeuronJson(std::span<const char> first);

}  // namespace kprof
