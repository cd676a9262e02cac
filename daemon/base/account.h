// Users' accounts, as the directory has them that /etc/nsswitch.conf names: files, LDAP, sssd. One that does not answer
// is waited for without end: kprofd asks on a thread that nobody waits for (worker_pool.h), the helper never on
// its own thread, but in a process of its own (helper_jobs.h) or in one that is on its way to its program
// (start_supervisor.h).
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

// kNotFound when nobody has it; kInternal when the directory has failed, and nobody knows.
Result<Account> FindAccount(uint32_t uid);
Result<Account> FindAccount(const std::string& name);

constexpr size_t kMostGroups = 65536;  // the kernel's own limit

// Its own one among them. None for one that is in more than that. A directory that has failed leaves out what it has,
// and does not say so: CheckGroup does.
std::vector<uint32_t> FindGroups(const Account& account);

// Ok when the directory can say whether there is such a group, and who is in it.
Status CheckGroup(uint32_t gid);

}  // namespace kprof
