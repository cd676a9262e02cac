#include "daemon/process/supervisor/output_hand_over.h"

#include <cstring>

#include "storage/base/clock.h"

namespace kprof {

void OutputHandOver::FindOfTool(const Tool& tool, const OutputFolder& folder, int folder_error) {
  if (folder_error != 0) {
    search_.LeaveOut("what " + std::string(kOutputFolderVariable) +
                     " is for: the folder cannot be made: " + std::strerror(folder_error));
    return;
  }
  for (size_t i = 0; i < tool.outputs.size(); ++i) {
    search_.Find(folder.path(), std::string(tool.outputs[i].glob), static_cast<int32_t>(i));
  }
}

void OutputHandOver::FindOfCaller(const LaunchRequest& request) {
  for (const std::string& glob : request.collect) {
    if (!search_.Find(request.cwd, glob, -1)) search_.Miss(glob);
  }
}

bool OutputHandOver::Continue(ControlChannel& channel) {
  while (!channel.waits_to_send() && !channel.closed() && handed_over_ < search_.files().size()) {
    const OutputSearch::File& file = search_.files()[handed_over_];
    const UniqueFd fd = search_.Open(file);
    if (fd.valid() && !channel.SendWithFile(LaunchMessage::kOutput, EncodeOutputFound(file.found), fd.get())) {
      return false;
    }
    ++handed_over_;
  }
  if (channel.waits_to_send() || channel.closed()) return false;
  if (!search_.left_out().reasons.empty()) {
    channel.Send(LaunchMessage::kLeftOut, EncodeOutputsLeftOut(search_.left_out()));
  }
  return true;
}

void OutputHandOver::LeaveRest(const std::string& why, ControlChannel& channel) {
  search_.LeaveOut(std::to_string(search_.files().size() - handed_over_) + " files: " + why);
  channel.Send(LaunchMessage::kLeftOut, EncodeOutputsLeftOut(search_.left_out()));
}

void LeaveFilesOfStopped(const LaunchRequest& request, const OutputFolder& folder, ControlChannel& channel) {
  OutputSearch search({.files = 1, .entries = 1000, .time_ns = kNanosPerSecond});
  const bool has_some = !folder.path().empty() && search.Find(folder.path(), "**", -1);
  if (!has_some && request.collect.empty()) return;
  const OutputsLeftOut left_out{{"what the command left: it was stopped, by a timeout or a cancel"}, 0};
  channel.Send(LaunchMessage::kLeftOut, EncodeOutputsLeftOut(left_out));
}

}  // namespace kprof
