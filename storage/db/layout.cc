#include "storage/db/layout.h"

#include "storage/base/readable_text.h"

namespace kprof {

std::string RestoreRemedy(const std::string& state_folder) {
  return "put a backup in its place with kprofd --user --state-dir " + ShellWord(state_folder) + " --restore FILE";
}

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
