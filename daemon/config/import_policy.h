// How traces are imported, as the configuration says it.
#pragma once

#include <cstdint>

namespace kprof {

struct ImportPolicy {
  int64_t at_once = 2;
  int64_t memory_bytes = int64_t{1} << 30;   // of the process that reads
  int64_t source_bytes = int64_t{64} << 30;  // of a source, unpacked
  bool operator==(const ImportPolicy&) const = default;
};

}  // namespace kprof
