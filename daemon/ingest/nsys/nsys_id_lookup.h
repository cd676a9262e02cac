// Finds rows of a table of an Nsight Systems export by their `id`: through its primary key where it has one; tables of
// exports that were cut by others have none, and get an index of row ids here, once somebody asks.
//
// One thread. At most 64 MiB.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/nsys/nsys_database.h"

namespace kprof {

class NsysIdLookup {
 public:
  // `database` is borrowed, and must outlive this. A table that is not there has no rows.
  NsysIdLookup(NsysDatabase& database, std::string table, std::vector<std::string> columns);

  // Calls `take` with each row of that id, until it says false. False where reading failed.
  bool Find(int64_t id, const std::function<bool(const NsysQuery&)>& take);
  bool Has(const std::string& column) const;

 private:
  void MakeIndex();
  bool Run(int64_t argument, const std::function<bool(const NsysQuery&)>& take, bool* wants_more);

  NsysDatabase& database_;
  const NsysTable* table_;
  std::optional<NsysQuery> query_;
  bool by_row_id_ = false;
  bool has_index_ = false;
  std::vector<std::pair<int64_t, int64_t>> rows_;  // id and row id, sorted
};

}  // namespace kprof
