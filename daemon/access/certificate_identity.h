// Whom a certificate makes: the rules of the configuration, in their order; the first that matches counts, and a
// certificate that none matches has no role. Functions of their arguments: the certificate was verified before, and the
// names of local users became uids when the configuration was read. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/access/certificate_facts.h"

namespace kprof {

// By one of both. A name is the common name or one of the alternative names of kind DNS, URI and email, byte by byte:
// no wildcards, and whoever runs the authority answers for what it lets somebody be called. A fingerprint is of one
// certificate alone.
struct CertificateRule {
  std::string name;
  std::string fingerprint;  // SHA-256, lower-case hex
  Role role = Role::kNone;
  std::optional<uint32_t> uid;  // who its commands run as, and owns them; absent: it may start none
  bool operator==(const CertificateRule&) const = default;
};

Caller CallerOf(const CertificateFacts& certificate, const std::vector<CertificateRule>& rules);

}  // namespace kprof
