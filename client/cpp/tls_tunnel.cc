#include "client/cpp/tls_tunnel.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <utility>

#include "client/cpp/tls_connect.h"

namespace kprof {
namespace {

constexpr std::chrono::seconds kFirstWords{10};
// For the node to take the end that we made.
constexpr int kLingerMs = 2000;

}  // namespace

Result<std::unique_ptr<TlsTunnel>> TlsTunnel::Open(NodeAddress address) {
  std::unique_ptr<TlsTunnel> tunnel(new TlsTunnel(std::move(address)));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailErrno(errno, "make a socket");
  }
  tunnel->plain_end_.Reset(ends[0]);
  tunnel->pump_end_.Reset(ends[1]);
  tunnel->stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!tunnel->stop_.valid()) return FailErrno(errno, "make an event");
  tunnel->thread_ = std::thread([raw = tunnel.get()] { raw->Run(); });
  MutexLock lock(tunnel->mu_);
  tunnel->changed_.wait(tunnel->mu_, [&]() KPROF_REQUIRES(tunnel->mu_) { return tunnel->opened_; });
  if (!tunnel->failure_.ok()) return tunnel->failure_;
  return tunnel;
}

TlsTunnel::TlsTunnel(NodeAddress address) : address_(std::move(address)) {}

TlsTunnel::~TlsTunnel() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TlsTunnel::Run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  Result<TlsConnection> connection = ConnectTls(address_);
  {
    MutexLock lock(mu_);
    opened_ = true;
    if (!connection.ok()) failure_ = connection.status();
  }
  changed_.notify_all();
  if (!connection.ok()) return;
  TlsPump pump(std::move(connection->ssl), std::move(connection->socket), std::move(pump_end_));
  Carry(pump);
  {
    MutexLock lock(mu_);
    ended_ = true;
    if (!heard_) failure_ = FailureAfter(address_, pump.failure());
  }
  changed_.notify_all();
}

void TlsTunnel::Carry(TlsPump& pump) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> linger_end;
  bool told = false;
  while (true) {
    const TlsPump::Wants wants = pump.Step();
    if (pump.heard() && !std::exchange(told, true)) {
      {
        MutexLock lock(mu_);
        heard_ = true;
      }
      changed_.notify_all();
    }
    if (pump.done()) return;
    int timeout_ms = wants.more ? 0 : -1;
    if (pump.lingers()) {
      if (!linger_end) linger_end = Clock::now() + std::chrono::milliseconds(kLingerMs);
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*linger_end - Clock::now());
      if (left.count() <= 0) return pump.Close();
      if (!wants.more) timeout_ms = static_cast<int>(left.count());
    }
    auto events = [](bool read, bool write) { return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0)); };
    pollfd entries[] = {{stop_.get(), POLLIN, 0},
                        {pump.tls_fd(), events(wants.tls_read, wants.tls_write), 0},
                        {pump.plain_fd(), events(wants.plain_read, wants.plain_write), 0}};
    // One from which nothing is wanted would still report its hang-up, again and again.
    for (pollfd& entry : entries) {
      if (entry.events == 0) entry.fd = -1;
    }
    if (::poll(entries, std::size(entries), timeout_ms) > 0 && entries[0].revents != 0) return pump.Close();
  }
}

Status TlsTunnel::AwaitFirstWords() {
  MutexLock lock(mu_);
  const bool came = changed_.wait_for(mu_, kFirstWords, [this]() KPROF_REQUIRES(mu_) { return heard_ || ended_; });
  if (heard_) return OkStatus();
  if (came) return failure_;
  return Fail(ErrorCode::kNoDaemon, "reach kprofd at " + address_.Text(), "it does not answer",
              "see whether it is stopped, and its log");
}

}  // namespace kprof
