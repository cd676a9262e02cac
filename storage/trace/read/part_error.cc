#include "storage/trace/read/part_error.h"

#include <utility>

namespace kprof {
namespace {

constexpr const char* kRemedy = "import its source again";

}  // namespace

Status BrokenPart(const std::string& path, std::string why) {
  return Fail(ErrorCode::kStorageBroken, "read trace part " + path, std::move(why), kRemedy);
}

Status OfPart(const Status& status, std::string what) {
  const bool is_file = status.code() == ErrorCode::kInternal || status.code() == ErrorCode::kUsage;
  if (!is_file) return status.In(std::move(what));
  return Fail(ErrorCode::kStorageBroken, status.what(), status.why(), kRemedy).In(std::move(what));
}

}  // namespace kprof
