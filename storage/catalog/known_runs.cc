#include "storage/catalog/known_runs.h"

#include <set>

#include "storage/db/statement.h"

namespace kprof {

Result<KnownRuns> ReadKnownRuns(Db& db, std::span<const std::string> runs) {
  KnownRuns known;
  Statement select(db,
                   "SELECT coalesce(error_code, ''), coalesce((SELECT value FROM run_labels WHERE run_id = ?1 AND "
                   "key = 'version'), '') FROM runs WHERE id = ?1");
  for (const std::string& run : std::set<std::string>(runs.begin(), runs.end())) {
    select.BindText(1, run);
    while (select.Next()) known[run] = {std::string(select.Text(0)), std::string(select.Text(1)), ""};
    RETURN_IF_ERROR(select.status());
  }
  return known;
}

}  // namespace kprof
