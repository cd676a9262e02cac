#include "daemon/helper/caller_identity.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/account.h"
#include "storage/base/descriptors.h"
#include "storage/base/files.h"

#ifndef SIOCUNIXFILE
#define SIOCUNIXFILE (SIOCPROTOPRIVATE + 0)  // Linux 4.16
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace kprof {
namespace {

constexpr const char* kTake = "take a caller's connection";

Status Refuse(const std::string& why) {
  return Fail(ErrorCode::kNotPermitted, kTake, why);
}

std::optional<int> SocketOption(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(socket, SOL_SOCKET, option, &value, &size) != 0) return std::nullopt;
  return value;
}

Status CheckKind(int connection) {
  if (SocketOption(connection, SO_DOMAIN) != AF_UNIX || SocketOption(connection, SO_TYPE) != SOCK_STREAM) {
    return Refuse("it is no stream socket of this machine");
  }
  if (SocketOption(connection, SO_ACCEPTCONN) != 0) return Refuse("it listens, and is connected to nobody");
  return OkStatus();
}

Status CheckOpen(int connection) {
  sockaddr_un peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    return Refuse("it is connected to nobody");
  }
  return IsConnected(connection) ? OkStatus() : Refuse("its caller has gone");
}

Status CheckListener(int connection, const std::string& socket_path) {
  RETURN_IF_ERROR(CheckSocketPlace(socket_path));
  struct stat wanted {};
  if (::lstat(socket_path.c_str(), &wanted) != 0 || !S_ISSOCK(wanted.st_mode)) {
    return Refuse("there is no socket at " + socket_path);
  }
  UniqueFd file(::ioctl(connection, SIOCUNIXFILE));
  if (!file.valid()) {
    if (errno == ENOENT) return Refuse("nobody accepted it at a socket with a name");
    return FailErrno(errno, kTake, "the helper needs CAP_NET_ADMIN, and Linux 4.16 or newer");
  }
  struct stat bound {};
  if (::fstat(file.get(), &bound) != 0 || bound.st_dev != wanted.st_dev || bound.st_ino != wanted.st_ino) {
    return Refuse("it was not accepted at " + socket_path);
  }
  return OkStatus();
}

// It is one that kprofd accepted at its own socket.
Status CheckIsCallers(int connection, const CallerRules& rules) {
  RETURN_IF_ERROR(CheckKind(connection));
  return CheckListener(connection, rules.socket_path);
}

Result<std::vector<uint32_t>> ReadGroups(int connection) {
  std::vector<gid_t> groups;
  socklen_t size = 0;
  // Too small: the kernel says how much it takes.
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size) != 0) {
    if (errno != ERANGE || size > kMostGroups * sizeof(gid_t)) return FailErrno(errno, "read a caller's groups");
    groups.resize(size / sizeof(gid_t));
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
      return FailErrno(errno, "read a caller's groups");
    }
    groups.resize(size / sizeof(gid_t));
  }
  return std::vector<uint32_t>(groups.begin(), groups.end());
}

// What the kernel says for an id that has no number here: somebody of another user namespace.
uint32_t OverflowId(const char* path) {
  constexpr uint32_t kUsual = 65534;
  unsigned id = kUsual;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (file == nullptr || std::fscanf(file.get(), "%u", &id) != 1) return kUsual;
  return id;
}

Result<ucred> ReadCredentials(int connection) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
    return FailErrno(errno, "read a caller's credentials");
  }
  return who;
}

// Means this process and never another one; none when it has gone, or is not of this machine.
UniqueFd ProcessThatConnected(int connection, const ucred& who) {
  std::optional<int> process = SocketOption(connection, SO_PEERPIDFD);
  if (!process && errno == ENOPROTOOPT && who.pid > 0)
    process = static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0));
  UniqueFd owned(process.value_or(-1));
  return who.pid > 0 ? std::move(owned) : UniqueFd();
}

bool HasEnded(const UniqueFd& process) {
  pollfd state{process.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) != 0;
}

bool AreInTheSame(const std::string& space, const std::string& process, const std::string& home) {
  struct stat theirs {};
  struct stat ours {};
  return ::stat((process + "/ns/" + space).c_str(), &theirs) == 0 &&
         ::stat((home + "/ns/" + space).c_str(), &ours) == 0 && theirs.st_dev == ours.st_dev &&
         theirs.st_ino == ours.st_ino;
}

// The number is looked at only while the descriptor says that it is that process's still.
CallerPlace PlaceOf(int connection, const ucred& who, const std::string& home) {
  const UniqueFd process = ProcessThatConnected(connection, who);
  if (!process.valid()) return CallerPlace::kGone;
  const std::string folder = "/proc/" + std::to_string(who.pid);
  const bool is_here = AreInTheSame("mnt", folder, home) && AreInTheSame("user", folder, home);
  if (HasEnded(process)) return CallerPlace::kGone;
  return is_here ? CallerPlace::kHere : CallerPlace::kElsewhere;
}

}  // namespace

Status CheckSocketPlace(const std::string& socket_path) {
  if (!socket_path.starts_with('/')) return Refuse("the socket's path " + socket_path + " is not absolute");
  std::string folder = socket_path;
  while (folder != "/") {
    folder = FolderOf(folder);
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0) return FailErrno(errno, "look at " + folder);
    // Where only owners may rename (sticky), what root has made stays.
    const bool others_write = (info.st_mode & 022) != 0 && (info.st_mode & S_ISVTX) == 0;
    if (!S_ISDIR(info.st_mode) || info.st_uid != 0 || others_write) {
      return Fail(ErrorCode::kNotPermitted, "trust the socket " + socket_path,
                  folder + " is not a folder of root's that nobody else may write to",
                  "let systemd make the socket (kprofd.socket), in a folder of root's");
    }
  }
  return OkStatus();
}

Status CheckCallerUid(uint32_t uid, const CallerRules& rules) {
  if (uid == 0 && !rules.allow_root) {
    return Fail(ErrorCode::kNotPermitted, "start something as root", "the helper is not set up to do that",
                "capture in the foreground, or as an ordinary user");
  }
  if (uid == rules.kprofd_uid) return Refuse("its caller is kprofd itself");
  if (uid == OverflowId("/proc/sys/kernel/overflowuid")) return Refuse("its caller has no uid on this machine");
  if (uid != 0 && uid < rules.least_uid) {
    return Refuse("uid " + std::to_string(uid) + " is one of the system's own (below " +
                  std::to_string(rules.least_uid) + ")");
  }
  return OkStatus();
}

Status NoAccount(uint32_t uid, const Status& why) {
  if (why.code() == ErrorCode::kNotFound) return Refuse("uid " + std::to_string(uid) + " has no account");
  return DirectoryIsAway(why);
}

Status DirectoryIsAway(const Status& why) {
  return Fail(ErrorCode::kTimedOut, kTake, why.what() + ": " + why.why(), why.remedy());
}

Status CheckAccount(uint32_t uid, const CallerRules& rules) {
  if (!rules.need_account) return OkStatus();
  const Result<Account> account = FindAccount(uid);
  return account.ok() ? OkStatus() : NoAccount(uid, account.status());
}

Result<CallerPlace> FindCaller(int connection, const CallerRules& rules) {
  RETURN_IF_ERROR(CheckIsCallers(connection, rules));
  if (!CheckOpen(connection).ok()) return CallerPlace::kGone;
  ASSIGN_OR_RETURN(const ucred who, ReadCredentials(connection));
  return PlaceOf(connection, who, rules.home);
}

Result<CallerIdentity> ReadCaller(int connection, const CallerRules& rules) {
  RETURN_IF_ERROR(CheckIsCallers(connection, rules));
  RETURN_IF_ERROR(CheckOpen(connection));
  ASSIGN_OR_RETURN(const ucred who, ReadCredentials(connection));
  RETURN_IF_ERROR(CheckCallerUid(who.uid, rules));
  RETURN_IF_ERROR(CheckIsHere(PlaceOf(connection, who, rules.home), kTake));
  CallerIdentity caller{who.uid, who.gid, {}};
  const uint32_t no_gid = OverflowId("/proc/sys/kernel/overflowgid");
  if (caller.gid == no_gid) return Refuse("its caller has no group on this machine");
  ASSIGN_OR_RETURN(caller.groups, ReadGroups(connection));
  std::erase(caller.groups, no_gid);
  return caller;
}

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
