#include "daemon/base/account.h"

#include <grp.h>
#include <pwd.h>
#include <sys/types.h>

namespace kprof {
namespace {

template <typename Find>
std::optional<Account> ReadEntry(const Find& find) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(64 << 10);
  if (find(&entry, text.data(), text.size(), &found) != 0 || found == nullptr) return std::nullopt;
  return Account{found->pw_uid, found->pw_gid, found->pw_name};
}

}  // namespace

std::optional<Account> FindAccount(uint32_t uid) {
  return ReadEntry([&](auto... rest) { return ::getpwuid_r(uid, rest...); });
}

std::optional<Account> FindAccount(const std::string& name) {
  return ReadEntry([&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); });
}

std::vector<uint32_t> FindGroups(const Account& account) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (::getgrouplist(account.name.c_str(), account.gid, groups.data(), &count) < 0) {
    if (static_cast<size_t>(count) <= groups.size() || static_cast<size_t>(count) > kMostGroups) return {};
    groups.resize(static_cast<size_t>(count));
  }
  groups.resize(static_cast<size_t>(count));
  return std::vector<uint32_t>(groups.begin(), groups.end());
}

}  // namespace kprof
