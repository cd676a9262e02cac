#include "daemon/access/certificate_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include <ctime>

#include "tests/fakes/tls/test_authority.h"

namespace kprof {
namespace {

CertificateFacts FactsOfPem(const std::string& pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  return FactsOf(certificate.get());
}

CertificateFacts Named(const std::string& common_name, std::vector<std::string> names = {}) {
  CertificateFacts facts;
  facts.common_name = common_name;
  facts.names = std::move(names);
  facts.fingerprint = std::string(64, 'a');
  return facts;
}

TEST(CertificateRules, ReadsWhatACertificateSays) {
  TestAuthority authority("lab CA");
  CertificateWish wish;
  wish.common_name = "ci-runner";
  wish.alternatives = {"DNS:ci.lab", "URI:spiffe://lab/ci", "email:ci@lab", "IP:127.0.0.1"};
  const CertificateFacts facts = FactsOfPem(authority.Issue(wish).pem);
  EXPECT_EQ(facts.common_name, "ci-runner");
  EXPECT_THAT(facts.names, testing::ElementsAre("ci.lab", "spiffe://lab/ci", "ci@lab"));
  EXPECT_EQ(facts.fingerprint.size(), 64u);
  EXPECT_EQ(facts.issuer, "CN = lab CA");
  EXPECT_EQ(facts.serial, "03E9");
  EXPECT_GT(facts.expires_unix_s, std::time(nullptr));
}

TEST(CertificateRules, TheFirstRuleThatMatchesCounts) {
  const std::vector<CertificateRule> rules = {{.name = "other", .role = Role::kAdmin},
                                              {.name = "ci", .role = Role::kViewer, .uid = 1001},
                                              {.name = "ci", .role = Role::kAdmin}};
  const Caller caller = CallerOf(Named("ci"), rules);
  EXPECT_EQ(caller.role, Role::kViewer);
  EXPECT_EQ(caller.uid, 1001u);
  EXPECT_TRUE(caller.may_start);
  EXPECT_EQ(caller.certificate, "ci");
}

TEST(CertificateRules, WithoutALocalUserItMayStartNothingAndIsNobodyHere) {
  const Caller caller = CallerOf(Named("ops"), {{.name = "ops", .role = Role::kOperator}});
  EXPECT_EQ(caller.role, Role::kOperator);
  EXPECT_EQ(caller.uid, kNoUid);
  EXPECT_FALSE(caller.may_start);
}

TEST(CertificateRules, ANameIsAnyThatTheCertificateHasByteByByte) {
  const std::vector<CertificateRule> rules = {{.name = "ci.lab", .role = Role::kViewer}};
  EXPECT_EQ(CallerOf(Named("ci.lab"), rules).role, Role::kViewer);
  EXPECT_EQ(CallerOf(Named("x", {"y", "ci.lab"}), rules).role, Role::kViewer);
  EXPECT_EQ(CallerOf(Named("x", {"y", "ci.lab"}), rules).certificate, "ci.lab");
  for (const char* other : {"CI.lab", "ci.lab.", "*.lab", "ci.la", "xci.lab", ""}) {
    EXPECT_EQ(CallerOf(Named(other, {other}), rules).role, Role::kNone) << other;
  }
  EXPECT_EQ(CallerOf(Named(std::string("ci.lab\0.evil", 12)), rules).role, Role::kNone);
}

TEST(CertificateRules, AFingerprintIsOfOneCertificateAlone) {
  const std::vector<CertificateRule> rules = {{.fingerprint = std::string(64, 'a'), .role = Role::kAdmin}};
  EXPECT_EQ(CallerOf(Named("x"), rules).role, Role::kAdmin);
  CertificateFacts other = Named("x");
  other.fingerprint.back() = 'b';
  EXPECT_EQ(CallerOf(other, rules).role, Role::kNone);
}

TEST(CertificateRules, WhomNoRuleKnowsHasNoRoleButAName) {
  const Caller caller = CallerOf(Named("stranger"), {{.name = "ci", .role = Role::kViewer, .uid = 1001}});
  EXPECT_EQ(caller.role, Role::kNone);
  EXPECT_EQ(caller.uid, kNoUid);
  EXPECT_FALSE(caller.may_start);
  EXPECT_EQ(caller.certificate, "stranger");
}

TEST(CertificateRules, TwoCommonNamesCountAsNone) {
  EvpPkeyPtr key(EVP_EC_gen("P-256"));
  X509Ptr certificate(X509_new());
  for (const char* name : {"first", "second"}) {
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  }
  X509_set_pubkey(certificate.get(), key.get());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 60);
  ASSERT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  EXPECT_EQ(FactsOf(certificate.get()).common_name, "");
}

TEST(CertificateRules, AShownNameIsOneShortLine) {
  EXPECT_EQ(DisplayName(Named("a\nb")), "a?b");
  EXPECT_LE(DisplayName(Named(std::string(5000, 'x'))).size(), 200u);
  EXPECT_EQ(DisplayName(Named("", {"dns"})), "dns");
  EXPECT_EQ(DisplayName(Named("")), "sha256:aaaaaaaaaaaaaaaa");
}

}  // namespace
}  // namespace kprof
