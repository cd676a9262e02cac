// The groups of whoever is at the other end of a Unix socket, as they were when it connected.
#pragma once

#include <sys/types.h>

#include <vector>

namespace kprof {

// All of them, `gid`, the first one, among them. Where the kernel does not tell: that one. Any thread.
std::vector<gid_t> PeerGroups(int connection, gid_t gid);

}  // namespace kprof
