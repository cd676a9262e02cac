// Resumes, without a kprofd, what one that is gone has noted as paused. Blocks, for as long as it is told at most.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/clocks/pause/profiler_pause.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// Nothing: nothing was paused. Else whether it is resumed, or why not. REQUIRES: no kprofd lives that has that folder.
Result<std::optional<Status>> ReleaseHeldPause(const ProfilerPause::Settings& settings, Files& files, int64_t limit_ms);

}  // namespace kprof
