// The vocabulary of failure: what went wrong, as users, scripts and agents see it (docs/cli.md lists the same table).
// One row per code: its stable name, the canonical gRPC code it travels as, and kprofctl's exit code. Knows no
// messages; those are status.h.
#pragma once

#include <optional>
#include <string_view>

namespace kprof {

// Numbers equal grpc::StatusCode, so that the wire needs no table.
enum class CanonicalCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

enum class ErrorCode {
  kOk,
  kInternal,
  kUsage,
  kNoDaemon,
  kNotFound,
  kNotPermitted,
  kQueueTimeout,
  kLeaseLost,
  kQueueFull,
  kCommandFailed,
  kSpawnFailed,
  kTimedOut,
  kToolFailed,
  kToolMissing,
  kCancelled,
  kClientGone,
  kVerdict,
  kBadInput,
  kLostDaemon,
  kStorageFull,
  kStorageBroken,
  kCheckFailed,
  kNoKernels,
};

// The stable name, as in `error.code` of a run: "not_found".
std::string_view ErrorName(ErrorCode code);
CanonicalCode CanonicalOf(ErrorCode code);
int ExitStatusOf(ErrorCode code);

// The code of that name, or nothing for a name this build does not know.
std::optional<ErrorCode> ErrorCodeByName(std::string_view name);

}  // namespace kprof
