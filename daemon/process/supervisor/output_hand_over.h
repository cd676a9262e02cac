// The files that a run left, on their way to kprofd: found, opened and handed over one by one, as the channel takes
// them, with what is left out and why.
//
// One thread. Blocks for the file system (command_files.h), never for the channel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/capture/tool.h"
#include "daemon/launch/launch_protocol.h"
#include "daemon/process/supervisor/command_files.h"
#include "daemon/process/supervisor/control_channel.h"

namespace kprof {

class OutputHandOver {
 public:
  explicit OutputHandOver(const OutputSearch::Limits& limits) : search_(limits) {}

  // Those of the tool in its folder; `folder_error`: errno that says why it has no folder, 0 where it has one.
  void FindOfTool(const Tool& tool, const OutputFolder& folder, int folder_error);
  // Those that the caller asked for, from the folder of the command.
  void FindOfCaller(const LaunchRequest& request);

  // Hands over as many as the channel takes now. True: that was all, and what is left out is told.
  bool Continue(ControlChannel& channel);
  // Leaves out the rest, and tells that.
  void LeaveRest(const std::string& why, ControlChannel& channel);

 private:
  OutputSearch search_;
  size_t handed_over_ = 0;
};

// Tells that the files of a command that was stopped are not kept, where it left any.
void LeaveFilesOfStopped(const LaunchRequest& request, const OutputFolder& folder, ControlChannel& channel);

}  // namespace kprof
