// How people know a process: its name and its user, as /proc tells. /proc is memory: takes about 10 us.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/user_names.h"

namespace kprof {

struct KnownProcess {
  pid_t pid = 0;
  std::string name;             // whatever it likes to call itself, as text; empty: it is gone, or hidden from us
  std::optional<uint32_t> uid;  // the effective one
  bool operator==(const KnownProcess&) const = default;
};

// Any thread.
KnownProcess ReadKnownProcess(pid_t pid, const std::string& proc_root = "/proc");

// "pid 4711 (python3, user eve)", with what is known. Io loop only.
std::string KnownAs(const KnownProcess& process, UserNames& users);

}  // namespace kprof
