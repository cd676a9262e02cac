#include "storage/catalog/known_runs.h"

#include <set>

#include "storage/db/statement.h"

namespace kprof {

Result<KnownRuns> ReadKnownRuns(Db& db, std::span<const std::string> runs) {
  KnownRuns known;
  Statement select(db,
                   "SELECT coalesce(error_code, ''), coalesce((SELECT value FROM run_labels WHERE run_id = ?1 AND "
                   "key = 'version'), '') FROM runs WHERE id = ?1");
  std::string refuting;
  for (const char* code : kRefutingCodes) refuting += (refuting.empty() ? "'" : ", '") + std::string(code) + "'";
  Statement select_doubt(
      db, ("SELECT code FROM run_trust WHERE run_id = ?1 AND code IN (" + refuting + ") ORDER BY position LIMIT 1")
              .c_str());
  for (const std::string& run : std::set<std::string>(runs.begin(), runs.end())) {
    select.BindText(1, run);
    while (select.Next()) {
      KnownRun& of = known[run];
      of.failure = select.Text(0);
      of.version = select.Text(1);
    }
    RETURN_IF_ERROR(select.status());
    select_doubt.BindText(1, run);
    while (select_doubt.Next()) known[run].refuted = select_doubt.Text(0);
    RETURN_IF_ERROR(select_doubt.status());
  }
  return known;
}

}  // namespace kprof
