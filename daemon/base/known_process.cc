#include "daemon/base/known_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "storage/base/readable_text.h"
#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

// What stands behind "KEY:" and a tab.
std::string_view ValueOf(std::string_view status, std::string_view key) {
  const size_t begin = status.starts_with(key) ? 0 : status.find("\n" + std::string(key));
  if (begin == std::string_view::npos) return {};
  std::string_view value = status.substr(begin + key.size() + (begin == 0 ? 0 : 1));
  value = value.substr(0, value.find('\n'));
  return value.substr(value.starts_with('\t') ? 1 : 0);
}

}  // namespace

KnownProcess ReadKnownProcess(pid_t pid, const std::string& proc_root) {
  KnownProcess known{.pid = pid};
  const UniqueFd file(::open((proc_root + "/" + std::to_string(pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return known;
  std::array<char, 4096> bytes;
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  if (size <= 0) return known;
  const std::string_view status(bytes.data(), static_cast<size_t>(size));
  known.name = TerminalText(ValueOf(status, "Name:"));
  unsigned real = 0;
  unsigned effective = 0;
  if (std::sscanf(std::string(ValueOf(status, "Uid:")).c_str(), "%u %u", &real, &effective) == 2) known.uid = effective;
  return known;
}

std::string KnownAs(const KnownProcess& process, UserNames& users) {
  std::string known = process.name;
  if (process.uid) known += (known.empty() ? "" : ", ") + users.TextFor(*process.uid);
  return "pid " + std::to_string(process.pid) + (known.empty() ? "" : " (" + known + ")");
}

}  // namespace kprof
