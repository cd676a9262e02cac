// What the configuration file says of remote clients: [listen], and who their certificates make them, [[certificate]].
// Names of local users are looked up here, once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/certificate_identity.h"
#include "daemon/config/toml_table.h"
#include "daemon/net/tls_acceptor.h"
#include "daemon/net/tls_credentials.h"
#include "storage/base/status.h"

namespace kprof {

struct ListenConfig {
  std::string address;  // empty: there are no remote clients
  TlsFiles files;
  TlsLimits limits;
  std::vector<CertificateRule> rules;
  std::string place;  // of the table, for complaints about the files: "kprofd.toml:12: [listen]"; empty: there is none
  bool operator==(const ListenConfig&) const = default;
};

// Each leaves alone what the table does not name; the second adds one rule behind those that are there.
void ReadListen(const toml::table& table, ConfigErrors& complaints, ListenConfig& config);
// `only_uid`: whose daemon it is, if one user's own: it starts every command as that user, and takes no other.
void ReadCertificate(const toml::table& table, ConfigErrors& complaints, std::optional<uint32_t> only_uid,
                     ListenConfig& config);

// Of --listen: "off", or an address. Empty: what the file says.
Status OverrideListen(const std::string& flag, ListenConfig& config);

// Reads the files that it names. Fails with kUsage when one is not named, or for a reason of TlsCredentials::Load.
// Null where there are no remote clients. Blocks.
Result<std::shared_ptr<const TlsCredentials>> LoadListen(const ListenConfig& config);

}  // namespace kprof
