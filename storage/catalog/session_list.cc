#include "storage/catalog/session_list.h"

#include <algorithm>

#include "storage/catalog/id_query.h"
#include "storage/catalog/run_reader.h"
#include "storage/catalog/session_reader.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

constexpr size_t kSessionFilterLimit = 100;

// What is true of the sessions wanted, apart from the first label.
void AddConditions(IdQuery& query, const SessionFilter& filter) {
  if (filter.uid.has_value()) query.Add(" AND s.uid = ?", int64_t{*filter.uid});
  if (!filter.before_id.empty()) query.Add(" AND s.id < ?", filter.before_id);
  if (!filter.states.empty()) {
    query.Add(" AND s.state IN (" + Placeholders(filter.states.size()) + ")");
    for (SessionState state : filter.states) query.Add("", static_cast<int64_t>(state));
  }
  for (size_t i = 1; i < filter.labels.size(); ++i) {
    query.Add(" AND EXISTS (SELECT 1 FROM session_labels WHERE session_id = s.id AND key = ? AND value = ?)",
              filter.labels[i].first, filter.labels[i].second);
  }
}

// The index is named each time: no statistics are kept, and a wrong guess would read the whole table.
IdQuery BuildIdQuery(const SessionFilter& filter) {
  IdQuery query;
  const bool all_open = !filter.states.empty() && std::none_of(filter.states.begin(), filter.states.end(),
                                                               [](SessionState state) { return IsOver(state); });
  if (!filter.labels.empty()) {
    query.Add(
        "SELECT s.id FROM session_labels AS l INDEXED BY session_labels_by_label CROSS JOIN sessions AS s "
        "ON s.id = l.session_id WHERE l.key = ? AND l.value = ?",
        filter.labels[0].first, filter.labels[0].second);
  } else if (all_open) {
    query.Add("SELECT s.id FROM sessions AS s INDEXED BY sessions_open WHERE s.state < 3");
  } else if (filter.uid.has_value()) {
    query.Add("SELECT s.id FROM sessions AS s INDEXED BY sessions_by_owner WHERE 1");
  } else {
    query.Add("SELECT s.id FROM sessions AS s WHERE 1");
  }
  AddConditions(query, filter);
  query.Add(" ORDER BY s.id DESC");
  return query;
}

}  // namespace

Result<std::vector<SessionRow>> ReadOpenSessions(Db& db) {
  IdQuery query{"SELECT id FROM sessions INDEXED BY sessions_open WHERE state < 3 ORDER BY id", {}};
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return SessionReader(db).ReadAll(ids);
}

Result<std::string> ReadLastSessionId(Db& db) {
  Statement select(db, "SELECT id FROM sessions ORDER BY id DESC LIMIT 1");
  if (select.Next()) return std::string(select.Text(0));
  RETURN_IF_ERROR(select.status());
  return std::string();
}

Result<std::vector<SessionRow>> ListSessions(Db& db, const SessionFilter& filter) {
  KPROF_CHECK(filter.limit >= 1 && filter.limit <= 1001);
  if (filter.labels.size() > kSessionFilterLimit) {
    return Fail(ErrorCode::kUsage, "list sessions", "more than " + std::to_string(kSessionFilterLimit) + " labels");
  }
  SessionFilter bounded = filter;
  std::sort(bounded.states.begin(), bounded.states.end());
  bounded.states.erase(std::unique(bounded.states.begin(), bounded.states.end()), bounded.states.end());
  IdQuery query = BuildIdQuery(bounded);
  query.Add(" LIMIT ?", filter.limit);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return SessionReader(db).ReadAll(ids);
}

Result<std::vector<std::string>> FindSessionIds(Db& db, const std::string& prefix, std::optional<uint32_t> uid,
                                                int64_t limit) {
  IdQuery query;
  query.Add("SELECT id FROM sessions WHERE id >= ?", prefix);
  if (std::string end = EndOfPrefix(prefix); !end.empty()) query.Add(" AND id < ?", end);
  if (uid.has_value()) query.Add(" AND uid = ?", int64_t{*uid});
  query.Add(" ORDER BY id DESC LIMIT ?", limit);
  return SelectIds(db, query);
}

Result<std::string> ReadRecentSessionId(Db& db, int64_t back, std::optional<uint32_t> uid) {
  SessionFilter filter;
  filter.uid = uid;
  IdQuery query = BuildIdQuery(filter);
  query.Add(" LIMIT 1 OFFSET ?", back);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  if (ids.empty()) {
    return Fail(ErrorCode::kNotFound, "find session @last~" + std::to_string(back), "there are not as many sessions");
  }
  return ids[0];
}

Result<std::vector<RunRow>> ListRounds(Db& db, const std::string& session_id, int64_t after, int64_t limit) {
  IdQuery query;
  query.Add("SELECT id FROM runs INDEXED BY runs_by_session WHERE session_id = ? AND round > ? ORDER BY round LIMIT ?",
            session_id, after, limit);
  ASSIGN_OR_RETURN(std::vector<std::string> ids, SelectIds(db, query));
  return RunReader(db).ReadAll(ids);
}

}  // namespace kprof
