#include "daemon/runs/object_lookup.h"

#include <optional>
#include <utility>

#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/current_row.h"
#include "daemon/runs/object_names.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

constexpr const char* kRunRemedy = "list yours with kprofctl runs";

NamedObjects RunsSeenBy(Db& db, const Caller& caller) {
  std::optional<uint32_t> uid;
  if (!caller.sees_all()) uid = caller.uid;
  return {.noun = "run",
          .remedy = kRunRemedy,
          .recent = [&db, uid](int64_t back) { return ReadRecentRunId(db, back, uid); },
          .starting = [&db, uid](const std::string& prefix) { return FindRunIds(db, prefix, uid, 2); }};
}

}  // namespace

Result<RunRow> LookUpStoredRun(Db& db, AuditLog* audit, const Caller& caller, const std::string& name, Rpc rpc,
                               const std::string& act) {
  const std::string full_act = ActOn(act, name);
  auto look = [&]() -> Result<RunRow> {
    ASSIGN_OR_RETURN(std::string id, ResolveName(name, RunsSeenBy(db, caller), full_act));
    return ReadRun(db, id);
  };
  Result<RunRow> row = look();
  if (!row.ok()) {
    const Status& failure = row.status();
    if (failure.code() != ErrorCode::kNotFound) return failure.what() == full_act ? failure : failure.In(full_act);
    return Fail(ErrorCode::kNotFound, full_act, "there is no such run", kRunRemedy);
  }
  if (Status authorized = AuthorizeRun(caller, rpc, *row, full_act); !authorized.ok()) {
    if (audit != nullptr) RecordRefused(*audit, caller, rpc, *row, authorized);
    return authorized;
  }
  return row;
}

void LookUpRun(const ServiceContext& parts, const Caller& caller, const std::string& name, Rpc rpc,
               const std::string& act, std::function<void(Result<RunRow>)> then) {
  auto read = [&parts, caller, rpc, act](const std::string& which) -> Result<RunRow> {
    Result<ReaderPool::Lease> reader = parts.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(ActOn(act, which));
    return LookUpStoredRun(**reader, &parts.audit, caller, which, rpc, act);
  };
  FindCurrentRow<RunRow>({.parts = parts,
                          .act = ActOn(act, name),
                          .read = read,
                          .find_open = [&parts](const std::string& id) { return parts.runs.FindOpenRow(id); },
                          .is_over = [](const RunRow& row) { return IsTerminal(row.state); },
                          .then = std::move(then)},
                         name);
}

}  // namespace kprof
