// The bytes and the rates of copies and fills, as the source says them in their arguments.
//
// On the reader's thread. Costs a pass over the arguments of the segments that have such slices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

struct CopySize {
  std::optional<double> bytes;  // nothing: the source does not say it
  std::optional<double> gb_s;
};

// `places`: of all slices of the part, in order. One for each, in their order. Fails as reading columns does.
Result<std::vector<CopySize>> ReadCopySizes(PartReader& reader, std::span<const int64_t> places);

}  // namespace kprof
