#include "client/cli/waiting/interruptible_call.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>

namespace kprof::cli {

InterruptibleCall::InterruptibleCall(bool wanted) {
  if (!wanted) return;
  interrupts_.emplace(ExitStatusOf(ErrorCode::kCancelled));
  over_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  KPROF_CHECK(over_.valid());
  thread_ = std::thread([this] { Watch(); });
}

InterruptibleCall::~InterruptibleCall() {
  if (!thread_.joinable()) return;
  ::eventfd_write(over_.get(), 1);
  thread_.join();
}

void InterruptibleCall::Watch() {
  std::array<pollfd, 2> waits = {pollfd{interrupts_->fd(), POLLIN, 0}, pollfd{over_.get(), POLLIN, 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0) {
    // A signal that woke this thread itself.
  }
  if (interrupts_->first() != 0) stop_.request_stop();
}

Status InterruptibleCall::Ended(const Status& answer) const {
  if (answer.ok() || !stop_.stop_requested()) return answer;
  return Fail(ErrorCode::kCancelled, answer.what(), "interrupted");
}

}  // namespace kprof::cli
