#include "tests/fakes/tls/test_authority.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>

#include "storage/base/status.h"

namespace kprof {
namespace {

constexpr int64_t kYearS = 365LL * 24 * 3600;

EvpPkeyPtr NewKey(bool weak = false) {
  EvpPkeyPtr key(weak ? EVP_RSA_gen(1024U) : EVP_EC_gen("P-256"));
  KPROF_CHECK(key != nullptr);
  return key;
}

template <typename Write>
std::string Pem(const Write& write) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  KPROF_CHECK(write(bio.get()) == 1);
  char* bytes = nullptr;
  long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

std::string PemOf(X509* certificate) {
  return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string PemOf(EVP_PKEY* key) {
  return Pem([&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  KPROF_CHECK(extension != nullptr);
  KPROF_CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

X509Ptr NewCertificate(EVP_PKEY* key, const std::string& common_name, int64_t serial, int64_t from_s, int64_t to_s) {
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), to_s);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  if (!common_name.empty()) {
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name.data()),
                               static_cast<int>(common_name.size()), -1, 0);
  }
  return certificate;
}

X509Ptr NewAuthority(EVP_PKEY* key, const std::string& name, int64_t serial) {
  X509Ptr certificate = NewCertificate(key, name, serial, -kYearS, kYearS);
  AddExtension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) : key_(NewKey()) {
  certificate_ = NewAuthority(key_.get(), name, 1);
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  KPROF_CHECK(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
  pem_ = PemOf(certificate_.get());
}

TestAuthority::TestAuthority(const std::string& name, TestAuthority& above) : key_(NewKey()) {
  certificate_ = NewAuthority(key_.get(), name, ++above.next_serial_);
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(above.certificate_.get()));
  KPROF_CHECK(X509_sign(certificate_.get(), above.key_.get(), EVP_sha256()) > 0);
  pem_ = PemOf(certificate_.get());
}

TestAuthority::~TestAuthority() = default;

TestCertificate TestAuthority::Issue(const CertificateWish& wish) {
  EvpPkeyPtr key = NewKey(wish.weak_key);
  const int64_t serial = ++next_serial_;
  X509Ptr certificate = NewCertificate(key.get(), wish.common_name, serial, wish.valid_from_s, wish.valid_for_s);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  std::string names;
  for (const std::string& name : wish.alternatives) names += (names.empty() ? "" : ",") + name;
  if (!names.empty()) AddExtension(certificate.get(), certificate_.get(), NID_subject_alt_name, names);
  if (!wish.usage.empty()) AddExtension(certificate.get(), certificate_.get(), NID_ext_key_usage, wish.usage);
  KPROF_CHECK(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0);
  return {PemOf(certificate.get()), PemOf(key.get()), serial};
}

std::string TestAuthority::RevocationList(const std::vector<int64_t>& serials, int64_t next_update_s) {
  X509CrlPtr list(X509_CRL_new());
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get()));
  ASN1_TIME* time = ASN1_TIME_new();
  X509_gmtime_adj(time, -2 * kYearS / 12);
  X509_CRL_set1_lastUpdate(list.get(), time);
  for (int64_t serial : serials) {
    X509_REVOKED* revoked = X509_REVOKED_new();
    ASN1_INTEGER* number = ASN1_INTEGER_new();
    ASN1_INTEGER_set_int64(number, serial);
    X509_REVOKED_set_serialNumber(revoked, number);
    X509_REVOKED_set_revocationDate(revoked, time);
    ASN1_INTEGER_free(number);
    KPROF_CHECK(X509_CRL_add0_revoked(list.get(), revoked) == 1);
  }
  X509_gmtime_adj(time, next_update_s);
  X509_CRL_set1_nextUpdate(list.get(), time);
  ASN1_TIME_free(time);
  KPROF_CHECK(X509_CRL_sign(list.get(), key_.get(), EVP_sha256()) > 0);
  return Pem([&](BIO* bio) { return PEM_write_bio_X509_CRL(bio, list.get()); });
}

void WritePrivate(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  KPROF_CHECK(::chmod(path.c_str(), 0600) == 0);
}

}  // namespace kprof
