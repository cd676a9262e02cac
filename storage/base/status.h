// Success, or a failure: the failed act, its cause, and the remedy. The error type of all interfaces of ours; nothing
// is thrown.
//
//   Status Save(...) {
//     RETURN_IF_ERROR(file->Sync());                       // pass a failure on
//     ASSIGN_OR_RETURN(Row row, ReadRow(db, id));          // or unpack a Result
//     if (row.pinned) return Fail(ErrorCode::kUsage, "delete run " + id, "it is pinned", "unpin it first");
//     return OkStatus();
//   }
#pragma once

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kprof {

// The canonical gRPC code that an error travels as. Numbers equal grpc::StatusCode, so the wire needs no table.
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

// The vocabulary of failure, as users, scripts and agents see it (docs/cli.md lists the same table). Each code has a
// stable name, a canonical gRPC code, and kprofctl's exit code.
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

class [[nodiscard]] Status {
 public:
  Status() = default;
  // REQUIRES: code is not kOk; `what` names the act and its object, `why` the cause. `remedy` may be empty.
  Status(ErrorCode code, std::string what, std::string why, std::string remedy = {});

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  const std::string& what() const { return what_; }
  const std::string& why() const { return why_; }
  const std::string& remedy() const { return remedy_; }

  // "what: why; remedy", on one line.
  std::string ToString() const;

  // The failure as one layer up sees it: `what` becomes the act. The former act joins the cause, unless it is the same.
  Status In(std::string what) const;

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string what_;
  std::string why_;
  std::string remedy_;
};

inline Status OkStatus() {
  return Status();
}
Status Fail(ErrorCode code, std::string what, std::string why, std::string remedy = {});

// A failed system call: maps errno to a code (ENOSPC and EDQUOT to storage_full, EACCES, EPERM and EROFS to
// not_permitted, ENOENT to not_found, EIO to storage_broken, the rest to internal) and says it in words.
Status FailErrno(int error, std::string what, std::string remedy = {});

// The remedy where there is no room: EDQUOT is a user's quota, anything else the file system.
const char* RemedyOfFull(int error);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

// For our own mistakes only; input, however odd, never trips it. Stays on in release.
#define KPROF_CHECK(condition)                                              \
  do {                                                                      \
    if (!(condition)) ::kprof::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` is the idiom
  Result(Status status) : status_(std::move(status)) { KPROF_CHECK(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok().
  T& value() & {
    KPROF_CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    KPROF_CHECK(ok());
    return *value_;
  }
  // By value, so that `for (x : *List())` walks a living object.
  T value() && {
    KPROF_CHECK(ok());
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

#define KPROF_CONCAT_INNER(a, b) a##b
#define KPROF_CONCAT(a, b) KPROF_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                        \
    if (::kprof::Status kprof_status = (expression); !kprof_status.ok()) return kprof_status; \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, expression) \
  KPROF_ASSIGN_OR_RETURN(KPROF_CONCAT(kprof_result_, __LINE__), declaration, expression)
#define KPROF_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) return result.status();                     \
  declaration = *std::move(result)

}  // namespace kprof
