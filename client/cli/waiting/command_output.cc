#include "client/cli/waiting/command_output.h"

#include <sys/eventfd.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace kprof::cli {
namespace {

constexpr size_t kMostWaitingBytes = 1 << 20;
constexpr std::chrono::milliseconds kRetryLogEvery(100);
constexpr std::chrono::seconds kLastedAWhile(1);

constexpr std::array<v1::OutputStream, 2> kBothStreams = {v1::OUTPUT_STREAM_STDOUT, v1::OUTPUT_STREAM_STDERR};

}  // namespace

CommandOutput::CommandOutput(RunFollower::Connect connect, std::string run_id, int64_t reconnect_ms)
    : connect_(std::move(connect)),
      run_id_(std::move(run_id)),
      reconnect_ms_(reconnect_ms),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  KPROF_CHECK(event_.valid());
  for (size_t i = 0; i < kStreams; ++i) {
    threads_[i] = std::jthread([this, i](const std::stop_token& stop) { Follow(stop, i); });
  }
}

CommandOutput::~CommandOutput() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

std::vector<CommandOutput::Piece> CommandOutput::Take() {
  MutexLock lock(mu_);
  eventfd_t count;
  ::eventfd_read(event_.get(), &count);
  waiting_bytes_ = {};
  taken_.notify_all();
  return std::exchange(pieces_, {});
}

bool CommandOutput::is_over() const {
  MutexLock lock(mu_);
  return ended_ == kStreams && pieces_.empty();
}

Status CommandOutput::failure() const {
  MutexLock lock(mu_);
  return failure_;
}

void CommandOutput::Give(const std::stop_token& stop, size_t index, Piece piece) {
  {
    MutexLock lock(mu_);
    taken_.wait(mu_, stop, [this, index]() KPROF_REQUIRES(mu_) { return waiting_bytes_[index] < kMostWaitingBytes; });
    waiting_bytes_[index] += piece.data.size();
    pieces_.push_back(std::move(piece));
  }
  ::eventfd_write(event_.get(), 1);
}

Status CommandOutput::FollowOnce(const std::stop_token& stop, size_t index, int64_t& received_bytes, bool& has_gap,
                                 std::optional<Clock::time_point>& connected) {
  ASSIGN_OR_RETURN(const std::unique_ptr<KprofClient> client, connect_());
  connected = Clock::now();
  v1::ReadLogRequest request;
  request.set_id(run_id_);
  request.set_stream(kBothStreams[index]);
  request.set_follow(true);
  request.set_offset_bytes(received_bytes);
  return client->ReadLog(
      request,
      [&](const v1::ReadLogResponse& response) {
        received_bytes += static_cast<int64_t>(response.data().size());
        has_gap = has_gap || response.dropped_bytes() > 0;
        Give(stop, index, {kBothStreams[index], response.data(), response.dropped_bytes()});
        return OkStatus();
      },
      stop);
}

void CommandOutput::Follow(const std::stop_token& stop, size_t index) {
  const std::chrono::milliseconds patience(reconnect_ms_);
  std::optional<Clock::time_point> give_up;  // since the first of the failures that follow each other
  int64_t received_bytes = 0;
  bool has_gap = false;
  Status status;
  while (!stop.stop_requested()) {
    std::optional<Clock::time_point> connected;
    status = FollowOnce(stop, index, received_bytes, has_gap, connected);
    if (status.ok() || status.code() != ErrorCode::kNoDaemon) break;
    // A stream that lasted was no failure, however quiet it was.
    if (connected && Clock::now() - *connected >= kLastedAWhile) give_up.reset();
    if (!give_up) give_up = Clock::now() + patience;
    // Behind a gap the place in the kept log is not known.
    if (has_gap || Clock::now() >= *give_up) break;
    MutexLock lock(mu_);
    taken_.wait_for(mu_, stop, kRetryLogEvery, [] { return false; });
  }
  {
    MutexLock lock(mu_);
    ++ended_;
    if (failure_.ok() && !stop.stop_requested()) failure_ = status;
  }
  ::eventfd_write(event_.get(), 1);
}

}  // namespace kprof::cli
