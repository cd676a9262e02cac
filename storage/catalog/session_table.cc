#include "storage/catalog/session_table.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_row.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

// Reads whole sessions: the row and its details. Its statements are prepared once, for one session or a thousand. Must
// not outlive its Db.
class SessionReader {
 public:
  explicit SessionReader(Db& db);

  // Nothing when there is no such session.
  Result<std::optional<SessionRow>> Read(const std::string& id);

  // Those of `ids` that are there, in that order.
  Result<std::vector<SessionRow>> ReadAll(const std::vector<std::string>& ids);

 private:
  Statement session_;
  Statement devices_;
  Statement labels_;
  Statement trust_;
};

// In the order in which TakeSessionRow takes them.
constexpr const char* kSelectSession = R"sql(
SELECT id, uid, state, attached, clocks, priority, ttl_ms, idle_timeout_ms, queue_timeout_ms, opened_ns, granted_ns,
       closed_ns, expires_ns, error_code, error_message, error_remedy, last_round
FROM sessions WHERE id = ?1
)sql";
constexpr const char* kSelectSessionDevices =
    "SELECT device FROM session_devices WHERE session_id = ?1 ORDER BY position";
constexpr const char* kSelectSessionLabels = "SELECT key, value FROM session_labels WHERE session_id = ?1";
constexpr const char* kSelectSessionTrust =
    "SELECT code, message FROM session_trust WHERE session_id = ?1 ORDER BY position";

SessionRow TakeSessionRow(const Statement& row) {
  SessionRow session;
  session.id = row.Text(0);
  session.uid = static_cast<uint32_t>(row.Integer(1));
  session.state = static_cast<SessionState>(row.Integer(2));
  session.attached = row.Integer(3) != 0;
  session.clocks = row.Text(4);
  session.priority = row.Integer(5);
  session.ttl_ms = row.Integer(6);
  session.idle_timeout_ms = row.Integer(7);
  session.queue_timeout_ms = row.Integer(8);
  session.opened_ns = row.Integer(9);
  session.granted_ns = row.MaybeInteger(10);
  session.closed_ns = row.MaybeInteger(11);
  session.expires_ns = row.MaybeInteger(12);
  if (!row.IsNull(13)) {
    session.error = RunError{std::string(row.Text(13)), std::string(row.Text(14)), std::string(row.Text(15))};
  }
  session.last_round = row.Integer(16);
  return session;
}

SessionReader::SessionReader(Db& db)
    : session_(db, kSelectSession),
      devices_(db, kSelectSessionDevices),
      labels_(db, kSelectSessionLabels),
      trust_(db, kSelectSessionTrust) {}

Result<std::optional<SessionRow>> SessionReader::Read(const std::string& id) {
  session_.BindText(1, id);
  if (!session_.Next()) {
    RETURN_IF_ERROR(session_.status());
    return std::optional<SessionRow>();
  }
  SessionRow session = TakeSessionRow(session_);
  (void)session_.Next();  // there is one at most; this makes ready for the next
  devices_.BindText(1, id);
  while (devices_.Next()) session.devices.emplace_back(devices_.Text(0));
  RETURN_IF_ERROR(devices_.status());
  labels_.BindText(1, id);
  while (labels_.Next()) session.labels.emplace(labels_.Text(0), labels_.Text(1));
  RETURN_IF_ERROR(labels_.status());
  trust_.BindText(1, id);
  while (trust_.Next()) session.trust.push_back({std::string(trust_.Text(0)), std::string(trust_.Text(1))});
  RETURN_IF_ERROR(trust_.status());
  return std::optional<SessionRow>(std::move(session));
}

Result<std::vector<SessionRow>> SessionReader::ReadAll(const std::vector<std::string>& ids) {
  std::vector<SessionRow> sessions;
  sessions.reserve(ids.size());
  for (const std::string& id : ids) {
    ASSIGN_OR_RETURN(std::optional<SessionRow> session, Read(id));
    if (session.has_value()) sessions.push_back(*std::move(session));
  }
  return sessions;
}

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

namespace {

constexpr const char* kInsertSession = R"sql(
INSERT INTO sessions (id, uid, state, attached, clocks, priority, ttl_ms, idle_timeout_ms, queue_timeout_ms, opened_ns,
                      granted_ns, closed_ns, expires_ns, error_code, error_message, error_remedy, last_round)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
)sql";

// Its parameters have the numbers they have in kInsertSession, so that BindChanging serves both.
constexpr const char* kUpdateSession = R"sql(
UPDATE sessions SET state = ?3, granted_ns = ?11, closed_ns = ?12, expires_ns = ?13, error_code = ?14,
  error_message = ?15, error_remedy = ?16
WHERE id = ?1
)sql";

// 2: SessionState::kClosing, the first of those that take no runs.
constexpr const char* kTakeRound =
    "UPDATE sessions SET last_round = last_round + 1 WHERE id = ?1 AND state < 2 RETURNING last_round";
static_assert(static_cast<int>(SessionState::kClosing) == 2);

constexpr const char* kInsertSessionDevice =
    "INSERT INTO session_devices (session_id, position, device) VALUES (?1, ?2, ?3)";
constexpr const char* kInsertSessionLabel = "INSERT INTO session_labels (session_id, key, value) VALUES (?1, ?2, ?3)";
constexpr const char* kDeleteSessionTrust = "DELETE FROM session_trust WHERE session_id = ?1";
constexpr const char* kInsertSessionTrust =
    "INSERT INTO session_trust (session_id, position, code, message) VALUES (?1, ?2, ?3, ?4)";

void BindChanging(Statement& statement, const SessionRow& session) {
  statement.BindText(1, session.id)
      .Bind(3, static_cast<int64_t>(session.state))
      .BindMaybe(11, session.granted_ns)
      .BindMaybe(12, session.closed_ns)
      .BindMaybe(13, session.expires_ns);
  if (session.error.has_value()) {
    statement.BindText(14, session.error->code)
        .BindText(15, session.error->message)
        .BindText(16, session.error->remedy);
  }
}

Status InsertTrust(Db& db, const SessionRow& session) {
  Statement trust(db, kInsertSessionTrust);
  int64_t position = 0;
  for (const TrustReason& reason : session.trust) {
    trust.BindText(1, session.id).Bind(2, position++).BindText(3, reason.code).BindText(4, reason.message);
    RETURN_IF_ERROR(trust.Run());
  }
  return OkStatus();
}

Status InsertParts(Db& db, const SessionRow& session) {
  Statement device(db, kInsertSessionDevice);
  int64_t position = 0;
  for (const std::string& name : session.devices) {
    RETURN_IF_ERROR(device.BindText(1, session.id).Bind(2, position++).BindText(3, name).Run());
  }
  Statement label(db, kInsertSessionLabel);
  for (const auto& [key, value] : session.labels) {
    RETURN_IF_ERROR(label.BindText(1, session.id).BindText(2, key).BindText(3, value).Run());
  }
  return InsertTrust(db, session);
}

}  // namespace

Status InsertSession(Db& db, const SessionRow& session) {
  Statement insert(db, kInsertSession);
  BindChanging(insert, session);
  insert.Bind(2, int64_t{session.uid})
      .Bind(4, int64_t{session.attached})
      .BindText(5, session.clocks)
      .Bind(6, session.priority)
      .Bind(7, session.ttl_ms)
      .Bind(8, session.idle_timeout_ms)
      .Bind(9, session.queue_timeout_ms)
      .Bind(10, session.opened_ns)
      .Bind(17, session.last_round);
  Status status = insert.Run();
  if (!status.ok()) {
    if (sqlite3_extended_errcode(db.handle()) == SQLITE_CONSTRAINT_PRIMARYKEY) {
      return Fail(ErrorCode::kUsage, "insert session " + session.id, "its id is taken");
    }
    return status.In("insert session " + session.id);
  }
  return InsertParts(db, session);
}

Status UpdateSession(Db& db, const SessionRow& session) {
  Statement update(db, kUpdateSession);
  BindChanging(update, session);
  Status status = update.Run();
  if (!status.ok()) return status.In("update session " + session.id);
  if (db.changes() == 0) {
    return Fail(ErrorCode::kNotFound, "update session " + session.id, "there is no such session");
  }
  Statement forget(db, kDeleteSessionTrust);
  RETURN_IF_ERROR(forget.BindText(1, session.id).Run());
  return InsertTrust(db, session);
}

Result<int64_t> TakeRound(Db& db, const std::string& session_id) {
  Statement take(db, kTakeRound);
  if (!take.BindText(1, session_id).Next()) {
    RETURN_IF_ERROR(take.status());
    return Fail(ErrorCode::kLeaseLost, "add a round to session " + session_id, "it has ended", "open another");
  }
  const int64_t round = take.Integer(0);
  (void)take.Next();  // only now is it done
  RETURN_IF_ERROR(take.status());
  return round;
}

Result<SessionRow> ReadSession(Db& db, const std::string& id) {
  ASSIGN_OR_RETURN(std::optional<SessionRow> session, SessionReader(db).Read(id));
  if (!session.has_value()) return Fail(ErrorCode::kNotFound, "read session " + id, "there is no such session");
  return *std::move(session);
}

}  // namespace kprof
