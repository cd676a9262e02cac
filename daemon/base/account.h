// Users' accounts, as the directory has them that /etc/nsswitch.conf names: files, LDAP, sssd. One that does not answer
// is waited for without end: kprofd asks on a worker, the helper never on its own thread, but in a process of its own
// (helper/lookup_line.h) or in one that is on its way to its program (helper/start_supervisor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kprof {

struct Account {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string name;
};

// None: nobody has it, or the directory has failed.
std::optional<Account> FindAccount(uint32_t uid);
std::optional<Account> FindAccount(const std::string& name);

constexpr size_t kMostGroups = 65536;  // the kernel's own limit

// Its own one among them. None for one that is in more than that.
std::vector<uint32_t> FindGroups(const Account& account);

}  // namespace kprof
