#include "storage/catalog/session_table.h"

#include <optional>
#include <utility>

#include "storage/catalog/session_reader.h"
#include "storage/db/statement.h"

namespace kprof {
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
