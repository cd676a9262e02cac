#include "daemon/net/tls_handshake.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace kprof {
namespace {

using boost::asio::posix::stream_descriptor;

// What a refused client may still have on its way: its certificates and a request. Closing before it is read would make
// the system reset the connection, and the client would never see the alert that tells it why.
constexpr size_t kDiscardLimitBytes = 64 << 10;
constexpr std::chrono::seconds kHandshakeLinger{2};

}  // namespace

TlsHandshake::TlsHandshake(boost::asio::io_context& context, UniqueFd socket, PeerAddress peer,
                           std::shared_ptr<const TlsCredentials> credentials)
    : socket_(context, socket.Release()),
      timer_(context),
      peer_(std::move(peer)),
      credentials_(std::move(credentials)) {}

TlsHandshake::~TlsHandshake() = default;

void TlsHandshake::Begin(Done done) {
  done_ = std::move(done);
  ssl_ = credentials_->NewConnection(socket_.native_handle());
  timer_.expires_after(kLimit);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->over_) self->Finish(false);
  });
  if (ssl_ == nullptr) {
    refusal_ = TlsRefusal::kOther;
    return Finish(false);
  }
  Advance();
}

void TlsHandshake::Drop() {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void TlsHandshake::Advance() {
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Finish(true);
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return WaitFor(stream_descriptor::wait_read, &TlsHandshake::Advance);
    case SSL_ERROR_WANT_WRITE:
      return WaitFor(stream_descriptor::wait_write, &TlsHandshake::Advance);
    default:
      const TlsFailure failure = TlsFailure::Take(ssl_.get(), result);
      return BeginToLeave(RefusalOfHandshake(failure, SSL_get_verify_result(ssl_.get())));
  }
}

void TlsHandshake::WaitFor(stream_descriptor::wait_type what, Handler then) {
  socket_.async_wait(what, [self = shared_from_this(), then](const boost::system::error_code& error) {
    if (!error && !self->over_) (self.get()->*then)();
  });
}

// The alert is on its way.
void TlsHandshake::BeginToLeave(TlsRefusal refusal) {
  refusal_ = refusal;
  ::shutdown(socket_.native_handle(), SHUT_WR);
  timer_.expires_after(kHandshakeLinger);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->over_) self->Finish(false);
  });
  Discard();
}

void TlsHandshake::Discard() {
  char bytes[4096];
  while (true) {
    const ssize_t size = ::recv(socket_.native_handle(), bytes, sizeof bytes, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return WaitFor(stream_descriptor::wait_read, &TlsHandshake::Discard);
    }
    if (size <= 0) return Finish(false);
    discarded_bytes_ += static_cast<size_t>(size);
    if (discarded_bytes_ > kDiscardLimitBytes) return Finish(false);
  }
}

void TlsHandshake::Finish(bool admitted) {
  over_ = true;
  timer_.cancel();
  Outcome outcome;
  outcome.socket = UniqueFd(socket_.release());
  outcome.refusal = refusal_;
  if (admitted) outcome.ssl = std::move(ssl_);
  // It may let go of us.
  Done done = std::move(done_);
  done(std::move(outcome));
}

}  // namespace kprof
