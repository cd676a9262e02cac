#include "daemon/access/caller.h"

#include <sys/socket.h>

namespace kprof {

std::vector<gid_t> PeerGroups(int connection, gid_t gid) {
  std::vector<gid_t> groups;
  socklen_t size = 0;
  ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size);  // fails, and tells the size
  groups.resize(size / sizeof(gid_t));
  if (size == 0 || ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) groups.clear();
  groups.push_back(gid);
  return groups;
}

namespace {

constexpr Role kRoles[] = {Role::kViewer, Role::kOperator, Role::kAdmin};

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kNone:
      return "none";
    case Role::kViewer:
      return "viewer";
    case Role::kOperator:
      return "operator";
    case Role::kAdmin:
      return "admin";
  }
  return "?";
}

std::optional<Role> RoleByName(std::string_view name) {
  for (Role role : kRoles) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

std::string CallerName(const Caller& caller) {
  if (!caller.certificate.empty()) return "certificate " + caller.certificate;
  return "uid " + std::to_string(caller.uid);
}

}  // namespace kprof
