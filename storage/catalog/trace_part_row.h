// A part of a run's trace as the catalog keeps it: which file it is, what it was made of, and how much is in it. A
// value; run_details.h stores it, storage/trace reads the file itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kprof {

struct TracePartRow {
  std::string name;  // unique in its run; Layout::TracePartPath says where it lies
  std::optional<int64_t> rank;
  std::string source_name;    // bytes: as its owner calls the file that it was made of
  std::string source_format;  // that it was read as
  int64_t source_bytes = 0;
  std::string source_hash;            // source_hash.h: its size, '-', a hash; empty: of no file that was read whole
  std::string source_artifact;        // the artifact that is the source; empty: it is not kept
  std::string asked_format;           // as the import asked for it, as is the rank
  std::optional<int64_t> asked_rank;  // another wish is another import
  int64_t bytes = 0;                  // of the file
  int64_t slices = 0;
  int64_t instants = 0;
  int64_t counters = 0;
  int64_t flows = 0;
  int64_t tracks = 0;
  bool operator==(const TracePartRow&) const = default;
};

// What the parts of a run come to.
struct TraceTotals {
  int64_t slices = 0;
  int64_t instants = 0;
  int64_t counters = 0;
  int64_t flows = 0;
  int64_t tracks = 0;
  int64_t bytes = 0;
  int64_t source_bytes = 0;
  bool operator==(const TraceTotals&) const = default;
};
TraceTotals TotalsOf(const std::vector<TracePartRow>& parts);

}  // namespace kprof
