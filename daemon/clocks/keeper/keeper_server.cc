#include "daemon/clocks/keeper/keeper_server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>
#include <variant>

#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

// For one before us that is giving back what it holds.
constexpr int64_t kRightWaitMs = 3000;
constexpr int64_t kFirstPauseNs = kNanosPerSecond / 10;
constexpr int64_t kLongestPauseNs = 10 * kNanosPerSecond;
// Without anybody who waits for it.
constexpr int kTriesBeforeEnd = 7;  // in about 6 s; what stays noted is for the next one
constexpr unsigned kTrySeconds = 30;

int64_t PauseAfter(int tries) {
  return std::min(kFirstPauseNs << std::min(tries, 20), kLongestPauseNs);
}

}  // namespace

KeeperServer::KeeperServer(Options options, Files& files, UniqueFd channel, UniqueFd signals, CallPage page)
    : options_(std::move(options)),
      files_(files, options_.folder),
      channel_(std::move(channel)),
      signals_(std::move(signals)),
      page_(std::move(page)) {}

Status KeeperServer::TakeRight() {
  if (right_) return OkStatus();
  page_.Begin("the lock of the device's clocks");
  Result<std::unique_ptr<File>> right = files_.Lock(options_.uuid, kRightWaitMs);
  page_.End();
  if (!right.ok()) return right.status();
  right_ = *std::move(right);
  return OkStatus();
}

Status KeeperServer::Open() {
  if (keeper_) return OkStatus();
  if (!library_) {
    page_.Begin("nvmlInit_v2");
    Result<NvmlLibrary> library = NvmlLibrary::Open(options_.library);
    page_.End();
    if (!library.ok()) return library.status();
    library_.emplace(*std::move(library));
  }
  ASSIGN_OR_RETURN(NvmlDevice device, NvmlDevice::OfUuid(*library_, page_, options_.uuid));
  device_.emplace(std::move(device));
  keeper_.emplace(clock_, files_, *device_, options_.boot_id);
  return OkStatus();
}

// The device is lost, or has another driver by now: what was opened is of no use.
void KeeperServer::CloseAfter(const Status& failed) {
  if (failed.code() != ErrorCode::kNotFound) return;
  keeper_.reset();
  device_.reset();
  page_.Begin("nvmlShutdown");
  library_.reset();
  page_.End();
}

// What was left by one before: that of this boot is given back, that of an earlier one is gone with it. Without a note
// the device is not even opened.
Status KeeperServer::ReleaseLeftover() {
  RETURN_IF_ERROR(TakeRight());
  Result<std::optional<ClockHold>> hold = files_.Read(options_.uuid);
  if (hold.ok() && !*hold) return OkStatus();
  if (hold.ok() && (*hold)->boot_id != options_.boot_id) return files_.Remove(options_.uuid);
  RETURN_IF_ERROR(Open());
  Result<KeeperReleased> released = keeper_->Release();
  if (!released.ok()) return released.status();
  for (const std::string& note : released->notes) std::fprintf(stderr, "kprof-clocks: %s\n", note.c_str());
  return OkStatus();
}

Status KeeperServer::Run() {
  bool somebody_is_there = true;
  while (somebody_is_there) {
    ReleaseLeftoverWhenDue();
    pollfd readable[] = {{channel_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    const int64_t wait_ns = leftover_.ok() ? -1 : std::max<int64_t>(again_ns_ - clock_.mono_ns(), 0);
    const int wait_ms = wait_ns < 0 ? -1 : static_cast<int>(wait_ns / kNanosPerMilli) + 1;
    if (::poll(readable, 2, wait_ms) < 0 && errno != EINTR) break;
    if (readable[1].revents != 0) break;
    if (readable[0].revents != 0) somebody_is_there = Receive();
  }
  return ReleaseBeforeEnd();
}

void KeeperServer::ReleaseLeftoverWhenDue() {
  if (tries_ > 0 && (leftover_.ok() || clock_.mono_ns() < again_ns_)) return;
  leftover_ = ReleaseLeftover();
  CloseAfter(leftover_);
  again_ns_ = clock_.mono_ns() + PauseAfter(tries_++);
}

bool KeeperServer::Receive() {
  Packet packet;
  const int error = ReceivePacket(channel_.get(), kKeeperPacketLimitBytes, packet);
  if (error == EAGAIN || error == EINTR) return true;
  if (error != 0 || packet.end || packet.cut) return false;
  Result<KeeperPacket> request = DecodeKeeperPacket(packet.bytes);
  if (!request.ok()) return false;
  (void)SendPacket(channel_.get(), EncodeKeeperPacket({request->tag, Answer(request->message)}));
  return true;
}

KeeperMessage KeeperServer::Answer(const KeeperMessage& request) {
  if (!leftover_.ok()) {
    again_ns_ = 0;  // somebody waits for it
    ReleaseLeftoverWhenDue();
  }
  if (!leftover_.ok()) return KeeperFailedOf(leftover_);
  if (const auto* lock = std::get_if<KeeperLock>(&request)) return Lock(*lock);
  leftover_ = ReleaseLeftover();
  if (leftover_.ok()) return KeeperReleased();
  CloseAfter(leftover_);
  tries_ = 1;
  again_ns_ = clock_.mono_ns() + PauseAfter(0);
  return KeeperFailedOf(leftover_);
}

KeeperMessage KeeperServer::Lock(const KeeperLock& request) {
  if (Status opened = Open(); !opened.ok()) {
    CloseAfter(opened);
    return KeeperFailedOf(opened);
  }
  Result<KeeperLocked> locked = keeper_->Lock(request);
  if (locked.ok()) return *std::move(locked);
  CloseAfter(locked.status());
  tries_ = 0;  // where something is left all the same it is seen to
  return KeeperFailedOf(locked.status());
}

Status KeeperServer::ReleaseBeforeEnd() {
  Status released;
  // Nobody watches any more whether it hangs: then it ends, and the note stays for the next one.
  ::signal(SIGALRM, SIG_DFL);
  for (int tries = 0; tries < kTriesBeforeEnd; ++tries) {
    ::alarm(kTrySeconds);
    if (tries > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(PauseAfter(tries - 1)));
    released = ReleaseLeftover();
    if (released.ok()) return released;
    CloseAfter(released);
  }
  return released;
}

}  // namespace kprof
