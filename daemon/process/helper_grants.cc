#include "daemon/process/helper_grants.h"

#include <utility>

namespace kprof {
namespace {

constexpr const char* kRemedy = "capture in the foreground (without --detach): that needs no helper";

Status Unregistered(const std::string& run_id, const Status& why) {
  const std::string what = "let run " + run_id + " start as its caller";
  switch (why.code()) {
    case ErrorCode::kNotPermitted:
    case ErrorCode::kQueueFull:
    case ErrorCode::kStorageFull:
      return Status(why.code(), what, why.why(), why.remedy().empty() ? kRemedy : why.remedy());
    default:
      return Fail(ErrorCode::kSpawnFailed, what, why.why(), std::string(why.remedy()) + "; or " + kRemedy);
  }
}

}  // namespace

void HelperGrants::Register(const std::string& run_id, uint32_t uid, const std::string& digest,
                            std::function<void(Status)> done) {
  Show(run_id, uid, digest, 0, std::move(done));
}

void HelperGrants::Show(const std::string& run_id, uint32_t uid, const std::string& digest, size_t nth,
                        std::function<void(Status)> done) {
  UniqueFd connection = connection_of_(uid, nth);
  if (!connection.valid()) {
    loop_.Post([run_id, uid, done = std::move(done)] {
      done(Fail(ErrorCode::kNotPermitted, "let run " + run_id + " start as its caller",
                "uid " + std::to_string(uid) + " is not connected on this node",
                "submit it from this node, as that user"));
    });
    return;
  }
  link_.Ask(HelperRegister{run_id, digest}, std::move(connection),
            [this, run_id, uid, digest, nth, done = std::move(done)](const Result<HelperMessage>& answer, UniqueFd) {
              if (answer.ok()) return done(OkStatus());
              const bool may_be_that_one = answer.status().code() == ErrorCode::kNotPermitted && nth + 1 < kMostShown;
              if (may_be_that_one && connection_of_(uid, nth + 1).valid())
                return Show(run_id, uid, digest, nth + 1, done);
              done(Unregistered(run_id, answer.status()));
            });
}

void HelperGrants::Forget(const std::string& run_id) {
  link_.Ask(HelperForget{run_id}, UniqueFd(), [](const Result<HelperMessage>&, UniqueFd) {});
}

}  // namespace kprof
