// Slices told in a word, for calls that are about two kinds of them: 'nccl*' (a name, with wildcards as in
// name_pattern.h), 'category=gpu_memcpy', 'stream=20'.
#pragma once

#include <string>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/stop_signal.h"
#include "storage/base/status.h"

namespace kprof {

// `filter` and that. Fails with kUsage, as `function`, for words that say nothing.
Result<EventFilter> WithWords(const char* function, const EventFilter& filter, const std::string& words,
                              const StopSignal& stop);
// `filter` without that: of names and categories alone.
Result<EventFilter> WithoutWords(const char* function, const EventFilter& filter, const std::string& words,
                                 const StopSignal& stop);

}  // namespace kprof
