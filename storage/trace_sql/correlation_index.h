// Which slices of a part have a correlation: made when it is asked for the second time in a query, because the first
// time a look at the column is as fast.
//
// Takes 16 bytes of SQLite's memory for each slice that has one, so that they count as the query's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/open_part.h"

namespace kprof {

class CorrelationIndex {
 public:
  CorrelationIndex() = default;
  ~CorrelationIndex();
  CorrelationIndex(const CorrelationIndex&) = delete;
  CorrelationIndex& operator=(const CorrelationIndex&) = delete;

  // The rows in ascending order; nothing when it is better to look at all of them: the first time, and where there is
  // no memory for it.
  Result<std::optional<std::vector<int64_t>>> Find(OpenPart& part, const std::vector<int64_t>& correlations);

 private:
  struct Entry {
    int64_t correlation;
    int64_t row;
  };
  Status Make(OpenPart& part);

  bool was_asked_ = false;
  bool is_made_ = false;
  bool has_no_room_ = false;
  Entry* entries_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kprof
