#include "storage/catalog/known_time.h"

#include "storage/db/statement.h"

namespace kprof {
namespace {

// Newest by id, not by time: what was written while the clock was wrong is not the last word.
constexpr const char* kSelectKnownTime = R"sql(
SELECT coalesce((SELECT value FROM facts WHERE name = 'known_ns'),
                (SELECT time_ns FROM audit ORDER BY id DESC LIMIT 1),
                (SELECT queued_ns FROM runs ORDER BY id DESC LIMIT 1))
)sql";

constexpr const char* kNote = "INSERT OR REPLACE INTO facts (name, value) VALUES ('known_ns', ?1)";

}  // namespace

Result<std::optional<int64_t>> ReadKnownTime(Db& db) {
  Statement select(db, kSelectKnownTime);
  if (!select.Next()) return select.status();
  return select.MaybeInteger(0);
}

Status NoteKnownTime(Db& db, int64_t unix_ns) {
  Statement note(db, kNote);
  return note.Bind(1, unix_ns).Run();
}

}  // namespace kprof
