// One session in the catalog: insert, update, read, and the numbers of its rounds. Functions over a Db; those that
// change it are for a Writer job. Which sessions there are is session_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"
#include "storage/db/db.h"

namespace kprof {

// Which sessions there are, and which runs are their rounds. Functions over a Db that only read, for a lent reader or a
// Writer job. Decide nothing about who may see what: callers pass `uid` to narrow, or nothing for all.

// Sessions that have not ended, oldest first: what a restart has to deal with. Bounded work: uses a partial index.
Result<std::vector<SessionRow>> ReadOpenSessions(Db& db);

// The newest id; empty when there was no session yet.
Result<std::string> ReadLastSessionId(Db& db);

struct SessionFilter {
  std::optional<uint32_t> uid;                              // owner
  std::vector<std::pair<std::string, std::string>> labels;  // all must match; the first is looked up, name the rarest
  std::vector<SessionState> states;                         // any; empty: all
  std::string before_id;                                    // only older than this one (exclusive): the paging cursor
  int64_t limit = 100;                                      // REQUIRES: 1..1001
};
// Newest first. Fails with kUsage for more than 100 labels.
Result<std::vector<SessionRow>> ListSessions(Db& db, const SessionFilter& filter);

// Ids that start with `prefix`, newest first, at most `limit`.
Result<std::vector<std::string>> FindSessionIds(Db& db, const std::string& prefix, std::optional<uint32_t> uid,
                                                int64_t limit);
// The id `back` places before the newest. kNotFound when there are not as many.
Result<std::string> ReadRecentSessionId(Db& db, int64_t back, std::optional<uint32_t> uid);

// The runs of a session whose round is above `after`, in that order, at most `limit`.
Result<std::vector<RunRow>> ListRounds(Db& db, const std::string& session_id, int64_t after, int64_t limit);

// With its devices, labels and trust. Fails with kUsage when the id is taken.
Status InsertSession(Db& db, const SessionRow& session);

// State, times and error become those of `session` (all else never changes after InsertSession; last_round is only
// changed by TakeRound). Fails with kNotFound.
Status UpdateSession(Db& db, const SessionRow& session);

// The number of the session's next round, from 1. Fails with kLeaseLost when it neither waits nor is open, or is not
// there.
Result<int64_t> TakeRound(Db& db, const std::string& session_id);

Result<SessionRow> ReadSession(Db& db, const std::string& id);  // kNotFound

}  // namespace kprof
