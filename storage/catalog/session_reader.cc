#include "storage/catalog/session_reader.h"

#include <utility>

namespace kprof {
namespace {

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

}  // namespace

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

}  // namespace kprof
