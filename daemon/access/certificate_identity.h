// Turns a certificate into a caller, by the rules of the configuration in their order. The first rule that matches
// counts; a certificate that no rule matches has no role. Functions of their arguments: the certificate was verified
// before, and names of local users became uids when the configuration was read. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "storage/crypto/openssl_handles.h"

namespace kprof {

// A certificate's statements about its owner, as plain values. Checking the certificate is tls_credentials.h. Any
// thread.
struct CertificateFacts {
  std::string common_name;         // empty when there is none, or more than one: then none of them counts
  std::vector<std::string> names;  // the alternative names of kind DNS, URI and email, as bytes
  std::string fingerprint;         // SHA-256 of the whole, lower-case hex
  std::string issuer;              // "CN = lab CA, O = lab", at most 256 bytes of it
  std::string serial;              // its number with that issuer, "1A2B", as openssl shows it
  int64_t expires_unix_s = 0;
};

CertificateFacts FactsOf(const X509* certificate);

// A certificate's identity among all, as revocation lists give it: "1A2B of CN = lab CA".
std::string CertificateId(const std::string& serial, const std::string& issuer);
std::string SerialText(const ASN1_INTEGER* serial);
std::string IssuerText(const X509_NAME* name);

// For messages and the audit: the common name, else the first other name, else the fingerprint's beginning; one short
// line of UTF-8, whatever the certificate holds.
std::string DisplayName(const CertificateFacts& facts);

// A date in a certificate or a revocation list; 0 for one that cannot be read.
int64_t UnixSecondsOf(const ASN1_TIME* time);
std::string DateText(int64_t unix_s);  // "2026-11-21T10:00:00Z"

// A rule for certificates, by fingerprint or by name; a fingerprint goes before a name. A name matches the common name
// or an alternative name of kind DNS, URI or email, byte by byte, without wildcards: the authority answers for the
// names that it gives out. A fingerprint matches one certificate alone.
struct CertificateRule {
  std::string name;
  std::string fingerprint;  // SHA-256, lower-case hex
  Role role = Role::kNone;
  std::optional<uint32_t> uid;  // its commands run as this user and are theirs; absent: it may start none
  bool operator==(const CertificateRule&) const = default;
};

Caller CallerOf(const CertificateFacts& certificate, const std::vector<CertificateRule>& rules);

}  // namespace kprof
