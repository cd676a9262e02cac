#include "storage/base/error_code.h"

#include <array>

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

}  // namespace kprof
