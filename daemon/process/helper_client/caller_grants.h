// What a run needs that is to be started as its caller when the caller may be gone: somebody with the right to do so
// must have seen the caller ask. The door to that, for tests of the state machine. Io loop only; `done` is called from
// the loop, never from inside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// A connection as somebody is shown it who must see for himself whose it is: a copy, and what tells it from others.
struct CallerConnection {
  uint64_t id = 0;  // later ones have greater ones
  UniqueFd copy;    // not valid: there is none
};

// Who asked, as their connection says.
struct Asker {
  uint32_t uid = 0;
  uint32_t account = 0;          // the user whom that counts as
  bool is_remote = false;        // came with a certificate; else by a local connection
  std::vector<uint32_t> groups;  // of that connection: the supplementary ones, then the first
};

class CallerGrants {
 public:
  virtual ~CallerGrants() = default;
  // The run may be started as who asked, once, if its request has this digest (launch_request.h). Durable when it is
  // done. kNotPermitted: not for this caller; kSpawnFailed: there is nobody who could.
  virtual void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                        std::function<void(Status)> done) = 0;
  // It will not be started.
  virtual void Forget(const std::string& run_id) = 0;
};

}  // namespace kprof
