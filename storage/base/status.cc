#include "storage/base/status.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace kprof {
namespace {

struct Row {
  ErrorCode code;
  std::string_view name;
  CanonicalCode canonical;
  int exit_status;
};

constexpr std::array kRows = {
    Row{ErrorCode::kOk, "ok", CanonicalCode::kOk, 0},
    Row{ErrorCode::kInternal, "internal", CanonicalCode::kInternal, 1},
    Row{ErrorCode::kUsage, "usage", CanonicalCode::kInvalidArgument, 2},
    Row{ErrorCode::kNoDaemon, "no_daemon", CanonicalCode::kUnavailable, 3},
    Row{ErrorCode::kNotFound, "not_found", CanonicalCode::kNotFound, 4},
    Row{ErrorCode::kNotPermitted, "not_permitted", CanonicalCode::kPermissionDenied, 5},
    Row{ErrorCode::kQueueTimeout, "queue_timeout", CanonicalCode::kDeadlineExceeded, 6},
    Row{ErrorCode::kLeaseLost, "lease_lost", CanonicalCode::kAborted, 6},
    Row{ErrorCode::kQueueFull, "queue_full", CanonicalCode::kResourceExhausted, 6},
    Row{ErrorCode::kCommandFailed, "command_failed", CanonicalCode::kFailedPrecondition, 7},
    Row{ErrorCode::kSpawnFailed, "spawn_failed", CanonicalCode::kFailedPrecondition, 7},
    Row{ErrorCode::kTimedOut, "timed_out", CanonicalCode::kDeadlineExceeded, 7},
    Row{ErrorCode::kToolFailed, "tool_failed", CanonicalCode::kFailedPrecondition, 7},
    Row{ErrorCode::kToolMissing, "tool_missing", CanonicalCode::kFailedPrecondition, 7},
    Row{ErrorCode::kCheckFailed, "check_failed", CanonicalCode::kFailedPrecondition, 7},
    Row{ErrorCode::kNoKernels, "no_kernels", CanonicalCode::kFailedPrecondition, 7},
    Row{ErrorCode::kCancelled, "cancelled", CanonicalCode::kCancelled, 8},
    Row{ErrorCode::kClientGone, "client_gone", CanonicalCode::kCancelled, 8},
    Row{ErrorCode::kVerdict, "verdict", CanonicalCode::kFailedPrecondition, 9},
    Row{ErrorCode::kBadInput, "bad_input", CanonicalCode::kInvalidArgument, 10},
    Row{ErrorCode::kLostDaemon, "lost_daemon", CanonicalCode::kAborted, 11},
    Row{ErrorCode::kStorageFull, "storage_full", CanonicalCode::kResourceExhausted, 12},
    Row{ErrorCode::kStorageBroken, "storage_broken", CanonicalCode::kDataLoss, 12},
};

const Row& RowOf(ErrorCode code) {
  for (const Row& row : kRows) {
    if (row.code == code) return row;
  }
  return kRows[1];  // a code without a row is our own mistake: internal
}

}  // namespace

std::string_view ErrorName(ErrorCode code) {
  return RowOf(code).name;
}
CanonicalCode CanonicalOf(ErrorCode code) {
  return RowOf(code).canonical;
}
int ExitStatusOf(ErrorCode code) {
  return RowOf(code).exit_status;
}

std::optional<ErrorCode> ErrorCodeByName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.code;
  }
  return std::nullopt;
}

Status::Status(ErrorCode code, std::string what, std::string why, std::string remedy)
    : code_(code), what_(std::move(what)), why_(std::move(why)), remedy_(std::move(remedy)) {
  KPROF_CHECK(code_ != ErrorCode::kOk);
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  std::string text = what_ + ": " + why_;
  if (!remedy_.empty()) text += "; " + remedy_;
  return text;
}

Status Status::In(std::string what) const {
  if (ok() || what == what_) return *this;
  return Status(code_, std::move(what), what_ + ": " + why_, remedy_);
}

Status Fail(ErrorCode code, std::string what, std::string why, std::string remedy) {
  return Status(code, std::move(what), std::move(why), std::move(remedy));
}

Status FailErrno(int error, std::string what, std::string remedy) {
  ErrorCode code = ErrorCode::kInternal;
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      code = ErrorCode::kStorageFull;
      if (remedy.empty()) remedy = RemedyOfFull(error);
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::kNotPermitted;
      break;
    case ENOENT:
      code = ErrorCode::kNotFound;
      break;
    case EIO:
      code = ErrorCode::kStorageBroken;
      if (remedy.empty()) remedy = "check the disk";
      break;
    default:
      break;
  }
  return Status(code, std::move(what), std::generic_category().message(error), std::move(remedy));
}

const char* RemedyOfFull(int error) {
  return error == EDQUOT ? "free some of this user's quota on that file system, or have it raised"
                         : "free space on that file system";
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace kprof
