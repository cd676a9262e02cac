// The credentials of this node for TLS: its own certificate and key, the authorities of client certificates, their
// revocation lists, and the rules by which a certificate becomes a caller. Read once and never changed: a reload makes
// another object (tls_acceptor.h), and a connection keeps the one that it began with as long as it needs it.
//
// TLS 1.3, or 1.2 with the ciphers that HTTP/2 allows: forward secret, authenticated. No renegotiation, no compression;
// no sessions and no tickets, as these would carry a connection past a revocation: every connection shows its
// certificate. A client must ask for HTTP/2 (ALPN): a server that can be taken for one of another protocol is half an
// attack.
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

// A thing that expires.
struct Expiry {
  std::string what;  // "the certificate FILE"
  int64_t unix_s = 0;
};

struct ExpiryWarning {
  Expiry expiry;
  int64_t days_left = 0;  // whole ones; negative: it has expired
};

// Warns of things that will expire: of each once when 30 days are left, when 7 are, when 1 is, and when it has expired.
// One thread at a time.
class ExpiryWarnings {
 public:
  // The warnings that are due now and were not given before. Forgets things that are no longer in `all`.
  std::vector<ExpiryWarning> TakeDue(const std::vector<Expiry>& all, int64_t now_unix_s);

 private:
  std::map<std::pair<std::string, int64_t>, int> said_;  // thing and date -> how many of the limits were passed
};

// Paths of PEM files: `certificate` with the chain between it and its root, its `key`, the root certificates of
// clients, and, where `revoked` is not empty, one list of each authority in `client_ca`.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string revoked;
  bool operator==(const TlsFiles&) const = default;
};

class TlsCredentials {
 public:
  // Fails with kUsage, naming the file, for files that can never work: one that cannot be read, a key that belongs to
  // another certificate, has a passphrase or may be read by everybody, a client_ca without a root or with a certificate
  // of no authority, a list that is missing or that no authority here has signed.
  static Result<std::shared_ptr<const TlsCredentials>> Load(const TlsFiles& files, std::vector<CertificateRule> rules);

  // Fails with kUsage for files that do not work at this time: a certificate that is not valid yet or any more, or an
  // expired revocation list, without which no client gets in.
  Status CheckInForce(int64_t unix_s) const;

  // The certificates, authorities and revocation lists here, and when each expires.
  std::vector<Expiry> Expiries() const;

  // The server's side of a new connection on this socket, which must outlive it.
  SslPtr NewConnection(int socket) const;

  // Checks a connection that has shaken hands, maybe under other credentials: X509_V_OK, or why its certificate does
  // not hold under these.
  long Verify(const SSL* connection) const;
  // True if a revocation list here has this certificate (CertificateId); no connection needs to show it. Says nothing
  // of certificates whose authority is revoked.
  bool HasRevoked(const std::string& certificate_id) const { return revoked_.contains(certificate_id); }
  // The caller that this certificate makes, by the first rule that matches. Does not check whether it holds.
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
