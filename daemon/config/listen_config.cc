#include "daemon/config/listen_config.h"

#include <pwd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "daemon/net/tcp_listener.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr uid_t kSuperuserUid = 0;
constexpr uid_t kFirstPersonUid = 1000;
constexpr uid_t kNobodyUid = 65534;  // "nobody": whoever has no number here, and no user to run as
constexpr size_t kFingerprintDigits = 64;

// As openssl prints it, "AB:CD:...", or bare.
std::optional<std::string> ParseFingerprint(const std::string& text) {
  std::string digits;
  for (char c : text) {
    if (c == ':') continue;
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (digits.size() != kFingerprintDigits) return std::nullopt;
  return digits;
}

// Before a complaint about the files.
std::string Place(const ListenConfig& config) {
  return config.place.empty() ? "listen at " + config.address : config.place;
}

void ReadUser(TableReader& reader, const toml::table& table, std::optional<uint32_t> only_uid, CertificateRule& rule) {
  std::string name;
  bool system_user = false;
  reader.Text("user", name);
  reader.Boolean("allow_system_user", system_user);
  if (name.empty()) return;
  const toml::node& node = *table.get("user");
  const passwd* user = ::getpwnam(name.c_str());
  if (user == nullptr) return reader.Complain(node, "user", "names '" + TerminalText(name) + "', who is no user here");
  if (user->pw_uid == kSuperuserUid)
    return reader.Complain(node, "user", "is root, as whom no remote client starts anything");
  if (user->pw_uid == kNobodyUid || (user->pw_uid < kFirstPersonUid && !system_user)) {
    return reader.Complain(node, "user",
                           "names '" + TerminalText(name) + "' (uid " + std::to_string(user->pw_uid) +
                               "), who is no person; name one, or add allow_system_user = true");
  }
  if (only_uid && user->pw_uid != *only_uid) {
    return reader.Complain(node, "user",
                           "names '" + TerminalText(name) +
                               "', and this daemon is another's own; name its user: commands of several users need "
                               "system mode");
  }
  rule.uid = user->pw_uid;
}

}  // namespace

void ReadListen(const toml::table& table, ConfigErrors& complaints, ListenConfig& config) {
  TableReader reader(table, complaints, "[listen]: ");
  config.place = complaints.file() + ":" + std::to_string(table.source().begin.line) + ": [listen]";
  reader.Text("address", config.address);
  if (config.address == "off") {
    config.address.clear();
  } else if (!config.address.empty()) {
    const Status checked = CheckListenAddress(config.address);
    if (!checked.ok())
      reader.Complain(*table.get("address"), "address", "'" + TerminalText(config.address) + "': " + checked.why());
  }
  const std::pair<const char*, std::string*> paths[] = {{"certificate", &config.files.certificate},
                                                        {"key", &config.files.key},
                                                        {"client_ca", &config.files.client_ca},
                                                        {"revoked", &config.files.revoked}};
  for (const auto& [key, path] : paths) {
    reader.Text(key, *path);
    if (!path->empty() && path->front() != '/') reader.Complain(*table.get(key), key, "is not an absolute path");
  }
  reader.Integer("max_connections", 1, 65536, config.limits.connections);
  config.limits.connections_per_certificate =
      std::min(config.limits.connections_per_certificate, config.limits.connections);
  reader.Part("max_connections_per_certificate", "max_connections", config.limits.connections,
              config.limits.connections_per_certificate);
  reader.Integer("max_handshakes", 1, 65536, config.limits.handshakes);
  config.limits.handshakes_per_host = std::min(config.limits.handshakes_per_host, config.limits.handshakes);
  reader.Part("max_handshakes_per_host", "max_handshakes", config.limits.handshakes, config.limits.handshakes_per_host);
  reader.Finish();
}

void ReadCertificate(const toml::table& table, ConfigErrors& complaints, std::optional<uint32_t> only_uid,
                     ListenConfig& config) {
  TableReader reader(table, complaints, "[[certificate]]: ");
  const uint64_t line = table.source().begin.line;
  CertificateRule rule;
  std::string fingerprint;
  std::string role;
  reader.Text("name", rule.name);
  reader.Text("fingerprint", fingerprint);
  reader.Text("role", role);
  if (rule.name.empty() == fingerprint.empty())
    reader.ComplainAt(line, "it needs a 'name' or a 'fingerprint', one of both");
  if (!fingerprint.empty()) {
    if (std::optional<std::string> digits = ParseFingerprint(fingerprint)) {
      rule.fingerprint = *digits;
    } else {
      reader.Complain(*table.get("fingerprint"), "fingerprint",
                      "is not the 64 digits of openssl x509 -noout -fingerprint -sha256");
    }
  }
  if (std::optional<Role> known = RoleByName(role)) {
    rule.role = *known;
  } else {
    reader.ComplainAt(line, "'role' is not one of viewer, operator, admin");
  }
  ReadUser(reader, table, only_uid, rule);
  for (const CertificateRule& earlier : config.rules) {
    if (!rule.name.empty() == !rule.fingerprint.empty()) break;  // it is nobody's
    if (earlier.name == rule.name && earlier.fingerprint == rule.fingerprint) {
      reader.ComplainAt(line, "an earlier rule takes the same certificates, so this one would never count");
    }
  }
  config.rules.push_back(std::move(rule));
  reader.Finish();
}

Status OverrideListen(const std::string& flag, ListenConfig& config) {
  if (flag.empty()) return OkStatus();
  if (flag == "off") {
    config.address.clear();
    return OkStatus();
  }
  RETURN_IF_ERROR(CheckListenAddress(flag));
  config.address = flag;
  return OkStatus();
}

Result<std::shared_ptr<const TlsCredentials>> LoadListen(const ListenConfig& config) {
  if (config.address.empty()) return std::shared_ptr<const TlsCredentials>();
  const std::pair<const char*, const std::string*> needed[] = {
      {"certificate", &config.files.certificate}, {"key", &config.files.key}, {"client_ca", &config.files.client_ca}};
  for (const auto& [key, path] : needed) {
    if (!path->empty()) continue;
    return Fail(ErrorCode::kUsage, Place(config),
                "'" + std::string(key) + "' of [listen] is missing, and there is no connection without TLS",
                "name the file in the configuration; docs/remote.md says how to make it");
  }
  Result<std::shared_ptr<const TlsCredentials>> credentials = TlsCredentials::Load(config.files, config.rules);
  if (!credentials.ok()) return credentials.status().In(Place(config));
  return credentials;
}

}  // namespace kprof
