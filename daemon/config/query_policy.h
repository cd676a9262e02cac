// What queries may have for themselves, as the configuration says it.
#pragma once

#include <cstdint>

namespace kprof {

struct QueryPolicy {
  int64_t trace_cache_bytes = int64_t{256} << 20;  // decoded columns of traces, kept for the next question
  bool operator==(const QueryPolicy&) const = default;
};

}  // namespace kprof
