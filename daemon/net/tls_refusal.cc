#include "daemon/net/tls_refusal.h"

#include <openssl/err.h>
#include <openssl/tls1.h>

#include <iterator>

#include "daemon/base/log.h"

namespace kprof {
namespace {

struct Row {
  TlsRefusal refusal;
  std::string_view name;
  std::string_view text;
};

constexpr Row kRows[] = {
    {TlsRefusal::kNotTls, "not_tls", "what came is not TLS; clients need kprofctl --node, or another gRPC over TLS"},
    {TlsRefusal::kOldVersion, "old_version", "the client speaks no TLS 1.2 or newer"},
    {TlsRefusal::kNoCommonCipher, "no_common_cipher", "the client has none of the ciphers that HTTP/2 allows"},
    {TlsRefusal::kNotHttp2, "not_http2", "the client does not ask for HTTP/2 (ALPN h2)"},
    {TlsRefusal::kNoCertificate, "no_certificate", "the client shows no certificate"},
    {TlsRefusal::kUnknownAuthority, "unknown_authority",
     "no authority in client_ca has signed the client's certificate"},
    {TlsRefusal::kNotValidNow, "not_valid_now", "the client's certificate has expired, or is not valid yet"},
    {TlsRefusal::kRevoked, "revoked", "the client's certificate is revoked"},
    {TlsRefusal::kNoCurrentList, "no_current_list",
     "the revocation list has expired; put a new one in its place, then reload"},
    {TlsRefusal::kBadCertificate, "bad_certificate", "the client's certificate is no good for a client"},
    {TlsRefusal::kDistrusted, "distrusted",
     "the client ended the handshake: see what it says, and this node's certificate"},
    {TlsRefusal::kSilent, "silent", "the client kept silent"},
    {TlsRefusal::kHungUp, "hung_up", "the client hung up during its handshake"},
    {TlsRefusal::kCrowdedOut, "crowded_out", "more handshakes at a time than there is room for"},
    {TlsRefusal::kFull, "full", "there are max_connections already"},
    {TlsRefusal::kFullForCertificate, "full_for_certificate",
     "there are max_connections_per_certificate of it already"},
    {TlsRefusal::kNoRole, "no_role", "no [[certificate]] rule matches"},
    {TlsRefusal::kRoleChanged, "role_changed", "new rules make another caller of the certificate; connect again"},
    {TlsRefusal::kOther, "other", "the handshake failed"},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].refusal) != i) return false;
  }
  return std::size(kRows) == kTlsRefusals;
}
static_assert(InOrder());

}  // namespace

std::string_view TlsRefusalName(TlsRefusal refusal) {
  return kRows[static_cast<size_t>(refusal)].name;
}

std::string_view TlsRefusalText(TlsRefusal refusal) {
  return kRows[static_cast<size_t>(refusal)].text;
}

TlsRefusal RefusalOfCertificate(long verify_result) {
  switch (verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return TlsRefusal::kNotValidNow;
    case X509_V_ERR_CERT_REVOKED:
      return TlsRefusal::kRevoked;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
      return TlsRefusal::kNoCurrentList;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return TlsRefusal::kUnknownAuthority;
    default:
      return TlsRefusal::kBadCertificate;
  }
}

TlsRefusal RefusalOfHandshake(const TlsFailure& failure, long verify_result) {
  if (verify_result != X509_V_OK) return RefusalOfCertificate(verify_result);
  const int reason = failure.error == 0 ? 0 : ERR_GET_REASON(failure.error);
  if (reason >= SSL_AD_REASON_OFFSET) return TlsRefusal::kDistrusted;
  switch (reason) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_LENGTH_MISMATCH:
    case SSL_R_UNEXPECTED_MESSAGE:
      return TlsRefusal::kNotTls;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
      return TlsRefusal::kOldVersion;
    case SSL_R_NO_SHARED_CIPHER:
      return TlsRefusal::kNoCommonCipher;
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_CALLBACK_FAILED:
      return TlsRefusal::kNotHttp2;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return TlsRefusal::kNoCertificate;
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return TlsRefusal::kHungUp;
    default:
      return failure.system_error != 0 ? TlsRefusal::kHungUp : TlsRefusal::kOther;
  }
}

namespace {

constexpr int kLinesAtOnce = 5;

}  // namespace

void RefusalLog::Add(TlsRefusal refusal, const std::string& peer, const std::string& certificate) {
  Reason& reason = reasons_[static_cast<size_t>(refusal)];
  pending_ = true;
  if (reason.logged == kLinesAtOnce) {
    ++reason.unlogged;
    reason.last_peer = peer;
    return;
  }
  ++reason.logged;
  const std::string name(TlsRefusalName(refusal));
  const std::string text(TlsRefusalText(refusal));
  if (certificate.empty()) {
    LogWarning("refused a connection", {{"peer", peer}, {"reason", name}, {"why", text}});
  } else {
    LogWarning("refused a connection", {{"peer", peer}, {"certificate", certificate}, {"reason", name}, {"why", text}});
  }
}

void RefusalLog::Flush() {
  pending_ = false;
  for (size_t i = 0; i < kTlsRefusals; ++i) {
    Reason& reason = reasons_[i];
    if (reason.unlogged > 0) {
      const std::string name(TlsRefusalName(static_cast<TlsRefusal>(i)));
      LogWarning("refused more connections",
                 {{"reason", name}, {"count", std::to_string(reason.unlogged)}, {"last_peer", reason.last_peer}});
      // Once it is a flood, it is told of in numbers until it stops.
      reason.logged = kLinesAtOnce - 1;
      reason.unlogged = 0;
      pending_ = true;
    } else {
      reason.logged = 0;
    }
  }
}

}  // namespace kprof
