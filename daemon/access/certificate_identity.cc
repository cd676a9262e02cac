#include "daemon/access/certificate_identity.h"

#include <algorithm>
#include <ctime>

#include "storage/base/readable_text.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr size_t kCertificateNameLimitBytes = 128;
constexpr size_t kFingerprintShown = 16;
constexpr size_t kIssuerLimitBytes = 256;

std::string BytesOf(const ASN1_STRING* text) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

// In whatever of ASN.1's alphabets it was written.
std::string Utf8Of(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) return "";
  std::string utf8(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return utf8;
}

std::string CommonName(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) return "";
  return Utf8Of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
}

std::vector<std::string> AlternativeNames(const X509* certificate) {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL) {
      names.push_back(BytesOf(name->d.ia5));
    }
  }
  GENERAL_NAMES_free(all);
  return names;
}

std::string Fingerprint(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size < 0) return "";
  std::string fingerprint = Sha256Of(std::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return fingerprint;
}

}  // namespace

std::string IssuerText(const X509_NAME* name) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_ONELINE);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return ClippedText(std::string(bytes, static_cast<size_t>(std::max(0L, size))), kIssuerLimitBytes);
}

std::string SerialText(const ASN1_INTEGER* serial) {
  BIGNUM* number = ASN1_INTEGER_to_BN(serial, nullptr);
  char* hex = number == nullptr ? nullptr : BN_bn2hex(number);
  std::string text = hex == nullptr ? "" : hex;
  OPENSSL_free(hex);
  BN_free(number);
  return text;
}

std::string CertificateId(const std::string& serial, const std::string& issuer) {
  return serial + " of " + issuer;
}

CertificateFacts FactsOf(const X509* certificate) {
  CertificateFacts facts;
  facts.common_name = CommonName(certificate);
  facts.names = AlternativeNames(certificate);
  facts.fingerprint = Fingerprint(certificate);
  facts.issuer = IssuerText(X509_get_issuer_name(certificate));
  facts.serial = SerialText(X509_get0_serialNumber(certificate));
  facts.expires_unix_s = UnixSecondsOf(X509_get0_notAfter(certificate));
  return facts;
}

std::string DisplayName(const CertificateFacts& facts) {
  std::string name = facts.common_name;
  if (name.empty() && !facts.names.empty()) name = facts.names.front();
  if (name.empty()) name = "sha256:" + facts.fingerprint.substr(0, kFingerprintShown);
  auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::replace_if(name.begin(), name.end(), is_control, '?');
  return ClippedText(name, kCertificateNameLimitBytes);
}

int64_t UnixSecondsOf(const ASN1_TIME* time) {
  std::tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return 0;
  return ::timegm(&utc);
}

std::string DateText(int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

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
    // The rule names the certificate: of several names, the one that counted.
    if (!rule.name.empty()) caller.certificate = rule.name;
    return caller;
  }
  return caller;
}

}  // namespace kprof
