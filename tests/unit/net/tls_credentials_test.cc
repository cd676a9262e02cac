#include "daemon/net/tls_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <ctime>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/tls/test_authority.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class TlsCredentialsTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  TestAuthority authority_{"lab CA"};
  TestCertificate own_ = authority_.Issue({.common_name = "node", .alternatives = {"DNS:node"}, .usage = "serverAuth"});
  TlsFiles files_{folder_ / "cert.pem", folder_ / "key.pem", folder_ / "ca.pem", ""};

  void SetUp() override {
    WritePrivate(files_.certificate, own_.pem);
    WritePrivate(files_.key, own_.key_pem);
    WritePrivate(files_.client_ca, authority_.pem());
  }
  void Revoke(const std::string& lists) {
    files_.revoked = folder_ / "crl.pem";
    WritePrivate(files_.revoked, lists);
  }
  Status Load() { return TlsCredentials::Load(files_, {}).status(); }
  void ExpectRefused(const std::string& file, const std::string& why) {
    const Status status = Load();
    EXPECT_EQ(status.code(), ErrorCode::kUsage);
    EXPECT_THAT(status.ToString(), HasSubstr(file));
    EXPECT_THAT(status.ToString(), HasSubstr(why));
  }
};

TEST_F(TlsCredentialsTest, TakesFilesThatBelongTogether) {
  EXPECT_TRUE(Load().ok()) << Load().ToString();
  Revoke(authority_.RevocationList({}));
  EXPECT_TRUE(Load().ok()) << Load().ToString();
}

TEST_F(TlsCredentialsTest, KnowsWhatIsRevokedAlsoOfThoseWhoDoNotConnect) {
  const TestCertificate good = authority_.Issue({.common_name = "ci"});
  const TestCertificate bad = authority_.Issue({.common_name = "ci"});
  Revoke(authority_.RevocationList({bad.serial}));
  const auto credentials = TlsCredentials::Load(files_, {{.name = "ci", .role = Role::kViewer, .uid = 1000}});
  ASSERT_TRUE(credentials.ok());
  auto id_of = [&](const TestCertificate& certificate) {
    BioPtr bio(BIO_new_mem_buf(certificate.pem.data(), static_cast<int>(certificate.pem.size())));
    const X509Ptr parsed(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    return (*credentials)->Identify(FactsOf(parsed.get())).certificate_id;
  };
  EXPECT_TRUE((*credentials)->HasRevoked(id_of(bad))) << id_of(bad);
  EXPECT_FALSE((*credentials)->HasRevoked(id_of(good)));
  EXPECT_FALSE((*credentials)->HasRevoked(""));
}

TEST_F(TlsCredentialsTest, SaysWhichFileIsMissingOrIsNone) {
  for (std::string TlsFiles::*file : {&TlsFiles::certificate, &TlsFiles::key, &TlsFiles::client_ca}) {
    const TlsFiles whole = files_;
    files_.*file = folder_ / "absent.pem";
    ExpectRefused("absent.pem", "No such file");
    files_.*file = folder_.path();
    ExpectRefused(folder_.path(), "no regular file");
    files_.*file = folder_ / "text.pem";
    WritePrivate(folder_ / "text.pem", "hello\n");
    ExpectRefused("text.pem", "holds no");
    files_ = whole;
  }
}

TEST_F(TlsCredentialsTest, RefusesABrokenCertificateAmongGoodOnes) {
  WritePrivate(files_.client_ca, authority_.pem() + authority_.pem().substr(0, 200) + "\n-----END CERTIFICATE-----\n");
  ExpectRefused("ca.pem", "broken certificate");
}

TEST_F(TlsCredentialsTest, RefusesAKeyThatEverybodyMayUse) {
  for (mode_t mode : {0644, 0604, 0620, 0602}) {
    ASSERT_EQ(::chmod(files_.key.c_str(), mode), 0);
    ExpectRefused("key.pem", "chmod 0600");
  }
  ASSERT_EQ(::chmod(files_.key.c_str(), 0640), 0);
  EXPECT_TRUE(Load().ok());
}

TEST_F(TlsCredentialsTest, RefusesTheKeyOfAnotherCertificate) {
  WritePrivate(files_.key, authority_.Issue({.common_name = "x"}).key_pem);
  ExpectRefused("key.pem", "is not the key of");
}

TEST_F(TlsCredentialsTest, RefusesAKeyWithAPassphraseAndDoesNotAskForIt) {
  BioPtr in(BIO_new_mem_buf(own_.key_pem.data(), -1));
  EvpPkeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  BioPtr out(BIO_new_file(files_.key.c_str(), "w"));
  const char passphrase[] = "secret";
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(), passphrase, 6, nullptr, nullptr), 1);
  out.reset();
  ExpectRefused("key.pem", "passphrase");
}

TEST_F(TlsCredentialsTest, RefusesACertificateThatIsNoServers) {
  TestCertificate client = authority_.Issue({.common_name = "x", .usage = "clientAuth"});
  WritePrivate(files_.certificate, client.pem);
  WritePrivate(files_.key, client.key_pem);
  ExpectRefused("cert.pem", "serverAuth");
}

TEST_F(TlsCredentialsTest, RefusesAnAuthorityThatIsNone) {
  WritePrivate(files_.client_ca, authority_.pem() + own_.pem);
  ExpectRefused("ca.pem", "holds node, which is no authority");
}

TEST_F(TlsCredentialsTest, WantsARoot) {
  TestAuthority below("below", authority_);
  WritePrivate(files_.client_ca, below.pem());
  ExpectRefused("ca.pem", "no root");
  WritePrivate(files_.client_ca, below.pem() + authority_.pem());
  EXPECT_TRUE(Load().ok());
}

TEST_F(TlsCredentialsTest, WantsAListOfEachAuthority) {
  TestAuthority below("below", authority_);
  WritePrivate(files_.client_ca, below.pem() + authority_.pem());
  Revoke(below.RevocationList({}));
  ExpectRefused("crl.pem", "no list of lab CA");
  Revoke(below.RevocationList({}) + authority_.RevocationList({}));
  EXPECT_TRUE(Load().ok()) << Load().ToString();
}

TEST_F(TlsCredentialsTest, RefusesAListThatAnotherAuthorityOfThatNameHasSigned) {
  TestAuthority impostor("lab CA");
  Revoke(impostor.RevocationList({}));
  ExpectRefused("crl.pem", "no authority");
}

TEST_F(TlsCredentialsTest, KnowsWhetherAllIsInForce) {
  Revoke(authority_.RevocationList({}));
  auto credentials = TlsCredentials::Load(files_, {});
  ASSERT_TRUE(credentials.ok());
  const int64_t now = std::time(nullptr);
  EXPECT_TRUE((*credentials)->CheckInForce(now).ok());
  const Status later = (*credentials)->CheckInForce(now + 25 * 3600);
  EXPECT_EQ(later.code(), ErrorCode::kUsage);
  EXPECT_THAT(later.ToString(), HasSubstr("the certificate node in " + files_.certificate + " has expired on "));
  EXPECT_THAT((*credentials)->CheckInForce(now - 10 * 365 * 24 * 3600LL).ToString(), HasSubstr("not valid before"));
}

TEST_F(TlsCredentialsTest, AListWhoseSuccessorIsDueIsNotInForce) {
  Revoke(authority_.RevocationList({}, 60));
  auto credentials = TlsCredentials::Load(files_, {});
  ASSERT_TRUE(credentials.ok());
  EXPECT_THAT((*credentials)->CheckInForce(std::time(nullptr) + 61).ToString(),
              HasSubstr("the revocation list of lab CA in " + files_.revoked + " has expired"));
}

}  // namespace
}  // namespace kprof
