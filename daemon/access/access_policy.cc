#include "daemon/access/access_policy.h"

#include <algorithm>

namespace kprof {

uid_t AccountOf(const AccessPolicy& policy, uid_t uid) {
  if (policy.users.contains(uid)) return uid;
  return OwnerOf(policy.subordinates, uid).value_or(uid);
}

Caller CallerOf(const AccessPolicy& policy, uid_t uid, const std::vector<gid_t>& groups) {
  const bool is_nobody = std::find(policy.nobodies.begin(), policy.nobodies.end(), uid) != policy.nobodies.end();
  Caller caller;
  caller.uid = uid;
  caller.groups.assign(groups.begin(), groups.end());
  if (const uid_t account = AccountOf(policy, uid); account != uid) caller.counts_as = account;
  caller.role = policy.everyone;
  if (auto user = policy.users.find(uid); user != policy.users.end()) caller.role = std::max(caller.role, user->second);
  for (gid_t gid : groups) {
    if (auto group = policy.groups.find(gid); group != policy.groups.end()) {
      caller.role = std::max(caller.role, group->second);
    }
  }
  caller.may_start = caller.role != Role::kNone && !is_nobody;
  // Root could be anybody here.
  if (uid == 0) caller.role = std::max(caller.role, Role::kViewer);
  return caller;
}

}  // namespace kprof
