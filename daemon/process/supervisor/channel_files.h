// The descriptors that come with the first byte of the supervisor's channel.
#pragma once

#include <sys/types.h>

#include <vector>

#include "storage/base/unique_fd.h"

namespace kprof {

struct ChannelFiles {
  ssize_t size = -1;  // bytes they came with: 1, 0 at the end of the channel, -1 with errno
  bool cut = false;   // there were more of them
  std::vector<UniqueFd> files;
};

// Does not wait. With `flags` MSG_PEEK they stay in the channel for another reader, and these are copies.
ChannelFiles ReceiveChannelFiles(int socket, int flags);

}  // namespace kprof
