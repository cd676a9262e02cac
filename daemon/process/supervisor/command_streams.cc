#include "daemon/process/supervisor/command_streams.h"

#include <utility>

namespace kprof {
namespace {

constexpr int kTurnsForTail = 8;
constexpr pollfd kNoWait{-1, 0, 0};

}  // namespace

bool CommandStreams::Make(std::vector<UniqueFd>& files, const OutputLimits& limits) {
  OutputPipe out = MakeOutputPipe();
  OutputPipe err = MakeOutputPipe();
  if (!out.read.valid() || !err.read.valid()) return false;
  OutputPipe metrics = MakeMetricPipe();
  if (!metrics.read.valid()) return false;
  out_end_ = std::move(out.write);
  err_end_ = std::move(err.write);
  metrics_end_ = std::move(metrics.write);
  if (files.size() == kOutputSockets) {
    stdout_ = std::make_unique<OutputToDaemon>(std::move(out.read), std::move(client_.out), std::move(files[0]));
    stderr_ = std::make_unique<OutputToDaemon>(std::move(err.read), std::move(client_.err), std::move(files[1]));
  } else {
    const int progress = files[2].get();
    stdout_ = std::make_unique<OutputToLog>(std::move(out.read), std::move(client_.out), files[0].get(), progress,
                                            OutputStream::kStdout, limits);
    stderr_ = std::make_unique<OutputToLog>(std::move(err.read), std::move(client_.err), files[1].get(), progress,
                                            OutputStream::kStderr, limits);
  }
  metrics_.emplace(std::move(metrics.read), kMostMetricTextBytes);
  return true;
}

CommandStreams::Waits CommandStreams::WaitsFor(bool to_daemon) const {
  Waits waits{kNoWait, kNoWait, metrics_->wait(), samples_ ? samples_->wait() : kNoWait, kNoWait, kNoWait};
  if (!to_daemon) return waits;
  waits.out = stdout_->wait();
  waits.err = stderr_->wait();
  waits.client_out = stdout_->client().wait();
  waits.client_err = stderr_->client().wait();
  return waits;
}

void CommandStreams::Turn(const Waits& came, bool of_command) {
  if (came.out.revents != 0) stdout_->Turn();
  if (came.err.revents != 0) stderr_->Turn();
  if (came.metrics.revents != 0) metrics_->Turn();
  if (came.samples.revents != 0 && samples_) samples_->Turn();
  const auto hear = [of_command](const pollfd& wait, CommandOutput& stream) {
    if (wait.revents == 0) return;
    stream.client().Turn();
    if (of_command && stream.client().reader_gone()) stream.BreakPipe();
  };
  hear(came.client_out, *stdout_);
  hear(came.client_err, *stderr_);
}

void CommandStreams::ReadyForCommand() {
  if (stdout_->client().reader_gone()) stdout_->BreakPipe();
  if (stderr_->client().reader_gone()) stderr_->BreakPipe();
}

void CommandStreams::ReadyForStep() {
  GiveFreshPipe(*stdout_, out_end_);
  GiveFreshPipe(*stderr_, err_end_);
}

void CommandStreams::GiveFreshPipe(CommandOutput& stream, UniqueFd& end) {
  if (!stream.is_broken()) return;
  OutputPipe fresh = MakeOutputPipe();
  if (!fresh.read.valid()) return;  // the step gets SIGPIPE after all
  end = std::move(fresh.write);
  stream.UsePipe(std::move(fresh.read));
}

bool CommandStreams::OpenSamples() {
  OutputPipe pipe = MakeOutputPipe();
  if (!pipe.read.valid()) return false;
  samples_.emplace(std::move(pipe.read), kMostEventTextBytes);
  samples_end_ = std::move(pipe.write);
  return true;
}

void CommandStreams::TakeSamples(TurnEnded& turn) {
  samples_end_.Reset();
  if (!samples_) return;
  samples_->Close();
  turn.text = samples_->TakeText();
  turn.dropped_bytes = samples_->dropped_bytes();
  samples_.reset();
}

void CommandStreams::KeepTail() {
  stdout_->KeepTail();
  stderr_->KeepTail();
}

std::string CommandStreams::TakeTail() {
  for (int turn = 0; turn < kTurnsForTail; ++turn) {
    stdout_->Turn();
    stderr_->Turn();
  }
  return stdout_->TakeTail() + "\n" + stderr_->TakeTail();
}

void CommandStreams::Close() {
  out_end_.Reset();
  err_end_.Reset();
  metrics_end_.Reset();
  stdout_->Close();
  stderr_->Close();
  metrics_->Close();
}

void CommandStreams::TellEnd(CommandEnded& end) {
  end.stdout_bytes = stdout_->printed_bytes();
  end.stdout_dropped_bytes = stdout_->dropped_bytes();
  end.stderr_bytes = stderr_->printed_bytes();
  end.stderr_dropped_bytes = stderr_->dropped_bytes();
  end.output_error = stdout_->first_error() != 0 ? stdout_->first_error() : stderr_->first_error();
  end.metrics = metrics_->TakeText();
  end.metrics_dropped_bytes = metrics_->dropped_bytes();
}

}  // namespace kprof
