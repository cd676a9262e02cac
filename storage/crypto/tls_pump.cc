#include "storage/crypto/tls_pump.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "storage/base/status.h"

namespace kprof {
namespace {

// Records each way in one step: 64 KiB, well under a millisecond.
constexpr int kMovesPerStep = 4;

bool WouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

TlsFailure TlsFailure::Take(const SSL* ssl, int result) {
  TlsFailure failure;
  const int system_error = errno;
  const int kind = SSL_get_error(ssl, result);
  if (kind == SSL_ERROR_SYSCALL) failure.system_error = system_error != 0 ? system_error : ECONNRESET;
  failure.error = ERR_peek_last_error();
  if (!failure.any()) failure.system_error = ECONNRESET;
  ERR_clear_error();
  return failure;
}

TlsPump::TlsPump(SslPtr ssl, UniqueFd tls, UniqueFd plain)
    : tls_(std::move(tls)), plain_(std::move(plain)), ssl_(std::move(ssl)) {
  SSL_set_mode(ssl_.get(),
               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

TlsPump::Wants TlsPump::Step() {
  Wants wants;
  bool moved = true;
  for (int moves = 0; moved && !done_ && moves < kMovesPerStep; ++moves) {
    wants = Wants();
    // Writing first makes the room that reading needs.
    moved = WritePlain(wants);
    moved |= ReadTls(wants);
    moved |= WriteTls(wants);
    moved |= ReadPlain(wants);
    moved |= TellPeer(wants);
    if (in_passed_ && told_) done_ = true;
  }
  if (done_) return Wants();
  if (moved) {
    wants = Wants();
    wants.more = true;
  }
  return wants;
}

bool TlsPump::ReadTls(Wants& wants) {
  if (done_ || in_ended_ || !in_.empty()) return false;
  ERR_clear_error();
  errno = 0;
  const int size = SSL_read(ssl_.get(), in_.bytes.get(), kBufferBytes);
  if (size > 0) {
    heard_ = true;
    in_.begin = 0;
    in_.end = plain_gone_ ? 0 : static_cast<size_t>(size);
    return true;
  }
  if (MustWait(size, wants)) return false;
  if (SSL_get_error(ssl_.get(), size) == SSL_ERROR_ZERO_RETURN) {
    in_ended_ = true;
    return true;
  }
  TlsFailure failure = TlsFailure::Take(ssl_.get(), size);
  // A peer that hangs up without a word has ended, too: HTTP/2 knows by itself whether it had all.
  if (ERR_GET_REASON(failure.error) == SSL_R_UNEXPECTED_EOF_WHILE_READING && told_) failure = {};
  Break(failure);
  return false;
}

bool TlsPump::WritePlain(Wants& wants) {
  if (done_) return false;
  if (in_.empty()) {
    if (!in_ended_ || in_passed_) return false;
    ::shutdown(plain_.get(), SHUT_WR);
    in_passed_ = true;
    return true;
  }
  const ssize_t size = ::send(plain_.get(), in_.bytes.get() + in_.begin, in_.end - in_.begin, MSG_NOSIGNAL);
  if (size > 0) {
    in_.begin += static_cast<size_t>(size);
    return true;
  }
  if (size < 0 && errno == EINTR) return true;
  if (size < 0 && WouldBlock(errno)) {
    wants.plain_write = true;
    return false;
  }
  plain_gone_ = true;
  in_.begin = in_.end = 0;
  return true;
}

bool TlsPump::ReadPlain(Wants& wants) {
  if (done_ || out_ended_ || !out_.empty()) return false;
  const ssize_t size = ::recv(plain_.get(), out_.bytes.get(), kBufferBytes, 0);
  if (size > 0) {
    out_.begin = 0;
    out_.end = static_cast<size_t>(size);
    return true;
  }
  if (size < 0 && errno == EINTR) return true;
  if (size < 0 && WouldBlock(errno)) {
    wants.plain_read = true;
    return false;
  }
  out_ended_ = true;
  return true;
}

bool TlsPump::WriteTls(Wants& wants) {
  if (done_ || out_.empty()) return false;
  ERR_clear_error();
  errno = 0;
  const int size = SSL_write(ssl_.get(), out_.bytes.get() + out_.begin, static_cast<int>(out_.end - out_.begin));
  if (size > 0) {
    out_.begin += static_cast<size_t>(size);
    return true;
  }
  if (MustWait(size, wants)) return false;
  Break(TlsFailure::Take(ssl_.get(), size));
  return false;
}

// Once all that the plain side had to say is on its way.
bool TlsPump::TellPeer(Wants& wants) {
  if (done_ || !out_ended_ || !out_.empty() || told_) return false;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_shutdown(ssl_.get());
  if (result < 0 && MustWait(result, wants)) return false;
  ::shutdown(tls_.get(), SHUT_WR);
  told_ = true;
  return true;
}

bool TlsPump::MustWait(int result, Wants& wants) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      wants.tls_read = true;
      return true;
    case SSL_ERROR_WANT_WRITE:
      wants.tls_write = true;
      return true;
    default:
      return false;
  }
}

void TlsPump::Break(const TlsFailure& failure) {
  failure_ = failure;
  done_ = true;
}

void TlsPump::Close() {
  if (!done_ && !told_) {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  done_ = true;
}

}  // namespace kprof
