#include "daemon/helper/remote_users.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "daemon/base/account.h"
#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

constexpr off_t kLimitBytes = 64 << 10;

Status Refuse(const std::string& why, const std::string& remedy) {
  return Fail(ErrorCode::kNotPermitted, "let a remote client start something", why, remedy);
}

std::optional<uint32_t> UidOf(const std::string& user) {
  uint32_t uid = 0;
  auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), uid);
  if (error == std::errc() && end == user.data() + user.size()) return uid;
  std::optional<Account> account = FindAccount(user);
  return account ? std::optional(account->uid) : std::nullopt;
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

bool Lists(std::string_view text, uint32_t uid) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line[0] != '#' && UidOf(line) == uid) return true;
  }
  return false;
}

}  // namespace

Status CheckRemoteUser(uint32_t uid, const std::string& file) {
  ASSIGN_OR_RETURN(const std::string listed, ReadRootsFile(file));
  if (Lists(listed, uid)) return OkStatus();
  return Refuse("uid " + std::to_string(uid) + " is not one as whom remote clients may start something",
                "submit it on that node as that user, or have root list it in " + file);
}

Result<CallerIdentity> ReadRemoteUser(uint32_t uid, const std::string& file, const CallerRules& rules) {
  RETURN_IF_ERROR(CheckRemoteUser(uid, file));
  RETURN_IF_ERROR(CheckCallerUid(uid, rules));
  const std::optional<Account> account = FindAccount(uid);
  if (account) return CallerIdentity{uid, account->gid, FindGroups(*account)};
  if (rules.need_account) return NoAccount(uid);
  return CallerIdentity{uid, uid, {}};
}

}  // namespace kprof
