#include "daemon/rpc/authorize.h"

namespace kprof {

Status AuthorizeRun(const Caller& caller, RunAction action, const RunRow& run, const std::string& act) {
  if (caller.is_operator || caller.uid == run.uid) return OkStatus();
  if (!run.shared) return Fail(ErrorCode::kNotFound, act, "there is no such run", "list yours with kprofctl runs");
  if (action == RunAction::kSee) return OkStatus();
  return Fail(ErrorCode::kNotPermitted, act, "it belongs to uid " + std::to_string(run.uid),
              "ask its owner or an operator");
}

}  // namespace kprof
