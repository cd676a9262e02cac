// Users' accounts, as the directory of users has them: files, LDAP or sssd, whatever /etc/nsswitch.conf names. A
// directory that does not answer blocks the call without end. So kprofd asks on a thread that nobody waits for
// (worker_pool.h). The helper never asks on its own thread: it asks in a process of its own (helper_jobs.h), or in the
// process that is about to become the supervisor (start_supervisor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct Account {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string name;
};

// Fails with kNotFound when there is no such account, kInternal when the directory has failed and nobody knows.
Result<Account> FindAccount(uint32_t uid);
Result<Account> FindAccount(const std::string& name);

constexpr size_t kMostGroups = 65536;  // the kernel's own limit

// The account's groups, its own among them. Empty for an account in more than kMostGroups. A directory that has failed
// leaves out its groups without saying so; CheckGroup tells.
std::vector<uint32_t> FindGroups(const Account& account);

// Ok when the directory can say whether the group exists and who is in it.
Status CheckGroup(uint32_t gid);

}  // namespace kprof
