// Reads what the configuration file says of remote clients: [listen], where they connect, and a [[certificate]] for
// each rule that makes a certificate a caller. Names of local users are looked up here, once.
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
  std::string place;  // the table's, for complaints about the files: "kprofd.toml:12: [listen]"; empty: there is none
  bool operator==(const ListenConfig&) const = default;
};

// Both leave alone what the table does not name. ReadCertificate adds one rule behind those that are there.
void ReadListen(const toml::table& table, ConfigErrors& complaints, ListenConfig& config);
// `only_uid`: the user of a daemon in user mode. It starts every command as that user, so a rule for another user is a
// complaint.
void ReadCertificate(const toml::table& table, ConfigErrors& complaints, std::optional<uint32_t> only_uid,
                     ListenConfig& config);

// Takes the flag --listen: "off", or an address. Empty: the file's stays.
Status OverrideListen(const std::string& flag, ListenConfig& config);

// Reads the files that `config` names. Fails with kUsage when one is not named, or for a reason of
// TlsCredentials::Load. Null where there are no remote clients. Blocks.
Result<std::shared_ptr<const TlsCredentials>> LoadListen(const ListenConfig& config);

}  // namespace kprof
