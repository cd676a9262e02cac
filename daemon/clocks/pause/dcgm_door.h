// The door to DCGM's host engine on this node: reads whether its profiling is paused, pauses and resumes it, always for
// the whole node. OpenDcgm goes through its library or, without one, through its tool dcgmi.
//
// One thread; blocks, for ever where DCGM hangs: only for processes that may be killed then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/clocks/pause/dcgm_abi.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/status.h"

namespace kprof {

class DcgmDoor {
 public:
  virtual ~DcgmDoor() = default;
  // Absent: DCGM does not tell.
  virtual std::optional<bool> ReadPaused() = 0;
  // If it is paused already it stays so. Fails as DcgmStatus says, and with kNotFound where no host engine runs.
  virtual Status Pause() = 0;
  virtual Status Resume() = 0;
};

// Opens the named library, else one of the usual names, else the tool in `tool_path` (folders with a colon between
// them) or the PATH. Fails with kNotFound where this node has none of them, kToolFailed for a library that was named
// and cannot be loaded, or does not begin.
Result<std::unique_ptr<DcgmDoor>> OpenDcgm(const std::string& library, const std::string& tool_path, CallPage& page);

// The Status for a code. kToolMissing where DCGM profiles nothing that could be paused (no module for it: Hopper and
// newer are read in another way), kNotPermitted, kTimedOut, else kToolFailed. `said`: DCGM's own words.
Status DcgmStatus(dcgm::Return returned, const std::string& act, std::string_view said);

// The failure for a node without a host engine that we could talk to.
Status NoHostEngine(const std::string& act);

}  // namespace kprof
