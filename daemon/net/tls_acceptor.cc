#include "daemon/net/tls_acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/net/asio_thread.h"
#include "daemon/net/tls_handshake.h"
#include "daemon/net/tls_refusal.h"
#include "daemon/net/tls_relay.h"

namespace kprof {
namespace {

namespace asio = boost::asio;

// At a time, so that handshakes go on while a flood comes in.
constexpr int kAcceptsPerTurn = 16;
constexpr std::chrono::milliseconds kPause{100};  // when descriptors run out
// A peer that has vanished is noticed after 60 + 3 x 10 s.
constexpr int kKeepaliveIdleS = 60;
constexpr int kKeepaliveIntervalS = 10;
constexpr int kKeepaliveProbes = 3;

void SetUp(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepaliveIdleS, sizeof kKeepaliveIdleS);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepaliveIntervalS, sizeof kKeepaliveIntervalS);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kKeepaliveProbes, sizeof kKeepaliveProbes);
}

// A count per key that forgets who has none.
class Tally {
 public:
  int64_t of(const std::string& key) const {
    auto found = counts_.find(key);
    return found == counts_.end() ? 0 : found->second;
  }
  void Add(const std::string& key) { ++counts_[key]; }
  void Remove(const std::string& key) {
    auto found = counts_.find(key);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }

 private:
  std::map<std::string, int64_t> counts_;
};

}  // namespace

struct TlsAcceptor::State {
  using Handshakes = std::list<std::shared_ptr<TlsHandshake>>;

  State(IoLoop& loop, std::shared_ptr<const TlsCredentials> credentials, const TlsLimits& limits, Connected connected,
        Refused on_refused)
      : loop(loop),
        connected(std::move(connected)),
        on_refused(std::move(on_refused)),
        credentials(std::move(credentials)),
        limits(limits) {}

  // On the acceptor's thread, from another one.
  void RunAndWait(const std::function<void()>& task) {
    std::promise<void> done;
    own.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  void Listen(UniqueFd socket) {
    listener.emplace(own.context(), socket.Release());
    WaitForNext();
  }
  void WaitForNext();
  void AcceptSome();
  void Accept(UniqueFd socket, const PeerAddress& peer);
  void MakeRoomFor(const PeerAddress& peer);
  void Remove(Handshakes::iterator handshake);
  void OnShaken(Handshakes::iterator handshake, TlsHandshake::Outcome outcome);
  void Admit(SslPtr ssl, UniqueFd socket, const TlsHandshake& handshake);
  std::optional<TlsRefusal> WhyNoPlace(const CertificateFacts& certificate) const;
  void TakePlace(uint64_t id, const Caller& caller, const CertificateFacts& certificate, const PeerAddress& peer);
  void HandOver(const Caller& caller, UniqueFd plain);
  void OnGone(const TlsRelay::Gone& gone);
  void Refuse(TlsRefusal refusal, const PeerAddress& peer, const std::string& certificate = "");
  void ArmFlush();
  void StopListening();
  void EndAll();

  IoLoop& loop;
  const Connected connected;
  const Refused on_refused;
  // Io loop: false once nobody wants to hear of connections any more. Shared with what is posted there.
  const std::shared_ptr<bool> wanted = std::make_shared<bool>(true);

  // Read by any thread.
  std::atomic<int64_t> accepted{0};
  std::atomic<int64_t> admitted{0};
  std::atomic<int64_t> handshakes_now{0};
  std::atomic<int64_t> connections_now{0};
  std::atomic<int64_t> without_role_now{0};
  std::array<std::atomic<int64_t>, kTlsRefusals> refused{};

  // Acceptor's thread.
  std::shared_ptr<const TlsCredentials> credentials;  // with the handshakes that began under them
  TlsLimits limits;
  std::optional<asio::posix::stream_descriptor> listener;
  std::optional<asio::steady_timer> pause;
  std::optional<asio::steady_timer> flush;
  Handshakes handshakes;  // oldest first
  Tally handshakes_of_host;
  Tally connections_of_certificate;
  uint64_t next_id = 1;             // of a connection
  std::set<uint64_t> all;           // that are in
  std::set<uint64_t> without_role;  // of them; oldest first
  RefusalLog log;
  bool stopped = false;

  // Their threads use what stands above. The relay ends first: it tells us of each connection that ends.
  AsioThread own{"kprofd-tls"};
  TlsRelay relay{[this](const TlsRelay::Gone& gone) { own.Post([this, gone] { OnGone(gone); }); }};
};

void TlsAcceptor::State::WaitForNext() {
  listener->async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error && !stopped) AcceptSome();
  });
}

void TlsAcceptor::State::AcceptSome() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    UniqueFd socket(::accept4(listener->native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      accepted.fetch_add(1, std::memory_order_relaxed);
      Accept(std::move(socket), PeerAddress::Of(address));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      LogWarning("cannot accept a connection", {{"error", std::strerror(errno)}});
      pause.emplace(own.context(), kPause);
      pause->async_wait([this](const boost::system::error_code& error) {
        if (!error && !stopped) AcceptSome();
      });
      return;
    }
    // What else accept says is about that one connection, which is gone.
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
  }
  WaitForNext();
}

void TlsAcceptor::State::Accept(UniqueFd socket, const PeerAddress& peer) {
  if (connections_now.load(std::memory_order_relaxed) >= limits.connections) return Refuse(TlsRefusal::kFull, peer);
  MakeRoomFor(peer);
  SetUp(socket.get());
  auto handshake = std::make_shared<TlsHandshake>(own.context(), std::move(socket), peer, credentials);
  handshakes.push_back(handshake);
  handshakes_of_host.Add(peer.host);
  handshakes_now.store(static_cast<int64_t>(handshakes.size()), std::memory_order_relaxed);
  handshake->Begin([this, place = std::prev(handshakes.end())](TlsHandshake::Outcome outcome) {
    OnShaken(place, std::move(outcome));
  });
}

// The oldest one of that host, or of all, has had the most time to finish.
void TlsAcceptor::State::MakeRoomFor(const PeerAddress& peer) {
  auto oldest = handshakes.end();
  if (handshakes_of_host.of(peer.host) >= limits.handshakes_per_host) {
    oldest = std::find_if(handshakes.begin(), handshakes.end(),
                          [&](const auto& handshake) { return handshake->peer().host == peer.host; });
  } else if (static_cast<int64_t>(handshakes.size()) >= limits.handshakes) {
    oldest = handshakes.begin();
  }
  if (oldest == handshakes.end()) return;
  const std::shared_ptr<TlsHandshake> dropped = *oldest;
  Remove(oldest);
  dropped->Drop();
  Refuse(TlsRefusal::kCrowdedOut, dropped->peer());
}

void TlsAcceptor::State::Remove(Handshakes::iterator handshake) {
  handshakes_of_host.Remove((*handshake)->peer().host);
  handshakes.erase(handshake);
  handshakes_now.store(static_cast<int64_t>(handshakes.size()), std::memory_order_relaxed);
}

void TlsAcceptor::State::OnShaken(Handshakes::iterator handshake, TlsHandshake::Outcome outcome) {
  const std::shared_ptr<TlsHandshake> done = *handshake;
  Remove(handshake);
  if (outcome.ssl == nullptr) return Refuse(outcome.refusal, done->peer());
  Admit(std::move(outcome.ssl), std::move(outcome.socket), *done);
}

void TlsAcceptor::State::Admit(SslPtr ssl, UniqueFd socket, const TlsHandshake& handshake) {
  CertificateFacts certificate = FactsOf(SSL_get0_peer_certificate(ssl.get()));
  const std::string name = DisplayName(certificate);
  // Others count by now than those under which it began.
  if (handshake.credentials() != credentials) {
    const long verified = credentials->Verify(ssl.get());
    if (verified != X509_V_OK) return Refuse(RefusalOfCertificate(verified), handshake.peer(), name);
  }
  const Caller caller = credentials->Identify(certificate);
  if (caller.role != Role::kNone) {
    if (std::optional<TlsRefusal> why = WhyNoPlace(certificate)) return Refuse(*why, handshake.peer(), name);
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    LogWarning("no socket for a connection", {{"error", std::strerror(errno)}});
    return Refuse(TlsRefusal::kOther, handshake.peer(), name);
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const uint64_t id = next_id++;
  all.insert(id);
  TakePlace(id, caller, certificate, handshake.peer());
  relay.Take(
      {id, std::move(ssl), std::move(socket), std::move(ours), handshake.peer(), caller, std::move(certificate)});
  HandOver(caller, std::move(theirs));
}

std::optional<TlsRefusal> TlsAcceptor::State::WhyNoPlace(const CertificateFacts& certificate) const {
  if (connections_now.load(std::memory_order_relaxed) >= limits.connections) return TlsRefusal::kFull;
  if (connections_of_certificate.of(certificate.fingerprint) >= limits.connections_per_certificate) {
    return TlsRefusal::kFullForCertificate;
  }
  return std::nullopt;
}

void TlsAcceptor::State::TakePlace(uint64_t id, const Caller& caller, const CertificateFacts& certificate,
                                   const PeerAddress& peer) {
  if (caller.role == Role::kNone) {
    Refuse(TlsRefusal::kNoRole, peer, caller.certificate);
    without_role.insert(id);
    // The oldest has had the most time to be told why.
    if (static_cast<int64_t>(without_role.size()) > limits.connections_without_role) {
      relay.Drop(without_role.extract(without_role.begin()).value());
    }
    without_role_now.store(static_cast<int64_t>(without_role.size()), std::memory_order_relaxed);
    return;
  }
  admitted.fetch_add(1, std::memory_order_relaxed);
  connections_of_certificate.Add(certificate.fingerprint);
  connections_now.fetch_add(1, std::memory_order_relaxed);
  Log(LogLevel::kDebug, "let a connection in",
      {{"peer", peer.text}, {"certificate", caller.certificate}, {"role", std::string(RoleName(caller.role))}});
}

void TlsAcceptor::State::HandOver(const Caller& caller, UniqueFd plain) {
  // What is posted has to be copyable.
  auto shared = std::make_shared<UniqueFd>(std::move(plain));
  loop.Post([wanted = wanted, connected = &connected, caller, shared] {
    if (*wanted) (*connected)(caller, std::move(*shared));
  });
}

void TlsAcceptor::State::OnGone(const TlsRelay::Gone& gone) {
  all.erase(gone.id);
  if (gone.caller.role == Role::kNone) {
    without_role.erase(gone.id);
    without_role_now.store(static_cast<int64_t>(without_role.size()), std::memory_order_relaxed);
  } else {
    connections_of_certificate.Remove(gone.fingerprint);
    connections_now.fetch_sub(1, std::memory_order_relaxed);
  }
  if (gone.why) Refuse(*gone.why, gone.peer, gone.caller.certificate);
}

void TlsAcceptor::State::Refuse(TlsRefusal refusal, const PeerAddress& peer, const std::string& certificate) {
  refused[static_cast<size_t>(refusal)].fetch_add(1, std::memory_order_relaxed);
  if (on_refused) on_refused(refusal);
  const bool waits = log.pending();
  log.Add(refusal, peer.text, certificate);
  if (waits || stopped) return;
  ArmFlush();
}

void TlsAcceptor::State::ArmFlush() {
  flush.emplace(own.context(), std::chrono::milliseconds(RefusalLog::kFlushMs));
  flush->async_wait([this](const boost::system::error_code& error) {
    if (error || stopped) return;
    log.Flush();
    if (log.pending()) ArmFlush();
  });
}

void TlsAcceptor::State::StopListening() {
  if (std::exchange(stopped, true)) return;
  listener.reset();
  pause.reset();
  flush.reset();
  while (!handshakes.empty()) {
    const std::shared_ptr<TlsHandshake> dropped = handshakes.front();
    Remove(handshakes.begin());
    dropped->Drop();
  }
  log.Flush();
}

void TlsAcceptor::State::EndAll() {
  StopListening();
  for (const uint64_t id : all) relay.Drop(id);
}

TlsAcceptor::TlsAcceptor(IoLoop& loop, UniqueFd listener, std::shared_ptr<const TlsCredentials> credentials,
                         const TlsLimits& limits, Connected connected, Refused refused)
    : state_(std::make_unique<State>(loop, std::move(credentials), limits, std::move(connected), std::move(refused))) {
  auto shared = std::make_shared<UniqueFd>(std::move(listener));
  state_->own.Post([state = state_.get(), shared] { state->Listen(std::move(*shared)); });
}

TlsAcceptor::~TlsAcceptor() {
  KPROF_ON_IO_LOOP(state_->loop);
  *state_->wanted = false;
  // Nobody may be on the way to the relay when that goes.
  StopListening();
}

void TlsAcceptor::Use(std::shared_ptr<const TlsCredentials> credentials, const TlsLimits& limits) {
  state_->own.Post([state = state_.get(), credentials = std::move(credentials), limits] {
    state->credentials = credentials;
    state->limits = limits;
    state->relay.Judge(credentials);
  });
}

void TlsAcceptor::StopListening() {
  state_->RunAndWait([&] { state_->StopListening(); });
}

void TlsAcceptor::EndAll() {
  state_->RunAndWait([&] { state_->EndAll(); });
}

TlsCounts TlsAcceptor::counts() const {
  TlsCounts counts;
  counts.accepted = state_->accepted.load(std::memory_order_relaxed);
  counts.admitted = state_->admitted.load(std::memory_order_relaxed);
  counts.handshakes_now = state_->handshakes_now.load(std::memory_order_relaxed);
  counts.connections_now = state_->connections_now.load(std::memory_order_relaxed);
  counts.without_role_now = state_->without_role_now.load(std::memory_order_relaxed);
  for (size_t i = 0; i < kTlsRefusals; ++i) counts.refused[i] = state_->refused[i].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace kprof
