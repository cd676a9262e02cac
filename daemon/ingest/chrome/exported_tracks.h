// Tracks that an export of ours says more of than its events do, `kprofTracks` beside them: which events are of it, and
// what it is (docs/exports.md). Anybody can write such a list: what is no such track is passed over, and what one is
// said to be is no more than that.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "storage/trace/write/trace_batch.h"

namespace kprof {

// Further ones are passed over.
constexpr size_t kMostExportedTracks = 1 << 18;

// A batch without rows and tracks, of no reader's source.
TraceBatch ReadExportedTracks(std::string_view json);

}  // namespace kprof
