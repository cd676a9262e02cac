#include "daemon/runs/session_lookup.h"

#include <optional>
#include <utility>

#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/current_row.h"
#include "daemon/runs/object_names.h"
#include "storage/catalog/session_list.h"
#include "storage/catalog/session_table.h"

namespace kprof {
namespace {

constexpr const char* kSessionRemedy = "list yours with kprofctl session list";

NamedObjects SessionsSeenBy(Db& db, const Caller& caller) {
  std::optional<uint32_t> uid;
  if (!caller.sees_all()) uid = caller.uid;
  return {.noun = "session",
          .remedy = kSessionRemedy,
          .recent = [&db, uid](int64_t back) { return ReadRecentSessionId(db, back, uid); },
          .starting = [&db, uid](const std::string& prefix) { return FindSessionIds(db, prefix, uid, 2); }};
}

Result<SessionRow> ReadNamed(Db& db, AuditLog& audit, const Caller& caller, const std::string& name, Rpc rpc,
                             const std::string& act) {
  auto look = [&]() -> Result<SessionRow> {
    ASSIGN_OR_RETURN(std::string id, ResolveName(name, SessionsSeenBy(db, caller), act));
    return ReadSession(db, id);
  };
  Result<SessionRow> row = look();
  if (!row.ok()) {
    const Status& failure = row.status();
    if (failure.code() != ErrorCode::kNotFound) return failure.what() == act ? failure : failure.In(act);
    return Fail(ErrorCode::kNotFound, act, "there is no such session", kSessionRemedy);
  }
  if (Status authorized = AuthorizeObject(caller, rpc, {row->uid, false, "session"}, act); !authorized.ok()) {
    RecordRefused(audit, caller, rpc, *row, authorized);
    return authorized;
  }
  return row;
}

}  // namespace

void LookUpSession(const ServiceContext& parts, const Caller& caller, const std::string& name, Rpc rpc,
                   const std::string& act, std::function<void(Result<SessionRow>)> then) {
  const std::string full_act = ActOn(act, name);
  auto read = [&parts, caller, rpc, full_act](const std::string& which) -> Result<SessionRow> {
    Result<ReaderPool::Lease> reader = parts.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(full_act);
    return ReadNamed(**reader, parts.audit, caller, which, rpc, full_act);
  };
  FindCurrentRow<SessionRow>(
      {.parts = parts,
       .act = full_act,
       .read = read,
       .find_open = [&parts](const std::string& id) { return parts.runs.sessions().FindOpenRow(id); },
       .is_over = [](const SessionRow& row) { return IsOver(row.state); },
       .then = std::move(then)},
      name);
}

}  // namespace kprof
