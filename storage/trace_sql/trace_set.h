// The parts of the runs that a query is about. Their order gives ids their highest bits (open_part.h).
//
// One thread. `pool` must outlive the set, and the set the connection that it is registered with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/known_runs.h"
#include "storage/db/db.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/parts/query_budget.h"

namespace kprof {

struct BroughtTable;

class TraceSet {
 public:
  explicit TraceSet(PartPool& pool, QueryBudget terms = {});
  ~TraceSet();
  TraceSet(const TraceSet&) = delete;
  TraceSet& operator=(const TraceSet&) = delete;

  // Call it before the set is registered. Fails as PartReader::Open does, and with kUsage for more than kMostSqlParts.
  Status Add(const TracePlace& place);

  // Also shows what the catalog keeps of these runs. The catalog must outlive the connection.
  void ReadCatalog(Db& catalog, std::vector<std::string> runs) {
    catalog_ = &catalog;
    runs_ = std::move(runs);
  }
  Db* catalog() const { return catalog_; }  // null: there is none
  std::span<const std::string> runs() const { return runs_; }

  // The ceilings of devices, for functions that hold kernels against them; none by default.
  void Keep(KnownCeilings ceilings) { ceilings_ = std::move(ceilings); }
  const KnownCeilings& ceilings() const { return ceilings_; }
  // Facts about the runs, for functions that judge them; none by default.
  void Keep(KnownRuns known_runs) { known_runs_ = std::move(known_runs); }
  const KnownRuns& known_runs() const { return known_runs_; }

  // The side tables of the parts, as the connection has them.
  void Keep(std::vector<std::unique_ptr<BroughtTable>> tables);
  std::span<const std::unique_ptr<BroughtTable>> brought_tables() const { return brought_; }

  std::span<const std::unique_ptr<OpenPart>> parts() const { return parts_; }
  const QueryBudget& terms() const { return terms_; }
  int64_t rows(EventKind kind) const;

  // The number of different values in a column of the table of tracks; `count` finds it out when it is first asked for.
  int64_t TrackValues(int column, const std::function<int64_t()>& count) {
    const auto [found, is_new] = track_values_.try_emplace(column, 0);
    if (is_new) found->second = count();
    return found->second;
  }

  // The shortcuts that a plan may take. Each is right for some statements only: statement_shortcuts.h finds out.
  struct Shortcuts {
    bool sums = false;     // rows that are only counted and summed up come as one
    bool objects = false;  // arguments that only arg() reads come without their text
    bool operator==(const Shortcuts&) const = default;
  };
  const Shortcuts& shortcuts() const { return shortcuts_; }
  void Allow(const Shortcuts& shortcuts) { shortcuts_ = shortcuts; }
  // The number of rows that the row of a summed scan stands for, as its scan has set it last.
  int64_t summed_rows() const { return summed_rows_; }
  void SetSummedRows(int64_t rows) { summed_rows_ = rows; }

  // The first failure of reading, for callers that hear only SQLite's code.
  const Status& status() const { return status_; }
  void Keep(const Status& failure) {
    if (status_.ok()) status_ = failure;
  }

 private:
  PartPool& pool_;
  const QueryBudget terms_;
  std::vector<std::unique_ptr<OpenPart>> parts_;
  Db* catalog_ = nullptr;
  KnownCeilings ceilings_;
  KnownRuns known_runs_;
  std::vector<std::string> runs_;
  std::vector<std::unique_ptr<BroughtTable>> brought_;
  std::map<int, int64_t> track_values_;
  Shortcuts shortcuts_;
  int64_t summed_rows_ = 0;
  Status status_;
};

}  // namespace kprof
