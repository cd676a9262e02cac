// Reads profiles of Scalene, a sampling profiler of Python: a JSON object with percentages and amounts for each line of
// source. They have no times, and so become no events but rows of side tables (docs/trace_format.md). One of these has
// the profile itself, so that it can be written again. Scalene's web page is read as well: it has the profile in it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"
#include "storage/trace/format/side_table.h"

namespace kprof {

// A line of source: the shares of the profile's time that it took, and the memory. A percentage is one of the whole.
const SideTable& SourceLineTable();
// The moments, in seconds of Python's perf_counter, at which a line was seen running: some of them.
const SideTable& SourceLineSampleTable();
// The profile as it was, member by member: (nothing, key, JSON) for one of the profile, (file, key, JSON) for one of a
// file, (file, kScaleneLineKey, JSON) for each line.
const SideTable& ScaleneProfileTable();
inline constexpr std::string_view kScaleneLineKey = "lines[]";

// Reads all of the text into memory. Fails with kBadInput for one that is cut off, no JSON, or has more than
// `most_bytes`; kNotFound for an object without "files".
Status ReadScalene(TextSource& text, BatchSink& sink, int64_t most_bytes);

// True for an object whose first members are those of such a profile.
bool LooksLikeScalene(std::span<const char> first);

}  // namespace kprof
