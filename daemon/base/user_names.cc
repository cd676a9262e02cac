#include "daemon/base/user_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "storage/base/descriptors.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostKnown = 4096;
constexpr size_t kMostWanted = 64;

}  // namespace

std::optional<std::string> UserNames::NameOf(uint32_t uid) {
  const auto found = known_.find(uid);
  if (found != known_.end()) return found->second;
  if (wanted_.size() < kMostWanted) wanted_.insert(uid);
  AskNext();
  return std::nullopt;
}

std::string UserNames::TextFor(uint32_t uid) {
  const std::optional<std::string> name = NameOf(uid);
  return name ? "user " + *name : "uid " + std::to_string(uid);
}

void UserNames::AskNext() {
  if (asks_ || wanted_.empty()) return;
  const uint32_t uid = *wanted_.begin();
  wanted_.erase(wanted_.begin());
  const Status begun = lookups_.Run([this, uid, find = find_]() -> std::function<void()> {
    const Result<Account> account = find(uid);
    // One whom the directory could not look up now may be known later.
    const bool is_settled = account.ok() || account.status().code() == ErrorCode::kNotFound;
    std::optional<std::string> name;
    if (account.ok()) name = account->name;
    return [this, uid, is_settled, name = std::move(name)] {
      asks_ = false;
      if (known_.size() >= kMostKnown) known_.clear();
      if (is_settled) known_[uid] = name;
      AskNext();
    };
  });
  asks_ = begun.ok();
}

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
