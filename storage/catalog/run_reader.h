// Reads whole runs: the row and all that hangs on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_details.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"

namespace kprof {

// Its statements are prepared once, for one run or a thousand. Must not outlive its Db.
class RunReader {
 public:
  explicit RunReader(Db& db);

  // Nothing when there is no such run.
  Result<std::optional<RunRow>> Read(const std::string& id);

  // Those of `ids` that are there, in that order.
  Result<std::vector<RunRow>> ReadAll(const std::vector<std::string>& ids);

 private:
  Statement run_;
  RunDetailsReader parts_;
};

}  // namespace kprof
