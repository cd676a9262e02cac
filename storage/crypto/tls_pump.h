// Carries bytes between a TLS connection and a plain socket, both ways, so that gRPC can be handed the plain socket's
// other end while certificates stay our own business. Used by daemon and client alike.
//
// Never blocks and never waits: Step moves what can be moved now, and says what to wait for before the next. What it
// holds is bounded, kBufferBytes each way: a side that does not read stops the other one from being read, and nobody
// else. The end of one direction is passed on as such; the other goes on. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>

#include "storage/base/descriptors.h"
#include "storage/crypto/openssl_handles.h"

namespace kprof {

// How a TLS connection broke.
struct TlsFailure {
  unsigned long error = 0;  // OpenSSL's, of which ERR_GET_REASON tells an alert of the peer's
  int system_error = 0;     // errno, where the connection broke below TLS
  // Takes what OpenSSL's queue of this thread has of the call that returned `result`; call it right after that.
  static TlsFailure Take(const SSL* ssl, int result);
  bool any() const { return error != 0 || system_error != 0; }
};

class TlsPump {
 public:
  static constexpr size_t kBufferBytes = 16 << 10;  // the most that a TLS record holds

  // What has to happen before Step can do more. Nothing at all of it: done().
  struct Wants {
    bool tls_read = false;
    bool tls_write = false;
    bool plain_read = false;
    bool plain_write = false;
    bool more = false;  // nothing: there was just enough for one step, and others shall have their turn
  };

  // `ssl` has shaken hands on `tls`; both sockets do not block. SIGPIPE must be blocked or ignored.
  TlsPump(SslPtr ssl, UniqueFd tls, UniqueFd plain);
  TlsPump(const TlsPump&) = delete;
  TlsPump& operator=(const TlsPump&) = delete;

  Wants Step();

  // Tells the peer that this is the end, if it can be told at once, and ends.
  void Close();

  bool done() const { return done_; }
  // Something has come in over TLS.
  bool heard() const { return heard_; }
  // The plain side has ended: what remains is for the peer to take what is on its way, to be told, and to end, too. It
  // may not; whoever drives this sets a limit.
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
  // Of an SSL call that returned `result`: true when it only has to wait.
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
