// Root without the right to signal processes of others stands, in tests, for any user: some processes of its own have
// become somebody else's (setuid), and it cannot end them.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kprof {

// Of this thread alone. Whether it worked; it does not for who is not root.
inline bool SetRightToKill(bool has) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  const unsigned bit = 1U << CAP_KILL;
  sets[0].effective = has ? sets[0].effective | bit : sets[0].effective & ~bit;
  return ::syscall(SYS_capset, &header, sets) == 0;
}

}  // namespace kprof
