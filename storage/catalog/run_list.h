// Finds runs: by key, by prefix, by place, by filter, by the sources of an import. Functions over a Db that only read,
// for a lent reader or a Writer job. Decide nothing about who may see what: callers pass `uid` to narrow, or nothing
// for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"

namespace kprof {

// A SELECT of ids under construction: its text, and its values in the order of their question marks.
struct IdQuery {
  std::string sql;
  std::vector<std::variant<int64_t, std::string>> values;

  template <typename... Values>
  void Add(const std::string& text, const Values&... added) {
    sql += text;
    (values.emplace_back(added), ...);
  }
};

// "?, ?, ?"
std::string Placeholders(size_t count);

Result<std::vector<std::string>> SelectIds(Db& db, const IdQuery& query);

// The first text after all that start with `prefix`; empty when there is none.
std::string EndOfPrefix(std::string prefix);

// A source that an import needs, to find an earlier import of the same sources.
struct WantedSource {
  std::string hash;                  // as in TracePartRow, and below
  std::vector<std::string> formats;  // that it may be read as; none: any format is right
  std::optional<int64_t> asked_rank;
};

// True if the owner has imported a source of each of these sizes. If false, there is no need to hash any.
Result<bool> HasSourcesOfSizes(Db& db, uint32_t uid, const std::vector<int64_t>& sizes_bytes);

// The owner's newest import that is done and has exactly these sources, in any order; `kept`: one that has kept them,
// too. Looks at the newest hundred imports that share a source.
Result<std::optional<RunRow>> FindImport(Db& db, uint32_t uid, std::vector<WantedSource> sources, bool kept);

// Nothing when there is none. A failed read is a failure: else a retried request would start a second run.
Result<std::optional<RunRow>> ReadRunByKey(Db& db, uint32_t uid, const std::string& idempotency_key);

// Runs that have not ended, oldest first, for a restart to deal with. Bounded work: uses a partial index.
Result<std::vector<RunRow>> ReadOpenRuns(Db& db);

// The newest id; empty for an empty catalog.
Result<std::string> ReadLastRunId(Db& db);

struct RunFilter {
  std::optional<uint32_t> uid;                              // owner, or shared runs of others
  std::vector<std::pair<std::string, std::string>> labels;  // all must match; the first is looked up, name the rarest
  std::vector<std::string> tools;                           // any; empty: all
  std::vector<RunState> states;                             // any; empty: all
  std::string before_id;                                    // only older than this one (exclusive): the paging cursor
  int64_t limit = 100;                                      // REQUIRES: 1..1000
};
// Newest first. Fails with kUsage for more than 100 labels or tools.
Result<std::vector<RunRow>> ListRuns(Db& db, const RunFilter& filter);

// Ids that start with `prefix`, newest first, at most `limit`.
Result<std::vector<std::string>> FindRunIds(Db& db, const std::string& prefix, std::optional<uint32_t> uid,
                                            int64_t limit);
// The id `back` places before the newest, of the runs that `uid` may see. kNotFound when there are not as many. Where
// an import of `asker` was answered with an earlier run, that one counts as if it had been made then (NoteAnswer).
Result<std::string> ReadRecentRunId(Db& db, int64_t back, std::optional<uint32_t> uid,
                                    std::optional<uint32_t> asker = {});

// Notes the earlier run that is the answer to an import of this user; a later answer takes its place.
Status NoteAnswer(Db& db, uint32_t uid, const std::string& run_id);

struct CatalogCounts {
  int64_t runs = 0;
  int64_t artifact_bytes = 0;
};
// Cheap at any size: kept by triggers, not counted.
Result<CatalogCounts> ReadCounts(Db& db);

}  // namespace kprof
