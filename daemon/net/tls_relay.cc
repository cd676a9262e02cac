#include "daemon/net/tls_relay.h"

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <ctime>
#include <map>
#include <utility>

#include "daemon/net/asio_thread.h"
#include "storage/crypto/tls_pump.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;

constexpr std::chrono::seconds kFirstWords{10};
constexpr std::chrono::seconds kRelayLinger{10};
// The wall clock may be set: whether a certificate has expired is asked at least this often.
constexpr std::chrono::seconds kLongestWait{3600};

}  // namespace

struct TlsRelay::State {
  class Live;

  explicit State(Ended ended) : ended(std::move(ended)) {}
  ~State() {
    own.Post([this] {
      while (!all.empty()) End(*all.begin()->second, std::nullopt);
    });
  }

  void End(Live& live, std::optional<TlsRefusal> why);

  const Ended ended;
  // Shared with the waits that are under way, which asio still calls once they are cancelled. Relay's thread.
  std::map<uint64_t, std::shared_ptr<Live>> all;  // by id
  AsioThread own{"kprofd-relay"};                 // last: its thread ends before what it uses
};

class TlsRelay::State::Live : public std::enable_shared_from_this<Live> {
 public:
  Live(State& relay, Connection connection)
      : id(connection.id),
        peer(std::move(connection.peer)),
        caller(std::move(connection.caller)),
        certificate(std::move(connection.certificate)),
        relay_(relay),
        tls_(relay.own.context(), connection.tls.get()),
        plain_(relay.own.context(), connection.plain.get()),
        timer_(relay.own.context()),
        pump_(std::move(connection.ssl), std::move(connection.tls), std::move(connection.plain)) {}
  // The pump owns the descriptors.
  ~Live() { StopWaiting(); }

  void Begin() {
    ArmTimer(kFirstWords);
    Drive();
  }

  void Close() {
    pump_.Close();
    StopWaiting();
  }

  const SSL* ssl() const { return pump_.ssl(); }

  const uint64_t id;
  const PeerAddress peer;
  const Caller caller;
  const CertificateFacts certificate;

 private:
  enum class Phase { kSilent, kTalks, kLingers };

  // Whether a wait for it is under way.
  struct Waits {
    bool tls_read = false;
    bool tls_write = false;
    bool plain_read = false;
    bool plain_write = false;
    bool turn = false;
  };

  void Drive() {
    const TlsPump::Wants wants = pump_.Step();
    if (pump_.done()) return relay_.End(*this, std::nullopt);
    if (phase_ == Phase::kSilent && pump_.heard()) {
      phase_ = Phase::kTalks;
      ArmForExpiry();
    }
    if (phase_ != Phase::kLingers && pump_.lingers()) {
      phase_ = Phase::kLingers;
      ArmTimer(kRelayLinger);
    }
    if (wants.more) {
      if (std::exchange(waits_.turn, true)) return;
      asio::post(relay_.own.context(), [self = shared_from_this()] {
        self->waits_.turn = false;
        if (!self->stopped_) self->Drive();
      });
      return;
    }
    if (wants.tls_read) WaitFor(tls_, stream_descriptor::wait_read, waits_.tls_read);
    if (wants.tls_write) WaitFor(tls_, stream_descriptor::wait_write, waits_.tls_write);
    if (wants.plain_read) WaitFor(plain_, stream_descriptor::wait_read, waits_.plain_read);
    if (wants.plain_write) WaitFor(plain_, stream_descriptor::wait_write, waits_.plain_write);
  }

  void WaitFor(stream_descriptor& descriptor, stream_descriptor::wait_type what, bool& under_way) {
    if (std::exchange(under_way, true)) return;
    descriptor.async_wait(what, [self = shared_from_this(), &under_way](const boost::system::error_code& error) {
      under_way = false;
      if (!error && !self->stopped_) self->Drive();
    });
  }

  void ArmTimer(std::chrono::seconds delay) {
    timer_.expires_after(delay);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && !self->stopped_) self->OnTimer();
    });
  }

  void ArmForExpiry() {
    const std::chrono::seconds left{certificate.expires_unix_s - std::time(nullptr)};
    ArmTimer(std::clamp(left, std::chrono::seconds(0), kLongestWait));
  }

  void OnTimer() {
    if (phase_ == Phase::kSilent) return relay_.End(*this, TlsRefusal::kSilent);
    if (phase_ == Phase::kLingers) return relay_.End(*this, std::nullopt);
    if (std::time(nullptr) >= certificate.expires_unix_s) return relay_.End(*this, TlsRefusal::kNotValidNow);
    ArmForExpiry();
  }

  void StopWaiting() {
    if (std::exchange(stopped_, true)) return;
    tls_.release();
    plain_.release();
    timer_.cancel();
  }

  State& relay_;
  stream_descriptor tls_;
  stream_descriptor plain_;
  asio::steady_timer timer_;
  TlsPump pump_;
  Waits waits_;
  Phase phase_ = Phase::kSilent;
  bool stopped_ = false;
};

void TlsRelay::State::End(Live& live, std::optional<TlsRefusal> why) {
  const std::shared_ptr<Live> kept = live.shared_from_this();
  live.Close();
  all.erase(live.id);
  ended({live.id, live.peer, live.caller, live.certificate.fingerprint, why});
}

TlsRelay::TlsRelay(Ended ended) : state_(std::make_unique<State>(std::move(ended))) {}
TlsRelay::~TlsRelay() = default;

void TlsRelay::Take(Connection connection) {
  // What is posted has to be copyable.
  auto shared = std::make_shared<Connection>(std::move(connection));
  state_->own.Post([state = state_.get(), shared] {
    auto live = std::make_shared<State::Live>(*state, std::move(*shared));
    state->all.emplace(live->id, live);
    live->Begin();
  });
}

void TlsRelay::Drop(uint64_t id) {
  state_->own.Post([state = state_.get(), id] {
    auto found = state->all.find(id);
    if (found != state->all.end()) state->End(*found->second, std::nullopt);
  });
}

void TlsRelay::Judge(std::shared_ptr<const TlsCredentials> credentials) {
  state_->own.Post([state = state_.get(), credentials = std::move(credentials)] {
    const auto all = state->all;  // a copy: ending one takes it out
    for (const auto& [id, live] : all) {
      const long verified = credentials->Verify(live->ssl());
      if (verified != X509_V_OK) {
        state->End(*live, RefusalOfCertificate(verified));
      } else if (credentials->Identify(live->certificate) != live->caller) {
        state->End(*live, TlsRefusal::kRoleChanged);
      }
    }
  });
}

}  // namespace kprof
