// What the node shows to those who connect over TLS, and by what it judges them: its certificate and key, the
// authorities of client certificates, what those have revoked, and the rules by which a certificate becomes a caller.
// Read once and never changed: a reload makes another one (tls_acceptor.h), and connections keep the one they began
// with as long as they need it.
//
// TLS 1.3, or 1.2 with what HTTP/2 leaves of its ciphers: forward secret, authenticated. No renegotiation, no
// compression; no sessions and no tickets, which would carry a connection past a revocation: every connection shows its
// certificate. HTTP/2 must be asked for (ALPN): a server that is taken for one of another protocol is half an attack.
//
// Load reads files and blocks. All else: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/access/certificate_identity.h"
#include "storage/base/status.h"
#include "storage/crypto/openssl_handles.h"

namespace kprof {

// Says in time that something will not hold for ever: of each thing once when 30 days are left, when 7 are, when 1 is,
// and when it has expired. One thread at a time.
struct Expiry {
  std::string what;  // "the certificate FILE"
  int64_t unix_s = 0;
};

struct ExpiryWarning {
  Expiry expiry;
  int64_t days_left = 0;  // whole ones; negative: it has expired
};

class ExpiryWarnings {
 public:
  // What is to be said now, and was not before. What is not in `all` any more is forgotten.
  std::vector<ExpiryWarning> TakeDue(const std::vector<Expiry>& all, int64_t now_unix_s);

 private:
  std::map<std::pair<std::string, int64_t>, int> said_;  // what and when -> how many of the limits were passed then
};

// All PEM. Paths of `certificate` (with what is between it and its root), its `key`, the root certificates of clients,
// and, where `revoked` is not empty, one list of each authority in `client_ca`.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string revoked;
  bool operator==(const TlsFiles&) const = default;
};

class TlsCredentials {
 public:
  // Fails with kUsage, naming the file, for what can never work: an unreadable file, a key that belongs to another
  // certificate, has a passphrase or may be read by everybody, an authority that is none or has no root, a list that is
  // missing or that no authority here has signed.
  static Result<std::shared_ptr<const TlsCredentials>> Load(const TlsFiles& files, std::vector<CertificateRule> rules);

  // Fails with kUsage for what works at another time: a certificate that is not valid yet or any more, or a revocation
  // list whose successor is due, without which no client gets in.
  Status CheckInForce(int64_t unix_s) const;

  // When what is here expires: each certificate, authority and revocation list.
  std::vector<Expiry> Expiries() const;

  // The server's side of a new connection on this socket, which must outlive it.
  SslPtr NewConnection(int socket) const;

  // Of a connection that has shaken hands, maybe under other credentials: X509_V_OK, or why its certificate does not
  // hold by what is here.
  long Verify(const SSL* connection) const;
  // Whether one of the lists has this certificate (CertificateId), also of one that nobody shows at the moment. Says
  // nothing of those whose authority is revoked.
  bool HasRevoked(const std::string& certificate_id) const { return revoked_.contains(certificate_id); }
  // Whom it brings: by the first rule that matches. Says nothing of whether the certificate holds.
  Caller Identify(const CertificateFacts& certificate) const { return CallerOf(certificate, rules_); }

 private:
  struct Dated {
    std::string what;  // "the certificate FILE"
    int64_t from_unix_s = 0;
    int64_t to_unix_s = 0;
  };

  explicit TlsCredentials(std::vector<CertificateRule> rules) : rules_(std::move(rules)) {}
  Status LoadOwn(const TlsFiles& files);
  Status LoadAuthorities(const TlsFiles& files);
  Status LoadRevoked(const TlsFiles& files);
  void NoteRevoked(X509_CRL* list);
  void NoteDates(std::string what, const ASN1_TIME* from, const ASN1_TIME* to);

  const std::vector<CertificateRule> rules_;
  SslContextPtr context_;
  std::vector<X509Ptr> authorities_;
  std::set<std::string> revoked_;  // by CertificateId
  std::vector<Dated> dated_;
};

}  // namespace kprof
