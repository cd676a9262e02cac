#include "daemon/clocks/keeper/keeper_life.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>
#include <utility>
#include <variant>

#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

constexpr int64_t kFirstRestorePauseNs = kNanosPerSecond / 10;
constexpr int64_t kLongestRestorePauseNs = 10 * kNanosPerSecond;
constexpr int64_t kLongestWaitMs = 60'000;
// Without anybody who waits for it.
constexpr int kTriesBeforeEnd = 7;  // in about 6 s; what stays noted is for the next one
constexpr unsigned kTrySeconds = 30;

int64_t RestorePauseAfter(int tries) {
  return std::min(kFirstRestorePauseNs << std::min(tries, 20), kLongestRestorePauseNs);
}

}  // namespace

Result<UniqueFd> BlockEndSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int end : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, end);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &ends, SFD_CLOEXEC));
  if (!fd.valid()) return FailErrno(errno, "watch for signals");
  return fd;
}

Status KeeperLife::Run() {
  bool somebody_is_there = true;
  while (somebody_is_there) {
    GiveBackWhenDue();
    pollfd readable[] = {{channel_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (::poll(readable, 2, WaitMs()) < 0 && errno != EINTR) break;
    if (readable[1].revents != 0) break;
    if (readable[0].revents != 0) somebody_is_there = Receive();
  }
  return GiveBackBeforeEnd();
}

int KeeperLife::WaitMs() const {
  int64_t due_ns = std::numeric_limits<int64_t>::max();
  if (!leftover_.ok()) {
    due_ns = again_ns_;
  } else if (const std::optional<int64_t> until_ns = thing_.until_mono_ns()) {
    due_ns = *until_ns;
  } else {
    return -1;
  }
  const int64_t wait_ns = std::max<int64_t>(due_ns - clock_.mono_ns(), 0);
  return static_cast<int>(std::min(wait_ns / kNanosPerMilli, kLongestWaitMs)) + 1;
}

void KeeperLife::GiveBackWhenDue() {
  const int64_t now_ns = clock_.mono_ns();
  const std::optional<int64_t> until_ns = leftover_.ok() ? thing_.until_mono_ns() : std::nullopt;
  if (until_ns && now_ns >= *until_ns) tries_ = 0;
  if (tries_ > 0 && (leftover_.ok() || now_ns < again_ns_)) return;
  leftover_ = thing_.GiveBack();
  if (!leftover_.ok()) thing_.CloseAfter(leftover_);
  again_ns_ = clock_.mono_ns() + RestorePauseAfter(tries_++);
}

bool KeeperLife::Receive() {
  Packet packet;
  const int error = ReceivePacket(channel_.get(), kKeeperPacketLimitBytes, packet);
  if (error == EAGAIN || error == EINTR) return true;
  if (error != 0 || packet.end || packet.cut) return false;
  Result<KeeperPacket> request = DecodeKeeperPacket(packet.bytes);
  if (!request.ok()) return false;
  (void)SendPacket(channel_.get(), EncodeKeeperPacket({request->tag, Answer(request->message)}));
  return true;
}

KeeperMessage KeeperLife::Answer(const KeeperMessage& request) {
  if (!leftover_.ok()) {
    again_ns_ = 0;  // somebody waits for it
    GiveBackWhenDue();
  }
  if (!leftover_.ok()) return KeeperFailedOf(leftover_);
  if (!std::holds_alternative<KeeperRelease>(request)) {
    KeeperMessage answer = thing_.Hold(request);
    if (const auto* failed = std::get_if<KeeperFailed>(&answer)) {
      thing_.CloseAfter(StatusOf(*failed));
      tries_ = 0;  // where something is left all the same it is seen to
    }
    return answer;
  }
  leftover_ = thing_.GiveBack();
  if (leftover_.ok()) return KeeperReleased();
  thing_.CloseAfter(leftover_);
  tries_ = 1;
  again_ns_ = clock_.mono_ns() + RestorePauseAfter(0);
  return KeeperFailedOf(leftover_);
}

Status KeeperLife::GiveBackBeforeEnd() {
  Status released;
  // Nobody watches any more whether it hangs: then it ends, and the note stays for the next one.
  ::signal(SIGALRM, SIG_DFL);
  for (int tries = 0; tries < kTriesBeforeEnd; ++tries) {
    ::alarm(kTrySeconds);
    if (tries > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(RestorePauseAfter(tries - 1)));
    released = thing_.GiveBack();
    if (released.ok()) return released;
    thing_.CloseAfter(released);
  }
  return released;
}

}  // namespace kprof
