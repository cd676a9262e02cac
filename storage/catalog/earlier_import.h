// Whether an owner has imported the same sources before. Functions over a Db that only read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"

namespace kprof {

struct WantedSource {
  std::string hash;                   // as in TracePartRow, and below
  std::optional<std::string> format;  // that it is read as; none: whatever it was read as is right
  std::optional<int64_t> asked_rank;
};

// Whether each of these sizes is that of a source which the owner has imported: else there is no need to hash any.
Result<bool> HasSourcesOfSizes(Db& db, uint32_t uid, const std::vector<int64_t>& sizes_bytes);

// The newest import of the owner's that is done and of exactly these sources, in whatever order; `kept`: one that has
// kept them, too. Of imports that share a source the newest hundred are looked at.
Result<std::optional<RunRow>> FindImport(Db& db, uint32_t uid, std::vector<WantedSource> sources, bool kept);

}  // namespace kprof
