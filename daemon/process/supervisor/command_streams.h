// All that the processes of one run print, on its way out: standard output, standard error, the metrics and the samples
// of turns, from the pipes that the processes hold to the logs, to kprofd and to the client that follows the run
// (command_output.h).
//
// One thread. Never waits.
#pragma once

#include <poll.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/output_log.h"
#include "daemon/process/supervisor/command_child.h"
#include "daemon/process/supervisor/command_output.h"
#include "storage/base/descriptors.h"

namespace kprof {

class CommandStreams {
 public:
  // The events that one poll waits for; fd -1: none.
  struct Waits {
    pollfd out;
    pollfd err;
    pollfd metrics;
    pollfd samples;
    pollfd client_out;
    pollfd client_err;
  };

  explicit CommandStreams(ClientSockets client) : client_(std::move(client)) {}

  // `files`: kOutputFiles or kOutputSockets of the channel; borrowed or taken by what they are. False: errno says why.
  bool Make(std::vector<UniqueFd>& files, const OutputLimits& limits);
  bool is_made() const { return metrics_.has_value(); }

  // REQUIRES for all below: it is made.
  // `to_daemon`: there is one that takes the logs. They are its own, and belong to the next one when it is gone.
  Waits WaitsFor(bool to_daemon) const;
  // `of_command`: the command is printing, and gets SIGPIPE where its reader is gone.
  void Turn(const Waits& came, bool of_command);

  // Before a child starts. A command whose reader is gone gets SIGPIPE. A step does not: what it is for is not what it
  // prints.
  void ReadyForCommand();
  void ReadyForStep();
  // The ends that a child gets.
  int out_end() const { return out_end_.get(); }
  int err_end() const { return err_end_.get(); }
  int metrics_end() const { return metrics_end_.get(); }

  // A fresh pipe for the samples of the next child. False: errno says why.
  bool OpenSamples();
  int samples_end() const { return samples_end_.get(); }
  // The child has its end: ours is closed, so that the pipe ends with the last process that can write.
  void GaveSamplesEnd() { samples_end_.Reset(); }
  // Takes the text that was written into that pipe, and closes it.
  void TakeSamples(TurnEnded& turn);

  // From now on the last that is printed is kept for TakeTail, which takes what may still be in the pipes, too.
  void KeepTail();
  std::string TakeTail();

  // Nothing more starts: what was printed by now still goes out.
  void Close();
  bool all_out() const { return stdout_->out() && stderr_->out(); }
  // After Close: how much was printed and dropped, and the metrics.
  void TellEnd(CommandEnded& end);

 private:
  static void GiveFreshPipe(CommandOutput& stream, UniqueFd& end);

  ClientSockets client_;  // until it is made
  UniqueFd out_end_;
  UniqueFd err_end_;
  UniqueFd metrics_end_;
  std::unique_ptr<CommandOutput> stdout_;
  std::unique_ptr<CommandOutput> stderr_;
  std::optional<MetricPipe> metrics_;
  UniqueFd samples_end_;
  std::optional<MetricPipe> samples_;
};

}  // namespace kprof
