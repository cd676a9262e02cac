// What the daemon is told: a TOML file, then the flags that override it. Checked once, here; behind it everything is
// typed and in range. The file's settings are described in docs/configuration.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/access_policy.h"
#include "daemon/access/call_admission.h"
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

// What queries may have for themselves, as the configuration says it.
struct QueryPolicy {
  int64_t trace_cache_bytes = int64_t{256} << 20;  // decoded columns of traces, kept for the next question
  bool operator==(const QueryPolicy&) const = default;
};

// How traces are imported, as the configuration says it.
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
  AccessPolicy access;
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
  std::vector<Device> accelerators;  // that it names
};

// What stands on the command line; empty: not given.
struct ConfigFlags {
  bool user = false;
  std::string file;
  std::string state_folder;
  std::string socket_path;
  std::string http;
  std::string listen;  // an address, or "off"
};

struct LoadedConfig {
  Config config;                     // of what is complained about, something that makes sense or nothing
  std::vector<Status> complaints;    // all, those of the file first, "kprofd.toml:12: ..."; empty: the config is good
  bool knows_remote_clients = true;  // none of them is about config.listen
  bool ok() const { return complaints.empty(); }
};

// The file if one was named, the flags, the defaults: of the environment in user mode (XDG_STATE_HOME, XDG_RUNTIME_DIR,
// HOME), fixed places else (kSystemStateFolder, kSystemSocketPath).
LoadedConfig LoadConfig(const ConfigFlags& flags);

constexpr const char* kSystemConfigFile = "/etc/kprofd/kprofd.toml";
constexpr const char* kSystemStateFolder = "/var/lib/kprofd";
constexpr const char* kSystemSocketPath = "/run/kprofd/kprofd.sock";
constexpr const char* kSystemHelperSocketPath = "/run/kprofd-helper/helper.sock";

// What --check-config looks at when it is not said: the file of this node's service where there is one, else what
// kprofd --user would take.
ConfigFlags FlagsForCheck(ConfigFlags flags, const std::string& service_file = kSystemConfigFile);

// The settings that a daemon takes over while it serves and that differ between the two: "[limits], log_level".
std::string SettingsTakenOver(const Config& now, const Config& wanted);

// The settings that a daemon takes only when it starts and that differ between the two: "socket, [queue]".
std::string SettingsForNextStart(const Config& now, const Config& wanted);

}  // namespace kprof
