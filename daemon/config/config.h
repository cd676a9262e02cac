// The settings of the daemon: a TOML file, then the flags that override it. They are checked once, here; afterwards
// everything is typed and in range. The file's settings are described in docs/configuration.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/call_admission.h"
#include "daemon/access/user_roles.h"
#include "daemon/base/log.h"
#include "daemon/config/access_config.h"
#include "daemon/config/device_config.h"
#include "daemon/config/listen_config.h"
#include "daemon/devices/device_book.h"
#include "daemon/launch/output_log.h"
#include "daemon/runs/audit/audit_retention.h"
#include "daemon/runs/queue/queue_room.h"
#include "daemon/runs/sessions/session_request.h"
#include "daemon/web/http_address.h"
#include "storage/base/status.h"
#include "storage/catalog/retention.h"

namespace kprof {

// The configured limits of queries.
struct QueryPolicy {
  int64_t trace_cache_bytes = int64_t{256} << 20;  // decoded columns of traces, kept for the next question
  bool operator==(const QueryPolicy&) const = default;
};

// The configured limits of imports.
struct ImportPolicy {
  int64_t at_once = 2;
  int64_t memory_bytes = int64_t{1} << 30;   // of the process that reads
  int64_t source_bytes = int64_t{64} << 30;  // of a source, unpacked
  bool operator==(const ImportPolicy&) const = default;
};

enum class Mode {
  kUser,    // one process, everything as its user, for its user
  kSystem,  // an unprivileged daemon for all users of the node
};

struct Config {
  Mode mode = Mode::kUser;
  std::string state_folder;
  std::string socket_path;
  std::string launcher_path;        // kprof-launch
  std::string ingest_path;          // kprof-ingest
  std::string device_path;          // kprof-device
  std::string neuron_path;          // kprof-neuron
  std::string clocks_path;          // kprof-clocks
  std::string pause_path;           // kprof-pause
  std::string helper_socket_path;   // of kprofd-helper; system mode
  std::optional<HttpAddress> http;  // none: no HTTP
  UserRoles access;
  ConnectionLimits connections;
  ListenConfig listen;
  LogLevel log_level = LogLevel::kInfo;
  int64_t longest_run_ms = 0;  // 0: a run lasts as long as it likes
  QueueLimits queue;
  SessionLimits sessions;
  OutputLimits output;
  RetentionPolicy retention;
  StoragePolicy storage;
  ImportPolicy import;
  QueryPolicy query;
  AuditPolicy audit;
  DevicePolicy devices;
  std::vector<Device> accelerators;  // those that the file names
};

// The flags of the command line; empty: not given.
struct ConfigFlags {
  bool user = false;
  std::string file;
  std::string state_folder;
  std::string socket_path;
  std::string http;
  std::string listen;  // an address, or "off"
};

struct LoadedConfig {
  Config config;                     // where a setting is wrong: a value that makes sense, or none
  std::vector<Status> complaints;    // all, those of the file first, "kprofd.toml:12: ..."; empty: the config is good
  bool knows_remote_clients = true;  // no complaint is about config.listen
  bool ok() const { return complaints.empty(); }
};

// Takes the flags, then the file if one is named, then the defaults. In user mode the defaults come from the
// environment (XDG_STATE_HOME, XDG_RUNTIME_DIR, HOME), in system mode they are fixed (kSystemStateFolder,
// kSystemSocketPath).
LoadedConfig LoadConfig(const ConfigFlags& flags);

constexpr const char* kSystemConfigFile = "/etc/kprofd/kprofd.toml";
constexpr const char* kSystemStateFolder = "/var/lib/kprofd";
constexpr const char* kSystemSocketPath = "/run/kprofd/kprofd.sock";
constexpr const char* kSystemHelperSocketPath = "/run/kprofd-helper/helper.sock";

// The flags that --check-config checks: those that are given; without a file or --user the file of this node's service,
// or, where there is none, what kprofd --user would take.
ConfigFlags FlagsForCheck(ConfigFlags flags, const std::string& service_file = kSystemConfigFile);

// The settings that differ and that a daemon takes over while it serves: "[limits], log_level".
std::string SettingsTakenOver(const Config& now, const Config& wanted);

// The settings that differ and that a daemon takes only when it starts: "socket, [queue]".
std::string SettingsForNextStart(const Config& now, const Config& wanted);

}  // namespace kprof
