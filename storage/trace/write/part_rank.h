// Which rank of a job a trace part is, where that is known only once the part is finished: what other parts of its run
// say decides, too.
//
// Blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// Makes of a part's fact `rank` what its run says; none: nobody knows, and there is no such fact. It is on the disk
// when this returns; its size. REQUIRES: `path` is a part that nobody has opened, and nobody will before this returns:
// where it fails, or we die before, the part is of no use any more.
Result<int64_t> SetPartRank(Files& files, const std::string& path, std::optional<int64_t> rank);

}  // namespace kprof
