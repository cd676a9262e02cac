#include "daemon/helper/remote_users.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "daemon/base/account.h"
#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

constexpr off_t kLimitBytes = 64 << 10;

Status Refuse(const std::string& why, const std::string& remedy) {
  return Fail(ErrorCode::kNotPermitted, "let a remote client start something", why, remedy);
}

Result<uint32_t> UidOf(const std::string& user) {
  uint32_t uid = 0;
  auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), uid);
  if (error == std::errc() && end == user.data() + user.size()) return uid;
  ASSIGN_OR_RETURN(const Account account, FindAccount(user));
  return account.uid;
}

// What is in it, if it is a file that only root can have written.
Result<std::string> ReadRootsFile(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return std::string();  // nobody is listed
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != 0 || (info.st_mode & 022) != 0 ||
      info.st_size > kLimitBytes) {
    return Refuse(path + " is not a small file of root's that nobody else may write to",
                  "chown root and chmod go-w it");
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

// Fails when it is none of those that are known, and nobody could say who the others are.
Result<bool> Lists(std::string_view text, uint32_t uid) {
  Status unknown;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    const Result<uint32_t> listed = UidOf(line);
    if (listed.ok() && *listed == uid) return true;
    if (!listed.ok() && listed.status().code() != ErrorCode::kNotFound) unknown = listed.status();
  }
  if (!unknown.ok()) return DirectoryIsAway(unknown);
  return false;
}

}  // namespace

Status CheckRemoteUser(uint32_t uid, const std::string& file) {
  ASSIGN_OR_RETURN(const std::string listed, ReadRootsFile(file));
  ASSIGN_OR_RETURN(const bool lists, Lists(listed, uid));
  if (lists) return OkStatus();
  return Refuse("uid " + std::to_string(uid) + " is not one as whom remote clients may start something",
                "submit it on that node as that user, or have root list it in " + file);
}

Result<CallerIdentity> ReadRemoteUser(uint32_t uid, const std::string& file, const CallerRules& rules) {
  RETURN_IF_ERROR(CheckRemoteUser(uid, file));
  RETURN_IF_ERROR(CheckCallerUid(uid, rules));
  const Result<Account> account = FindAccount(uid);
  if (account.ok()) return CallerIdentity{uid, account->gid, FindGroups(*account)};
  if (rules.need_account) return NoAccount(uid, account.status());
  return CallerIdentity{uid, uid, {}};
}

}  // namespace kprof
