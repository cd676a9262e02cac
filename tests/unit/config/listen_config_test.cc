#include "daemon/config/listen_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>

#include <ctime>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/tls/test_authority.h"

namespace kprof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Reads the two kinds of tables as the configuration does, and says what it complains of first.
Result<ListenConfig> ReadListen(const std::string& text, std::optional<uint32_t> only_uid = std::nullopt) {
  toml::parse_result parsed = toml::parse(text);
  KPROF_CHECK(static_cast<bool>(parsed));
  ListenConfig config;
  ConfigErrors complaints("f");
  if (const toml::table* table = parsed.table()["listen"].as_table()) ReadListen(*table, complaints, config);
  if (const toml::array* rules = parsed.table()["certificate"].as_array()) {
    for (const toml::node& rule : *rules) ReadCertificate(*rule.as_table(), complaints, only_uid, config);
  }
  if (complaints.size() > 0) return complaints.InOrder().front();
  return config;
}

std::string WhyNot(const std::string& text) {
  Result<ListenConfig> config = ReadListen(text);
  return config.ok() ? "" : config.status().ToString();
}

// Some user who is a person; the machine may have none.
const passwd* SomePerson() {
  setpwent();
  const passwd* user;
  while ((user = getpwent()) != nullptr && (user->pw_uid < 1000 || user->pw_uid >= 60000)) {
  }
  endpwent();
  return user;
}

TEST(ListenConfig, ReadsEverySetting) {
  Result<ListenConfig> config = ReadListen(R"(
[listen]
address = "[::]:7443"
certificate = "/c"
key = "/k"
client_ca = "/ca"
revoked = "/r"
max_connections = 10
max_connections_per_certificate = 5
max_handshakes = 4
max_handshakes_per_host = 3
[[certificate]]
name = "ci"
role = "viewer"
user = "daemon"
allow_system_user = true
[[certificate]]
fingerprint = "AA:)" + [] {
    std::string more;
    for (int i = 0; i < 31; ++i) more += i == 30 ? "BB" : "BB:";
    return more;
  }() + R"("
role = "admin"
)");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->address, "[::]:7443");
  EXPECT_EQ(config->files, (TlsFiles{"/c", "/k", "/ca", "/r"}));
  EXPECT_EQ(config->limits, (TlsLimits{10, 5, 4, 3}));
  ASSERT_EQ(config->rules.size(), 2u);
  EXPECT_EQ(config->rules[0].name, "ci");
  EXPECT_EQ(config->rules[0].role, Role::kViewer);
  EXPECT_EQ(config->rules[0].uid, getpwnam("daemon")->pw_uid);
  EXPECT_EQ(config->rules[1].fingerprint.substr(0, 4), "aabb");
  EXPECT_FALSE(config->rules[1].uid.has_value());
}

TEST(ListenConfig, FewConnectionsAreAsFewForOneCertificate) {
  EXPECT_EQ(ReadListen("[listen]\nmax_connections = 3\n")->limits.connections_per_certificate, 3);
}

TEST(ListenConfig, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"[listen]\naddress = \"node:7443\"", "f:2: [listen]: 'address' 'node:7443': it is no address and port"},
      {"[listen]\naddress = \"0.0.0.0\"", "no address and port"},
      {"[listen]\naddress = \"0.0.0.0:70000\"", "no address and port"},
      {"[listen]\nkey = \"k.pem\"", "'key' is not an absolute path"},
      {"[listen]\nport = 7443", "there is no setting 'port'"},
      {"[listen]\nmax_connections = 0", "'max_connections' is not a whole number from 1"},
      {"[listen]\nmax_connections_per_certificate = 257", "'max_connections_per_certificate' is more than"},
      {"[listen]\nmax_handshakes = 3\nmax_handshakes_per_host = 4", "'max_handshakes_per_host' is more than"},
      {"[[certificate]]\nrole = \"viewer\"", "needs a 'name' or a 'fingerprint'"},
      {"[[certificate]]\nname = \"a\"\nfingerprint = \"b\"\nrole = \"viewer\"", "one of both"},
      {"[[certificate]]\nname = \"a\"", "'role' is not one of"},
      {"[[certificate]]\nname = \"a\"\nrole = \"none\"", "'role' is not one of"},
      {"[[certificate]]\nfingerprint = \"abcd\"\nrole = \"viewer\"", "'fingerprint' is not the 64 digits"},
      {"[[certificate]]\nname = \"a\"\nrole = \"viewer\"\nuser = \"nobody of that name\"", "who is no user here"},
      {"[[certificate]]\nname = \"a\"\nrole = \"viewer\"\nuser = \"root\"", "'user' is root"},
      {"[[certificate]]\nname = \"a\"\nrole = \"admin\"\nuser = \"root\"\nallow_system_user = true", "'user' is root"},
      {"[[certificate]]\nname = \"a\"\nrole = \"viewer\"\nuser = \"daemon\"", "who is no person"},
      {"[[certificate]]\nname = \"a\"\nrole = \"viewer\"\nuser = \"nobody\"\nallow_system_user = true",
       "who is no person"},
      {"[[certificate]]\nname = \"a\"\nrole = \"viewer\"\nallow_system_user = 1", "is neither true nor false"},
      {"[[certificate]]\nname = \"a\"\nrole = \"viewer\"\n[[certificate]]\nname = \"a\"\nrole = \"admin\"",
       "an earlier rule"},
  };
  for (const auto& c : cases) EXPECT_THAT(WhyNot(c.text), HasSubstr(c.why)) << c.text;
}

TEST(ListenConfig, APersonNeedsNoMore) {
  const passwd* person = SomePerson();
  if (person == nullptr) GTEST_SKIP() << "no user of this machine is a person";
  const std::string name = person->pw_name;
  const uid_t uid = person->pw_uid;
  Result<ListenConfig> config = ReadListen("[[certificate]]\nname = \"a\"\nrole = \"viewer\"\nuser = \"" + name + "\"");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->rules[0].uid, uid);
}

TEST(ListenConfig, TheFlagOverridesTheFile) {
  ListenConfig config = *ReadListen("[listen]\naddress = \"0.0.0.0:7443\"");
  EXPECT_TRUE(OverrideListen("", config).ok());
  EXPECT_EQ(config.address, "0.0.0.0:7443");
  EXPECT_TRUE(OverrideListen("127.0.0.1:1", config).ok());
  EXPECT_EQ(config.address, "127.0.0.1:1");
  EXPECT_TRUE(OverrideListen("off", config).ok());
  EXPECT_EQ(config.address, "");
  EXPECT_EQ(OverrideListen("everywhere", config).code(), ErrorCode::kUsage);
}

TEST(ListenConfig, ADaemonOfOnesOwnStartsNothingAsAnother) {
  const std::string text =
      "[[certificate]]\nname = \"a\"\nrole = \"viewer\"\n"
      "[[certificate]]\nname = \"b\"\nrole = \"viewer\"\nuser = \"daemon\"\nallow_system_user = true\n";
  const uint32_t uid = getpwnam("daemon")->pw_uid;
  EXPECT_TRUE(ReadListen(text, uid).ok());
  EXPECT_THAT(ReadListen(text, uid + 1).status().ToString(),
              StartsWith("f:7: [[certificate]]: 'user' names 'daemon', and"));
}

TEST(ListenConfig, ListensNowhereWithoutEveryFile) {
  EXPECT_EQ(*LoadListen(ListenConfig()), nullptr);
  ListenConfig config;
  config.address = "127.0.0.1:0";
  EXPECT_THAT(LoadListen(config).status().ToString(), HasSubstr("'certificate' of [listen] is missing"));
}

TEST(ListenConfig, SaysInWhichLinesFilesAreNamedThatAreMissing) {
  const ListenConfig unnamed = *ReadListen("\n[listen]\naddress = \"127.0.0.1:0\"");
  EXPECT_THAT(LoadListen(unnamed).status().ToString(), StartsWith("f:2: [listen]: 'certificate' of [listen]"));
  const ListenConfig absent = *ReadListen(
      "\n[listen]\naddress = \"127.0.0.1:0\"\ncertificate = \"/no/c\"\nkey = \"/no/k\"\nclient_ca = \"/no/a\"");
  EXPECT_THAT(LoadListen(absent).status().ToString(),
              AllOf(StartsWith("f:2: [listen]: "), HasSubstr("/no/c cannot be read")));
}

TEST(ListenConfig, ChecksTheFilesAndTheirDates) {
  const TemporaryFolder folder;
  TestAuthority authority("lab CA");
  const TestCertificate own = authority.Issue({.common_name = "node", .usage = "serverAuth"});
  ListenConfig config;
  config.address = "127.0.0.1:0";
  config.files = {folder / "cert.pem", folder / "key.pem", folder / "ca.pem", ""};
  WritePrivate(config.files.certificate, own.pem);
  WritePrivate(config.files.key, own.key_pem);
  EXPECT_THAT(LoadListen(config).status().ToString(), HasSubstr("ca.pem cannot be read"));
  WritePrivate(config.files.client_ca, authority.pem());
  const std::shared_ptr<const TlsCredentials> credentials = *LoadListen(config);
  EXPECT_TRUE(credentials->CheckInForce(std::time(nullptr)).ok());
  EXPECT_THAT(credentials->CheckInForce(std::time(nullptr) + 48 * 3600).ToString(), HasSubstr("has expired"));
}

}  // namespace
}  // namespace kprof
