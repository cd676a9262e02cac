// The reasons why a connection over TCP was refused, as they are counted and logged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/crypto/tls_pump.h"

namespace kprof {

enum class TlsRefusal {
  kNotTls,      // plain HTTP, HTTP/2 without TLS, or any other bytes
  kOldVersion,  // TLS 1.1 or older
  kNoCommonCipher,
  kNotHttp2,  // ALPN without h2
  kNoCertificate,
  kUnknownAuthority,  // signed by no authority in client_ca
  kNotValidNow,       // expired, or not valid yet
  kRevoked,
  kNoCurrentList,   // nobody knows what is revoked: the list itself has expired
  kBadCertificate,  // not for clients, too weak, or broken in another way
  kDistrusted,      // the client ended it: it does not trust this node's certificate, or cannot use it
  kSilent,          // did not finish its handshake in time, or said nothing after it
  kHungUp,          // left in the middle of its handshake
  kCrowdedOut,      // of more handshakes at a time than there is room for, the oldest
  kFull,            // as many connections as may be
  kFullForCertificate,
  kNoRole,       // a good certificate that no rule knows; it is told so by every call
  kRoleChanged,  // a live connection: by new rules its certificate is another caller
  kOther,
};
constexpr size_t kTlsRefusals = static_cast<size_t>(TlsRefusal::kOther) + 1;

// For the metrics: "unknown_authority".
std::string_view TlsRefusalName(TlsRefusal refusal);
// For the log: what is wrong, and where to look to mend it.
std::string_view TlsRefusalText(TlsRefusal refusal);

// The reason for an answer of X509_verify_cert other than X509_V_OK.
TlsRefusal RefusalOfCertificate(long verify_result);
// The reason why a handshake broke; `verify_result` is SSL_get_verify_result's.
TlsRefusal RefusalOfHandshake(const TlsFailure& failure, long verify_result);

// Logs refusals, so that an admin can act and nobody can fill a disk: of each reason the first few at once; then, while
// more come, one line and a count each ten seconds. One thread.
class RefusalLog {
 public:
  // Logs it now, or counts it for Flush. `certificate` is the name that the client shows, empty before it has shown
  // one.
  void Add(TlsRefusal refusal, const std::string& peer, const std::string& certificate);

  // To be called every kFlushMs while `pending`: logs how many lines were left out, and allows some again.
  static constexpr int kFlushMs = 10'000;
  bool pending() const { return pending_; }
  void Flush();

 private:
  struct Reason {
    int logged = 0;  // since the last Flush
    int64_t unlogged = 0;
    std::string last_peer;
  };
  std::array<Reason, kTlsRefusals> reasons_;
  bool pending_ = false;
};

}  // namespace kprof
