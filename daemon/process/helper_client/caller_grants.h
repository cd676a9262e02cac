// Grants for runs that are started as their caller when the caller may be gone. A run needs one: somebody with the
// right to start it must have seen the caller ask. CallerGrants is the door; tests of the state machine put a fake
// here. Io loop only; `done` is called from the loop, never from inside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// A duplicate of a caller's connection, to be shown to the helper, which verifies the peer itself.
struct CallerConnection {
  uint64_t id = 0;  // later connections have greater ones
  UniqueFd copy;    // not valid: there is no connection
};

// The caller who asked, as the connection tells it.
struct Asker {
  uint32_t uid = 0;
  uint32_t account = 0;          // the user to whose share the run counts
  bool is_remote = false;        // came with a certificate; else by a local connection
  std::vector<uint32_t> groups;  // of the connection: the supplementary ones, then the first
};

class CallerGrants {
 public:
  virtual ~CallerGrants() = default;
  // Allows one start of the run as the asker, if its request has this digest (launch_request.h). Durable when `done` is
  // called. Fails with kNotPermitted for this caller, kSpawnFailed when nobody could start it.
  virtual void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                        std::function<void(Status)> done) = 0;
  // The run will not be started: its grant goes.
  virtual void Forget(const std::string& run_id) = 0;
};

}  // namespace kprof
