#include "daemon/access/caller.h"

namespace kprof {
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
