// Takes the place of a helper that has just gone. What it had begun has its listener for a moment longer: until a new
// process of its has closed what it does not need.
#pragma once

#include <functional>
#include <string>

#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

// What `listen` gives, which listens at `path` (ListenForPackets): as soon as nobody else does, in 3 s at most.
// Whatever else stands in its way is told at once, and nothing that has gone meanwhile ever is. Blocking: before
// anything is served.
Result<UniqueFd> ListenWhenFree(const std::string& path, const std::function<Result<UniqueFd>()>& listen);

}  // namespace kprof
