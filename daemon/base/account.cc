#include "daemon/base/account.h"

#include <grp.h>
#include <pwd.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

namespace kprof {
namespace {

constexpr size_t kFirstEntryBytes = 64 << 10;
constexpr size_t kLastEntryBytes = 64 << 20;  // a group of all users of a large site

Status DirectoryFailed(const std::string& what, int error) {
  return Fail(ErrorCode::kInternal, what, std::string("the directory of users does not answer: ") + strerror(error),
              "see /etc/nsswitch.conf, and the service that it names (sssd, nslcd)");
}

// `find` is one of the get..._r: 0 and an entry, 0 and none, or an error, which is also what a directory that is away
// gives.
template <typename Entry, typename Find>
int ReadEntry(const Find& find, Entry& entry, Entry*& found, std::vector<char>& text) {
  int error = ERANGE;
  for (size_t size = kFirstEntryBytes; error == ERANGE && size <= kLastEntryBytes; size *= 4) {
    text.resize(size);
    error = find(&entry, text.data(), text.size(), &found);
  }
  return error;
}

template <typename Find>
Result<Account> ReadAccount(const std::string& what, const Find& find) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text;
  if (const int error = ReadEntry(find, entry, found, text); error != 0) return DirectoryFailed("find " + what, error);
  if (found == nullptr) return Fail(ErrorCode::kNotFound, "find " + what, "there is no such account on this node");
  return Account{found->pw_uid, found->pw_gid, found->pw_name};
}

}  // namespace

Result<Account> FindAccount(uint32_t uid) {
  return ReadAccount("uid " + std::to_string(uid), [&](auto... rest) { return ::getpwuid_r(uid, rest...); });
}

Result<Account> FindAccount(const std::string& name) {
  return ReadAccount("user " + name, [&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); });
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

Status CheckGroup(uint32_t gid) {
  group entry{};
  group* found = nullptr;
  std::vector<char> text;
  const int error = ReadEntry([&](auto... rest) { return ::getgrgid_r(gid, rest...); }, entry, found, text);
  return error == 0 ? OkStatus() : DirectoryFailed("find group " + std::to_string(gid), error);
}

}  // namespace kprof
