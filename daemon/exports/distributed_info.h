// What a trace says of the job that it is a rank of, `distributedInfo`, as an export says it: with the rank that the
// run knows it as, which may be another one than its source said.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kprof {

// The source's JSON, byte by byte but for its member `rank`, where that is another number; one that has none gets it.
// What is no object is one with the rank alone.
std::string DistributedInfoOf(std::string_view json, std::optional<int64_t> rank);

}  // namespace kprof
