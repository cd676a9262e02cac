// Connections that callers have open, by uid: what the root helper wants to see before it does something as one of
// them. Knows them by number and the kernel's cookie, and owns none: whoever serves a connection may close it at any
// time, and its caller sees that at once. A few of each uid and a bounded number in all; the newest are kept.
//
// Io loop only. Asks the kernel, never waits.
#pragma once

#include <cstdint>
#include <deque>

#include "storage/base/unique_fd.h"

namespace kprof {

class CallerConnections {
 public:
  // `connection` was accepted from that uid; it is somebody else's.
  void Add(uint32_t uid, int connection);
  // A copy of one that is open now; none where there is none.
  UniqueFd Of(uint32_t uid);

 private:
  struct Entry {
    uint32_t uid;
    int number;
    uint64_t cookie;  // never used twice; the number is
  };

  std::deque<Entry> entries_;  // oldest first
};

}  // namespace kprof
