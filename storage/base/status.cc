#include "storage/base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace kprof {

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
