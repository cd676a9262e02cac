#include "storage/db/layout.h"

namespace kprof {
namespace {

bool IsSafeByte(char c) {
  constexpr std::string_view kOthers = "._-+=@, ";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kOthers.find(c) != kOthers.npos;
}

}  // namespace

bool IsSafeName(std::string_view name) {
  constexpr size_t kLimitBytes = 200;
  if (name.empty() || name.size() > kLimitBytes || name.front() == '.' || name.ends_with(".partial")) return false;
  for (char c : name) {
    if (!IsSafeByte(c)) return false;
  }
  return true;
}

}  // namespace kprof
