// A track: where events of a trace lie. A stream of a device, a thread, a counter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kprof {

struct TrackRow {
  uint32_t id = 0;
  std::string kind;  // gpu_stream, cpu_thread, async, counter, nc_engine...: docs/trace_format.md has the list
  std::string name;
  std::optional<std::string> pid;  // as the source has it; not always a number
  std::optional<std::string> tid;
  std::optional<std::string> process;  // its name
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  std::optional<int64_t> sort_index;

  bool operator==(const TrackRow&) const = default;
};

}  // namespace kprof
