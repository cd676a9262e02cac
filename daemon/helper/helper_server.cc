#include "daemon/helper/helper_server.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "daemon/base/log.h"
#include "storage/base/packet_socket.h"

namespace kprof {

Result<UniqueFd> ListenWhenFree(const std::string& path, const std::function<Result<UniqueFd>()>& listen) {
  constexpr int kAttempts = 30;
  constexpr std::chrono::milliseconds kPause{100};
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    Result<UniqueFd> listener = listen();
    if (listener.ok()) return listener;
    // Nobody is there, or not any more.
    if (!ConnectPacketSocket(path).ok()) break;
    std::this_thread::sleep_for(kPause);
  }
  return listen();
}

namespace {

// kprofd has two; others while it is being restarted.
constexpr size_t kMostConnections = 8;
// Of one connection, then others have their turn: a grant takes as long as the disk's sync.
constexpr size_t kTakenAtATime = 4;
// Each is a process.
constexpr size_t kMostJobs = 128;
// Of them: many supervisors may die at once, and whoever connects meanwhile waits for an answer.
constexpr int64_t kMostSweepsForTheDead = 32;

}  // namespace

struct HelperServer::Connection {
  UniqueFd socket;
  bool greeted = false;
  bool broken = false;
  size_t unanswered = 0;
};

HelperServer::HelperServer(const Clock& clock, Helper& helper, uint32_t kprofd_uid, UniqueFd listener,
                           UniqueFd signal_fd)
    : clock_(clock),
      helper_(helper),
      kprofd_uid_(kprofd_uid),
      listener_(std::move(listener)),
      signal_fd_(std::move(signal_fd)),
      lookups_(clock) {}

HelperServer::~HelperServer() = default;

void HelperServer::Run() {
  while (!stopping_) Poll();
}

void HelperServer::Poll() {
  std::vector<pollfd> waits = {{signal_fd_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  const std::vector<std::shared_ptr<Connection>> connections = connections_;
  for (const auto& connection : connections) {
    const bool listens = connection->unanswered < kMostHelperRequests && has_room();
    waits.push_back({connection->socket.get(), static_cast<short>(listens ? POLLIN : 0), 0});
  }
  int64_t wake_at_ns = lookups_.AddWaits(waits);
  for (const Pending& pending : pending_) {
    waits.push_back({pending.job.fd(), POLLIN, 0});
    wake_at_ns = std::min(wake_at_ns, pending.job.by_mono_ns());
  }
  int timeout_ms = -1;
  if (wake_at_ns != INT64_MAX) {
    timeout_ms = static_cast<int>(std::clamp<int64_t>((wake_at_ns - clock_.mono_ns()) / kNanosPerMilli + 1, 0, 60'000));
  }
  if (::poll(waits.data(), waits.size(), timeout_ms) < 0) return;
  if (waits[0].revents != 0) TakeSignals();
  FinishJobs();
  SweepForTheDead();
  lookups_.Turn();
  for (size_t i = 0; i < connections.size(); ++i) {
    if (waits[2 + i].revents != 0) Receive(connections[i]);
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->broken; });
  if (waits[1].revents != 0) Accept();
}

void HelperServer::Accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return;
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
  if (who.uid != kprofd_uid_ || connections_.size() >= kMostConnections) {
    LogWarning("refused a connection", {{"uid", std::to_string(who.uid)}, {"pid", std::to_string(who.pid)}});
    return;
  }
  connections_.push_back(std::make_shared<Connection>(Connection{.socket = std::move(socket)}));
}

void HelperServer::TakeSignals() {
  signalfd_siginfo info{};
  while (::read(signal_fd_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) stopping_ = true;
  }
  ReapChildren();
}

void HelperServer::ReapChildren() {
  int wait_status = 0;
  while (true) {
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return;
    if (std::optional<std::string> run_id = helper_.OnChildEnd(pid, wait_status)) to_sweep_.push_back(*run_id);
  }
}

bool HelperServer::has_room() const {
  return pending_.size() < kMostJobs;
}

void HelperServer::SweepForTheDead() {
  auto sweeps = std::count_if(pending_.begin(), pending_.end(),
                              [](const Pending& pending) { return pending.connection.expired(); });
  for (; !to_sweep_.empty() && sweeps < kMostSweepsForTheDead && has_room(); ++sweeps) {
    Helper::Outcome sweep = helper_.Sweep(to_sweep_.front());
    to_sweep_.pop_front();
    if (auto* job = std::get_if<HelperJob>(&sweep)) pending_.push_back({std::move(*job), {}, 0});
  }
}

void HelperServer::Receive(const std::shared_ptr<Connection>& connection) {
  for (size_t taken = 0; taken < kTakenAtATime && !connection->broken; ++taken) {
    if (connection->unanswered >= kMostHelperRequests || !has_room()) break;
    Packet packet;
    const int error = ReceivePacket(connection->socket.get(), kHelperPacketLimitBytes, packet);
    if (error == EAGAIN) break;
    if (error != 0 || packet.end || packet.cut || !Take(connection, packet.bytes, std::move(packet.files))) {
      if (error == 0 && !packet.end) LogWarning("kprofd broke the protocol; its connection is closed");
      connection->broken = true;
    }
  }
  // Nobody listens to what is not read: a peer that is gone is noticed all the same.
  pollfd state{connection->socket.get(), 0, 0};
  if (::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0 &&
      (connection->unanswered > 0 || !has_room())) {
    connection->broken = true;
  }
}

bool HelperServer::Take(const std::shared_ptr<Connection>& connection, std::string_view bytes,
                        std::vector<UniqueFd> files) {
  Result<HelperPacket> packet = DecodeHelperPacket(bytes);
  if (!packet.ok() || files.size() != FilesOf(packet->message)) return false;
  if (const auto* hello = std::get_if<HelperHello>(&packet->message)) {
    if (connection->greeted) return false;
    connection->greeted = true;
    SendPacket(connection->socket.get(), EncodeHelperPacket({packet->tag, HelperHello{}}));
    return hello->version == kHelperProtocolVersion;
  }
  if (!connection->greeted) return false;
  if (const auto* forget = std::get_if<HelperForget>(&packet->message)) lookups_.Withdraw(forget->run_id);
  Helper::Outcome outcome = helper_.Answer(packet->message, std::move(files));
  if (auto* answer = std::get_if<JobAnswer>(&outcome)) {
    Send(*connection, packet->tag, *answer);
  } else if (auto* lookup = std::get_if<Lookup>(&outcome)) {
    std::weak_ptr<Connection> asker = connection;
    lookups_.Add(std::move(*lookup), asker, [this, asker, tag = packet->tag](const HelperMessage& message) {
      if (std::shared_ptr<Connection> open = asker.lock()) Send(*open, tag, {message, UniqueFd()});
    });
  } else {
    ++connection->unanswered;
    pending_.push_back({std::move(std::get<HelperJob>(outcome)), connection, packet->tag});
  }
  return true;
}

void HelperServer::Send(Connection& connection, uint32_t tag, const JobAnswer& answer) {
  std::vector<int> files;
  if (answer.file.valid()) files.push_back(answer.file.get());
  if (SendPacket(connection.socket.get(), EncodeHelperPacket({tag, answer.message}), files) != 0) {
    connection.broken = true;
  }
}

void HelperServer::FinishJobs() {
  const int64_t now_ns = clock_.mono_ns();
  std::vector<Pending> still;
  for (Pending& pending : pending_) {
    pollfd wait{pending.job.fd(), POLLIN, 0};
    const bool answered = ::poll(&wait, 1, 0) > 0;
    if (!answered && now_ns < pending.job.by_mono_ns()) {
      still.push_back(std::move(pending));
      continue;
    }
    JobAnswer answer{HelperRefused{ErrorCode::kTimedOut, "it took too long",
                                   "see which file system, or directory of users, does not answer"},
                     {}};
    if (answered) {
      answer = pending.job.TakeAnswer();
    } else {
      pending.job.Kill();
    }
    if (std::shared_ptr<Connection> connection = pending.connection.lock()) {
      --connection->unanswered;
      Send(*connection, pending.tag, answer);
    }
  }
  pending_ = std::move(still);
}

}  // namespace kprof
