#include "daemon/helper/process_owner.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

constexpr int kDeepestNamespace = 32;  // the kernel's own limit

std::optional<uint32_t> RealUidOf(const std::string& process) {
  UniqueFd file(::open((process + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size() - 1) : -1;
  if (size <= 0) return std::nullopt;
  const std::string status(text.data(), static_cast<size_t>(size));
  const size_t at = status.find("\nUid:");
  if (at == std::string::npos) return std::nullopt;
  return static_cast<uint32_t>(std::strtoul(status.c_str() + at + 5, nullptr, 10));
}

// Its own namespace, or one around it. The first of all is root's, and nobody's run.
bool IsInNamespaceOf(const std::string& process, uint32_t uid) {
  UniqueFd space(::open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  for (int depth = 0; space.valid() && depth < kDeepestNamespace; ++depth) {
    uid_t owner = 0;
    if (::ioctl(space.get(), NS_GET_OWNER_UID, &owner) != 0) return false;
    if (owner == uid) return true;
    space.Reset(::ioctl(space.get(), NS_GET_PARENT));
  }
  return false;
}

}  // namespace

bool BelongsTo(pid_t pid, uint32_t uid) {
  const std::string process = "/proc/" + std::to_string(pid);
  return RealUidOf(process) == uid || (uid != 0 && IsInNamespaceOf(process, uid));
}

}  // namespace kprof
