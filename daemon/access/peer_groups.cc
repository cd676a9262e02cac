#include "daemon/access/peer_groups.h"

#include <sys/socket.h>

namespace kprof {

std::vector<gid_t> PeerGroups(int connection, gid_t gid) {
  std::vector<gid_t> groups;
  socklen_t size = 0;
  ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size);  // fails, and tells the size
  groups.resize(size / sizeof(gid_t));
  if (size == 0 || ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) groups.clear();
  groups.push_back(gid);
  return groups;
}

}  // namespace kprof
