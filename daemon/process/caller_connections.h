// Connections that callers have open, by uid: what the root helper wants to see before it does something as one of
// them. Holds copies of their descriptors, a few of each uid and a bounded number in all; the newest are kept. A
// connection that its caller has closed is let go at the next look. Io loop only.
#pragma once

#include <cstdint>
#include <deque>

#include "storage/base/unique_fd.h"

namespace kprof {

class CallerConnections {
 public:
  // `connection` was accepted from that uid; the caller keeps its own.
  void Add(uint32_t uid, int connection);
  // A copy of one that is open now; none where there is none.
  UniqueFd Of(uint32_t uid);

 private:
  void DropClosed();

  struct Entry {
    uint32_t uid;
    UniqueFd connection;
  };
  std::deque<Entry> entries_;  // oldest first
};

}  // namespace kprof
