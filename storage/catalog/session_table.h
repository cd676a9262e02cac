// Sessions in the catalog: insert, update, read and list, and the runs that are their rounds. Functions over a Db;
// those that change it are for a Writer job. Reading is also for a lent reader. Decide nothing about who may see what:
// callers pass `uid` to narrow, or nothing for all.
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

// Sessions that have not ended, oldest first, for a restart to deal with. Bounded work: uses a partial index.
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

// The runs of a session with a round above `after`, in that order, at most `limit`.
Result<std::vector<RunRow>> ListRounds(Db& db, const std::string& session_id, int64_t after, int64_t limit);

// Inserts the session with its devices, labels and trust. Fails with kUsage when the id is taken.
Status InsertSession(Db& db, const SessionRow& session);

// State, times, error and trust become those of `session`. All else never changes after InsertSession, and only
// TakeRound changes last_round. Fails with kNotFound.
Status UpdateSession(Db& db, const SessionRow& session);

// Takes the number of the session's next round, from 1. Fails with kLeaseLost when the session is neither queued nor
// open, or is not there.
Result<int64_t> TakeRound(Db& db, const std::string& session_id);

Result<SessionRow> ReadSession(Db& db, const std::string& id);  // kNotFound

}  // namespace kprof
