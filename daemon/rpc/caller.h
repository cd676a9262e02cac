// Who is asking: known from the socket (SO_PEERCRED at connect), never from what the client says. A handler's Caller is
// fixed by construction: each uid has a server of its own (uid_servers.h).
#pragma once

#include <cstdint>

namespace kprof {

struct Caller {
  uint32_t uid = 0;
  // Sees and handles runs of others, too.
  bool is_operator = false;
  bool operator==(const Caller&) const = default;
};

}  // namespace kprof
