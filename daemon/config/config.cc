#include "daemon/config/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "daemon/config/access_config.h"
#include "daemon/config/device_config.h"
#include "daemon/config/toml_table.h"
#include "daemon/net/side_socket_listener.h"
#include "storage/base/descriptors.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kFileLimitBytes = 4 << 20;
constexpr int64_t kSharedRunsPerUid = 1'000'000;
constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kLongestSessionMinutes = kTimeoutLimitMs / kMinuteMs;
constexpr int64_t kMostAuditEntries = 1'000'000'000;
constexpr int64_t kNanosPerHour = 3600LL * 1'000'000'000;

std::string EnvironmentPath(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The folder of the running program, where kprof-launch is, too.
std::string ProgramFolder() {
  char path[PATH_MAX];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return ".";
  std::string_view text(path, static_cast<size_t>(size));
  return std::string(text.substr(0, text.rfind('/')));
}

Result<std::string> DefaultStateFolder() {
  if (std::string state = EnvironmentPath("XDG_STATE_HOME"); !state.empty()) return state + "/kprof";
  if (std::string home = EnvironmentPath("HOME"); !home.empty()) return home + "/.local/state/kprof";
  return Fail(ErrorCode::kUsage, "choose a state folder", "neither XDG_STATE_HOME nor HOME is set",
              "name one with --state-dir");
}

std::string DefaultSocketPath(const std::string& state_folder) {
  std::string runtime = EnvironmentPath("XDG_RUNTIME_DIR");
  if (!runtime.empty() && IsFolder(runtime)) return runtime + "/kprof/kprofd.sock";
  return state_folder + "/kprofd.sock";
}

void ReadLogLevel(const toml::table& root, TableReader& reader, Config& config) {
  std::string name;
  reader.Text("log_level", name);
  if (name.empty()) return;
  if (std::optional<LogLevel> level = LogLevelByName(name)) {
    config.log_level = *level;
  } else {
    reader.Complain(*root.get("log_level"), "log_level",
                    "'" + TerminalText(name) + "' is not one of debug, info, warning, error");
  }
}

void ReadPlaces(const toml::table& root, TableReader& reader, Config& config) {
  if (config.mode == Mode::kUser) {
    reader.Text("state_dir", config.state_folder);
    reader.Text("socket", config.socket_path);
    reader.Text("launcher", config.launcher_path);
    reader.Text("helper_socket", config.helper_socket_path);
    return;
  }
  reader.AbsolutePath("state_dir", config.state_folder);
  reader.AbsolutePath("socket", config.socket_path);
  reader.Text("launcher", config.launcher_path);
  if (root.contains("launcher")) {
    reader.Complain(*root.get("launcher"), "launcher",
                    "is for kprofd --user; here callers start their own kprof-launch, and kprofd-helper the one of its "
                    "--launcher");
  }
  reader.AbsolutePath("helper_socket", config.helper_socket_path);
}

void ReadHttp(const toml::table& root, TableReader& reader, Config& config) {
  std::string text;
  reader.Text("http", text);
  if (text.empty()) return;
  Result<std::optional<HttpAddress>> address = ParseHttpAddress(text);
  if (address.ok()) {
    config.http = *address;
  } else {
    reader.Complain(*root.get("http"), "http",
                    "is refused: " + address.status().why() + "; " + address.status().remedy());
  }
}

void ReadQueue(const toml::table& table, ConfigErrors& complaints, QueueLimits& limits) {
  TableReader queue(table, complaints, "[queue]: ");
  auto runs = static_cast<int64_t>(limits.runs);
  auto runs_per_uid = static_cast<int64_t>(limits.runs_per_uid);
  auto without = static_cast<int64_t>(limits.running_without_device);
  queue.Integer("limit_runs", 1, 1'000'000, runs);
  queue.Part("limit_runs_per_uid", "limit_runs", runs, runs_per_uid);
  queue.Integer("running_without_device", 1, 1024, without);
  limits = {static_cast<size_t>(runs), static_cast<size_t>(runs_per_uid), static_cast<size_t>(without)};
  queue.Finish();
}

void ReadImport(const toml::table& table, ConfigErrors& complaints, ImportPolicy& import) {
  TableReader reader(table, complaints, "[import]: ");
  int64_t memory = import.memory_bytes >> 20;
  int64_t source = import.source_bytes >> 30;
  reader.Integer("at_once", 1, 16, import.at_once);
  reader.Integer("memory_megabytes", 64, 1 << 20, memory);
  reader.Integer("max_source_gigabytes", 1, 1 << 14, source);
  import.memory_bytes = memory << 20;
  import.source_bytes = source << 30;
  reader.Finish();
}

void ReadSessions(const toml::table& table, ConfigErrors& complaints, SessionLimits& limits) {
  TableReader sessions(table, complaints, "[sessions]: ");
  auto limit = static_cast<int64_t>(limits.sessions);
  auto per_uid = static_cast<int64_t>(limits.sessions_per_uid);
  int64_t max_ttl = limits.max_ttl_ms / kMinuteMs;
  int64_t max_idle = limits.max_idle_timeout_ms / kMinuteMs;
  sessions.Integer("limit", 1, 100'000, limit);
  sessions.Part("limit_per_uid", "limit", limit, per_uid);
  sessions.Integer("max_ttl_minutes", 1, kLongestSessionMinutes, max_ttl);
  sessions.Integer("max_idle_timeout_minutes", 1, kLongestSessionMinutes, max_idle);
  limits = {static_cast<size_t>(limit), static_cast<size_t>(per_uid), max_ttl * kMinuteMs, max_idle * kMinuteMs};
  sessions.Finish();
}

void ReadOutput(const toml::table& table, ConfigErrors& complaints, OutputLimits& limits) {
  TableReader output(table, complaints, "[output]: ");
  output.Integer("head_bytes", 0, kMostOutputLimitBytes, limits.head_bytes);
  output.Integer("tail_bytes", 4096, kMostOutputLimitBytes, limits.tail_bytes);
  output.Finish();
}

void ReadQuery(const toml::table& table, ConfigErrors& complaints, QueryPolicy& policy) {
  TableReader query(table, complaints, "[query]: ");
  int64_t cache_mib = policy.trace_cache_bytes >> 20;
  query.Integer("trace_cache_mib", 0, 1 << 20, cache_mib);
  policy.trace_cache_bytes = cache_mib << 20;
  query.Finish();
}

void ReadRetention(const toml::table& table, ConfigErrors& complaints, RetentionPolicy& policy) {
  TableReader retention(table, complaints, "[retention]: ");
  int64_t max_age_hours = 0;
  retention.Integer("max_age_hours", 0, 24 * 3650, max_age_hours);
  retention.Integer("max_artifact_bytes", 0, INT64_MAX, policy.max_artifact_bytes);
  policy.max_age_ns = max_age_hours * kNanosPerHour;
  retention.Finish();
}

void ReadAudit(const toml::table& table, ConfigErrors& complaints, AuditPolicy& policy) {
  TableReader audit(table, complaints, "[audit]: ");
  int64_t max_age_days = policy.max_age_ns / (24 * kNanosPerHour);
  audit.Integer("max_age_days", 0, 3650, max_age_days);
  audit.Integer("max_entries", 0, kMostAuditEntries, policy.max_entries);
  policy.max_age_ns = max_age_days * 24 * kNanosPerHour;
  audit.Finish();
}

void ReadRemoteClients(TableReader& reader, ConfigErrors& complaints, Config& config) {
  std::optional<uint32_t> only_uid;
  if (config.mode == Mode::kUser) only_uid = ::getuid();
  if (const toml::table* table = reader.Table("listen")) ReadListen(*table, complaints, config.listen);
  if (const toml::array* tables = reader.Tables("certificate")) {
    for (const toml::node& node : *tables) {
      if (const toml::table* table = node.as_table()) ReadCertificate(*table, complaints, only_uid, config.listen);
    }
  }
}

// A folder, as a bind mount of a file that is not there makes one, is not taken for an empty file; nor is what breaks
// midway for a short one.
Result<std::string> ReadText(const std::string& file) {
  const std::string what = "read " + file;
  constexpr const char* kRemedy = "name another with --config";
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return FailErrno(errno, what, kRemedy);
  if (!S_ISREG(info.st_mode)) {
    return Fail(ErrorCode::kUsage, what, S_ISDIR(info.st_mode) ? "it is a folder" : "it is no regular file", kRemedy);
  }
  std::string text;
  char bytes[16384];
  while (true) {
    const ssize_t size = ::read(fd.get(), bytes, sizeof bytes);
    if (size == 0) return text;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FailErrno(errno, what, kRemedy);
    text.append(bytes, static_cast<size_t>(size));
    if (text.size() > kFileLimitBytes) {
      return Fail(ErrorCode::kUsage, what, "it has more than " + std::to_string(kFileLimitBytes) + " bytes", kRemedy);
    }
  }
}

// Returns whether what it says of remote clients makes sense.
bool ReadFile(const std::string& file, ConfigErrors& complaints, Config& config) {
  Result<std::string> text = ReadText(file);
  if (!text.ok()) {
    complaints.Add(text.status());
    return false;
  }
  toml::parse_result parsed = toml::parse(*text, file);
  if (!parsed) {
    complaints.AddAt(parsed.error().source().begin.line, TerminalText(parsed.error().description()));
    return false;
  }
  const toml::table& root = parsed.table();
  TableReader reader(root, complaints, "");
  ReadPlaces(root, reader, config);
  ReadHttp(root, reader, config);
  ReadLogLevel(root, reader, config);
  if (const toml::table* table = reader.Table("queue")) ReadQueue(*table, complaints, config.queue);
  if (const toml::table* table = reader.Table("import")) ReadImport(*table, complaints, config.import);
  if (const toml::table* table = reader.Table("sessions")) ReadSessions(*table, complaints, config.sessions);
  if (const toml::table* table = reader.Table("access")) {
    if (config.mode == Mode::kUser)
      reader.Complain(*table, "access", "is for system mode; kprofd --user is yours alone");
    ReadAccess(*table, complaints, config.access);
  }
  if (const toml::table* table = reader.Table("limits")) {
    ReadLimits(*table, complaints, config.connections, config.storage, config.longest_run_ms);
  }
  const size_t before = complaints.size();
  ReadRemoteClients(reader, complaints, config);
  const bool knows_remote_clients = complaints.size() == before;
  if (const toml::table* table = reader.Table("output")) ReadOutput(*table, complaints, config.output);
  if (const toml::table* table = reader.Table("query")) ReadQuery(*table, complaints, config.query);
  if (const toml::table* table = reader.Table("retention")) ReadRetention(*table, complaints, config.retention);
  if (const toml::table* table = reader.Table("audit")) ReadAudit(*table, complaints, config.audit);
  if (const toml::table* table = reader.Table("devices")) ReadDevices(*table, complaints, config.devices);
  if (const toml::array* tables = reader.Tables("device")) {
    for (const toml::node& node : *tables) {
      if (const toml::table* table = node.as_table()) ReadDevice(*table, complaints, config.accelerators);
    }
  }
  reader.Finish();
  return knows_remote_clients;
}

StoragePolicy OwnStorage() {
  return {.runs_per_uid = 0, .bytes_per_uid = 0};
}

StoragePolicy SharedStorage() {
  return {.runs_per_uid = kSharedRunsPerUid};
}

Status OverrideHttp(const std::string& flag, std::optional<HttpAddress>& address) {
  if (flag.empty()) return OkStatus();
  ASSIGN_OR_RETURN(address, ParseHttpAddress(flag));
  return OkStatus();
}

// An absolute path without a trailing slash.
Result<std::string> Absolute(const std::string& path) {
  std::string absolute = path;
  if (path.empty() || path[0] != '/') {
    char folder[PATH_MAX];
    if (::getcwd(folder, sizeof folder) == nullptr) return FailErrno(errno, "find the working folder");
    absolute = std::string(folder) + "/" + path;
  }
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

Status TakeUserPlaces(const ConfigFlags& flags, Config& config) {
  if (config.state_folder.empty()) {
    ASSIGN_OR_RETURN(config.state_folder, DefaultStateFolder());
  }
  ASSIGN_OR_RETURN(config.state_folder, Absolute(config.state_folder));
  if (config.socket_path.empty()) {
    // A state folder of one's own means a daemon of one's own: it does not take the user's socket.
    bool own = !flags.state_folder.empty();
    config.socket_path = own ? config.state_folder + "/kprofd.sock" : DefaultSocketPath(config.state_folder);
  }
  ASSIGN_OR_RETURN(config.socket_path, Absolute(config.socket_path));
  return OkStatus();
}

Status TakeSystemPlaces(Config& config) {
  if (config.state_folder.empty()) config.state_folder = kSystemStateFolder;
  if (config.socket_path.empty()) config.socket_path = kSystemSocketPath;
  if (config.helper_socket_path.empty()) config.helper_socket_path = kSystemHelperSocketPath;
  ASSIGN_OR_RETURN(config.state_folder, Absolute(config.state_folder));
  ASSIGN_OR_RETURN(config.socket_path, Absolute(config.socket_path));
  return OkStatus();
}

// In system mode the side socket's path is longer than the socket's own.
Status CheckSocketPaths(const Config& config) {
  constexpr size_t kLimitBytes = sizeof(sockaddr_un::sun_path) - 1;
  const bool has_side_socket = config.mode == Mode::kSystem;
  const size_t limit_bytes = kLimitBytes - (has_side_socket ? kSideSocketSuffix.size() : 0);
  for (const auto& [path, limit] :
       {std::pair{config.socket_path, limit_bytes}, {config.helper_socket_path, kLimitBytes}}) {
    if (path.size() <= limit) continue;
    return Fail(ErrorCode::kUsage, "listen on " + path,
                "a socket's path has at most " + std::to_string(limit) + " bytes here, and this one has " +
                    std::to_string(path.size()),
                "name a shorter one");
  }
  return OkStatus();
}

// Beside kprofd in a build, where an installation has it else.
struct ProgramPlaces {
  explicit ProgramPlaces(const std::string& name)
      : beside(ProgramFolder() + "/" + name), installed(ProgramFolder() + "/../libexec/kprof/" + name) {}
  const std::string& found() const { return ::access(beside.c_str(), X_OK) == 0 ? beside : installed; }
  const std::string beside;
  const std::string installed;
};

Status FindLauncher(Config& config) {
  std::string places = config.launcher_path;
  if (config.launcher_path.empty()) {
    const ProgramPlaces known("kprof-launch");
    config.launcher_path = known.found();
    places = known.beside + " or " + known.installed;
  }
  if (::access(config.launcher_path.c_str(), X_OK) == 0) return OkStatus();
  return Fail(ErrorCode::kUsage, "find the supervisor", "there is no program " + places,
              "install kprof-launch beside kprofd, or name it with 'launcher' in the configuration");
}

}  // namespace

ConfigFlags FlagsForCheck(ConfigFlags flags, const std::string& service_file) {
  if (flags.user || !flags.file.empty()) return flags;
  if (::access(service_file.c_str(), F_OK) == 0) {
    flags.file = service_file;
  } else {
    flags.user = true;
  }
  return flags;
}

LoadedConfig LoadConfig(const ConfigFlags& flags) {
  LoadedConfig loaded;
  Config& config = loaded.config;
  ConfigErrors complaints(flags.file);
  config.mode = flags.user ? Mode::kUser : Mode::kSystem;
  config.access = flags.user ? UserAccess(::getuid()) : DefaultSystemAccess(::getuid());
  config.storage = flags.user ? OwnStorage() : SharedStorage();
  if (!flags.user) config.http = HttpAddress{"127.0.0.1", kDefaultHttpPort};
  if (!flags.file.empty()) loaded.knows_remote_clients = ReadFile(flags.file, complaints, config);
  if (!flags.state_folder.empty()) config.state_folder = flags.state_folder;
  if (!flags.socket_path.empty()) config.socket_path = flags.socket_path;
  complaints.Add(OverrideHttp(flags.http, config.http));
  const Status listen = OverrideListen(flags.listen, config.listen);
  complaints.Add(listen);
  loaded.knows_remote_clients = loaded.knows_remote_clients && listen.ok();
  complaints.Add(flags.user ? TakeUserPlaces(flags, config) : TakeSystemPlaces(config));
  complaints.Add(CheckSocketPaths(config));
  if (flags.user) complaints.Add(FindLauncher(config));
  config.ingest_path = ProgramPlaces("kprof-ingest").found();  // where it is missing, imports say so
  config.device_path = ProgramPlaces("kprof-device").found();  // where it is missing, the log says so
  config.neuron_path = ProgramPlaces("kprof-neuron").found();  // likewise
  config.clocks_path = ProgramPlaces("kprof-clocks").found();  // where it is missing, trust says so
  config.pause_path = ProgramPlaces("kprof-pause").found();    // where it is missing, trust says so
  if (flags.user) TakeDeviceVariables(config.devices);
  loaded.complaints = complaints.InOrder();
  return loaded;
}

namespace {

// The names of what is not the same, with a comma between them.
class Differences {
 public:
  void Compare(const char* name, bool same) {
    if (!same) names_ += (names_.empty() ? "" : ", ") + std::string(name);
  }
  const std::string& names() const { return names_; }

 private:
  std::string names_;
};

}  // namespace

std::string SettingsTakenOver(const Config& now, const Config& wanted) {
  Differences different;
  different.Compare("[access]", now.access == wanted.access);
  different.Compare("[limits]", now.connections == wanted.connections && now.storage == wanted.storage &&
                                    now.longest_run_ms == wanted.longest_run_ms);
  different.Compare("[listen]", now.listen.files == wanted.listen.files && now.listen.limits == wanted.listen.limits);
  different.Compare("[listen] address", now.listen.address.empty() || !wanted.listen.address.empty());  // off
  different.Compare("[[certificate]]", now.listen.rules == wanted.listen.rules);
  different.Compare("[retention]", now.retention == wanted.retention);
  different.Compare("[audit]", now.audit == wanted.audit);
  different.Compare("log_level", now.log_level == wanted.log_level);
  return different.names();
}

std::string SettingsForNextStart(const Config& now, const Config& wanted) {
  Differences different;
  different.Compare("state_dir", now.state_folder == wanted.state_folder);
  different.Compare("socket", now.socket_path == wanted.socket_path);
  different.Compare("http", now.http == wanted.http);
  different.Compare("launcher", now.launcher_path == wanted.launcher_path);
  different.Compare("helper_socket", now.helper_socket_path == wanted.helper_socket_path);
  different.Compare("[queue]", now.queue == wanted.queue);
  different.Compare("[sessions]", now.sessions == wanted.sessions);
  different.Compare("[import]", now.import == wanted.import);
  different.Compare("[output]", now.output == wanted.output);
  different.Compare("[query]", now.query == wanted.query);
  different.Compare("[listen] address", wanted.listen.address.empty() || now.listen.address == wanted.listen.address);
  different.Compare("[devices]", now.devices == wanted.devices);
  different.Compare("[[device]]", now.accelerators == wanted.accelerators);
  return different.names();
}

}  // namespace kprof
