// The sockets of clients that follow a capture and want its output straight from the supervisor, held from before the
// run is submitted until it starts. For a daemon that starts its supervisors itself: the others' clients give their
// sockets to the supervisor when they start it.
//
// Io loop only. At most 256 pairs wait; those whose client is gone make room.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// The supervisor's ends, one for each stream (launch_protocol.h).
struct OutputSockets {
  UniqueFd out;
  UniqueFd err;
};

class ClientOutputs {
 public:
  static constexpr size_t kMostWaiting = 256;

  // For the run that `uid` is to submit with this key; sockets that wait for the same run are replaced. Fails with
  // kUsage for an empty key and for files that are no Unix stream sockets, kQueueFull when too many wait.
  Status Hold(uint32_t uid, const std::string& idempotency_key, OutputSockets sockets);

  // Those of the run, once; invalid ones where nobody wants its output.
  OutputSockets Take(uint32_t uid, const std::string& idempotency_key);

  size_t waiting() const { return waiting_.size(); }

 private:
  std::map<std::pair<uint32_t, std::string>, OutputSockets> waiting_;
};

}  // namespace kprof
