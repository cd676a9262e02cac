// Carries bytes between a TLS connection and a plain socket, both ways, so that gRPC can be handed the plain socket's
// other end while certificates stay our own business. Used by daemon and client alike.
//
// Never blocks and never waits: Step moves the bytes that can be moved now, and says what to wait for before the next.
// Holds at most kBufferBytes each way: a side that does not read stops only the reading from the other side. The end of
// one direction is passed on as such; the other goes on. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>

#include "storage/base/descriptors.h"
#include "storage/crypto/openssl_handles.h"

namespace kprof {

// How a TLS connection broke.
struct TlsFailure {
  unsigned long error = 0;  // OpenSSL's; ERR_GET_REASON of it tells an alert from the peer
  int system_error = 0;     // errno, where the connection broke below TLS
  // Takes the errors of the call that returned `result` from OpenSSL's queue of this thread; call it right after that
  // call.
  static TlsFailure Take(const SSL* ssl, int result);
  bool any() const { return error != 0 || system_error != 0; }
};

class TlsPump {
 public:
  static constexpr size_t kBufferBytes = 16 << 10;  // the most that a TLS record holds

  // The events that Step waits for before it can do more. None, and `more` is false: done().
  struct Wants {
    bool tls_read = false;
    bool tls_write = false;
    bool plain_read = false;
    bool plain_write = false;
    bool more = false;  // no event: this was enough for one step, and others get their turn
  };

  // `ssl` has shaken hands on `tls`; both sockets do not block. SIGPIPE must be blocked or ignored.
  TlsPump(SslPtr ssl, UniqueFd tls, UniqueFd plain);
  TlsPump(const TlsPump&) = delete;
  TlsPump& operator=(const TlsPump&) = delete;

  Wants Step();

  // Tells the peer of the end, if that can be done at once, and ends.
  void Close();

  bool done() const { return done_; }
  // Something has come in over TLS.
  bool heard() const { return heard_; }
  // The plain side has ended. The peer still has to take the bytes on their way, hear of the end, and end as well. It
  // may never do so: the caller sets a limit.
  bool lingers() const { return out_ended_ && !done_; }
  const TlsFailure& failure() const { return failure_; }
  SSL* ssl() const { return ssl_.get(); }
  int tls_fd() const { return tls_.get(); }
  int plain_fd() const { return plain_.get(); }

 private:
  // Bytes on their way in one direction.
  struct Buffer {
    std::unique_ptr<char[]> bytes{new char[kBufferBytes]};
    size_t begin = 0;
    size_t end = 0;
    bool empty() const { return begin == end; }
  };
  // Each does one move; false when it can do none, having said in `wants` what it waits for.
  bool ReadTls(Wants& wants);
  bool WritePlain(Wants& wants);
  bool ReadPlain(Wants& wants);
  bool WriteTls(Wants& wants);
  bool TellPeer(Wants& wants);
  // True if an SSL call that returned `result` only has to wait; notes in `wants` for what.
  bool MustWait(int result, Wants& wants);
  void Break(const TlsFailure& failure);

  // The sockets outlive the SSL that uses one of them.
  const UniqueFd tls_;
  const UniqueFd plain_;
  const SslPtr ssl_;
  Buffer in_;   // from TLS to plain
  Buffer out_;  // from plain to TLS
  bool heard_ = false;
  bool in_ended_ = false;    // the peer sends no more
  bool in_passed_ = false;   // and the plain side knows
  bool out_ended_ = false;   // the plain side sends no more
  bool told_ = false;        // and the peer knows
  bool plain_gone_ = false;  // nobody reads there: what comes in is dropped
  bool done_ = false;
  TlsFailure failure_;
};

}  // namespace kprof
