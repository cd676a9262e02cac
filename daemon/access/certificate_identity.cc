#include "daemon/access/certificate_identity.h"

#include <algorithm>

namespace kprof {
namespace {

bool Matches(const CertificateRule& rule, const CertificateFacts& certificate) {
  if (!rule.fingerprint.empty()) return rule.fingerprint == certificate.fingerprint;
  if (rule.name.empty()) return false;
  return rule.name == certificate.common_name ||
         std::find(certificate.names.begin(), certificate.names.end(), rule.name) != certificate.names.end();
}

}  // namespace

Caller CallerOf(const CertificateFacts& certificate, const std::vector<CertificateRule>& rules) {
  Caller caller;
  caller.certificate = DisplayName(certificate);
  for (const CertificateRule& rule : rules) {
    if (!Matches(rule, certificate)) continue;
    caller.role = rule.role;
    caller.uid = rule.uid.value_or(kNoUid);
    caller.may_start = rule.uid.has_value();
    if (caller.may_start) caller.certificate_id = CertificateId(certificate.serial, certificate.issuer);
    // What the rule calls it: of several names the one that counted.
    if (!rule.name.empty()) caller.certificate = rule.name;
    return caller;
  }
  return caller;
}

}  // namespace kprof
