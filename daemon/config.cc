#include "daemon/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "daemon/access_config.h"
#include "daemon/toml_table.h"

namespace kprof {
namespace {

constexpr int64_t kSharedRunsPerUid = 1'000'000;
constexpr int64_t kMillisPerMinute = 60'000;
constexpr int64_t kLongestSessionMinutes = kTimeoutLimitMs / kMillisPerMinute;
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

Status ReadDevice(const toml::table& table, const std::string& file, Config& config) {
  TableReader reader(table, file, "[[device]]: ");
  Device device;
  std::string kind;
  reader.Text("id", device.id);
  reader.Text("kind", kind);
  reader.Text("name", device.name);
  reader.Text("uuid", device.uuid);
  reader.Integers("cores", device.cores);
  const uint64_t line = table.source().begin.line;
  if (device.id.empty()) device.id = std::to_string(config.accelerators.size());
  if (kind == "nvidia") {
    device.kind = DeviceKind::kNvidia;
  } else if (kind == "neuron") {
    device.kind = DeviceKind::kNeuron;
    if (device.cores.empty()) reader.ComplainAt(line, "a neuron device needs its 'cores'");
  } else if (kind == "amd") {
    device.kind = DeviceKind::kAmd;
  } else {
    reader.ComplainAt(line, "'kind' is not one of nvidia, neuron, amd");
  }
  for (std::string_view reserved : {"cpu", "all", "none"}) {
    if (device.id == reserved) reader.ComplainAt(line, "the id '" + device.id + "' is reserved");
  }
  if (device.id.find_first_of(", \t\n@") != std::string::npos) {
    reader.ComplainAt(line, "the id '" + device.id + "' holds a comma or a space");
  }
  for (const Device& other : config.accelerators) {
    if (other.id == device.id) reader.ComplainAt(line, "the id '" + device.id + "' is taken already");
  }
  const auto place = std::count_if(config.accelerators.begin(), config.accelerators.end(),
                                   [&](const Device& other) { return other.kind == device.kind; });
  const bool is_number = device.id.find_first_not_of("0123456789") == std::string::npos;
  if (device.kind != DeviceKind::kNeuron && device.uuid.empty() && is_number && device.id != std::to_string(place)) {
    reader.ComplainAt(line, "without a uuid it is number " + std::to_string(place) + " of its kind, which its id '" +
                                device.id + "' contradicts; give its uuid, or an id that is no number");
  }
  config.accelerators.push_back(std::move(device));
  return reader.Finish();
}

void ReadLogLevel(const toml::table& root, TableReader& reader, Config& config) {
  std::string name;
  reader.Text("log_level", name);
  if (name.empty()) return;
  if (std::optional<LogLevel> level = LogLevelByName(name)) {
    config.log_level = *level;
  } else {
    reader.Complain(*root.get("log_level"), "log_level",
                    "'" + OneLine(name) + "' is not one of debug, info, warning, error");
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

Status ReadFile(const std::string& file, Config& config) {
  if (::access(file.c_str(), R_OK) != 0) return FailErrno(errno, "read " + file, "name another with --config");
  toml::parse_result parsed = toml::parse_file(file);
  if (!parsed) {
    return Fail(ErrorCode::kUsage, file + ":" + std::to_string(parsed.error().source().begin.line),
                OneLine(parsed.error().description()));
  }
  const toml::table& root = parsed.table();
  TableReader reader(root, file, "");
  ReadPlaces(root, reader, config);
  ReadHttp(root, reader, config);
  ReadLogLevel(root, reader, config);
  if (const toml::table* table = reader.Table("queue")) {
    TableReader queue(*table, file, "[queue]: ");
    auto runs = static_cast<int64_t>(config.queue.runs);
    auto runs_per_uid = static_cast<int64_t>(config.queue.runs_per_uid);
    auto without = static_cast<int64_t>(config.queue.running_without_device);
    queue.Integer("limit_runs", 1, 1'000'000, runs);
    queue.Part("limit_runs_per_uid", "limit_runs", runs, runs_per_uid);
    queue.Integer("running_without_device", 1, 1024, without);
    config.queue.runs = static_cast<size_t>(runs);
    config.queue.runs_per_uid = static_cast<size_t>(runs_per_uid);
    config.queue.running_without_device = static_cast<size_t>(without);
    RETURN_IF_ERROR(queue.Finish());
  }
  if (const toml::table* table = reader.Table("sessions")) {
    TableReader sessions(*table, file, "[sessions]: ");
    auto limit = static_cast<int64_t>(config.sessions.sessions);
    auto per_uid = static_cast<int64_t>(config.sessions.sessions_per_uid);
    int64_t max_ttl = config.sessions.max_ttl_ms / kMillisPerMinute;
    int64_t max_idle = config.sessions.max_idle_timeout_ms / kMillisPerMinute;
    sessions.Integer("limit", 1, 100'000, limit);
    sessions.Part("limit_per_uid", "limit", limit, per_uid);
    sessions.Integer("max_ttl_minutes", 1, kLongestSessionMinutes, max_ttl);
    sessions.Integer("max_idle_timeout_minutes", 1, kLongestSessionMinutes, max_idle);
    config.sessions = {static_cast<size_t>(limit), static_cast<size_t>(per_uid), max_ttl * kMillisPerMinute,
                       max_idle * kMillisPerMinute};
    RETURN_IF_ERROR(sessions.Finish());
  }
  if (const toml::table* table = reader.Table("access")) {
    if (config.mode == Mode::kUser)
      reader.Complain(*table, "access", "is for system mode; kprofd --user is yours alone");
    RETURN_IF_ERROR(ReadAccess(*table, file, config.access));
  }
  if (const toml::table* table = reader.Table("limits")) {
    RETURN_IF_ERROR(ReadLimits(*table, file, config.connections, config.storage));
  }
  if (const toml::table* table = reader.Table("listen")) {
    RETURN_IF_ERROR(ReadListen(*table, file, config.listen));
  }
  if (const toml::array* tables = reader.Tables("certificate")) {
    for (const toml::node& node : *tables) {
      if (const toml::table* table = node.as_table()) RETURN_IF_ERROR(ReadCertificate(*table, file, config.listen));
    }
  }
  if (const toml::table* table = reader.Table("output")) {
    TableReader output(*table, file, "[output]: ");
    output.Integer("head_bytes", 0, kMostOutputLimitBytes, config.output.head_bytes);
    output.Integer("tail_bytes", 4096, kMostOutputLimitBytes, config.output.tail_bytes);
    RETURN_IF_ERROR(output.Finish());
  }
  if (const toml::table* table = reader.Table("retention")) {
    TableReader retention(*table, file, "[retention]: ");
    int64_t max_age_hours = 0;
    retention.Integer("max_age_hours", 0, 24 * 3650, max_age_hours);
    retention.Integer("max_artifact_bytes", 0, INT64_MAX, config.retention.max_artifact_bytes);
    config.retention.max_age_ns = max_age_hours * kNanosPerHour;
    RETURN_IF_ERROR(retention.Finish());
  }
  if (const toml::table* table = reader.Table("audit")) {
    TableReader audit(*table, file, "[audit]: ");
    int64_t max_age_days = config.audit.max_age_ns / (24 * kNanosPerHour);
    audit.Integer("max_age_days", 0, 3650, max_age_days);
    config.audit.max_age_ns = max_age_days * 24 * kNanosPerHour;
    RETURN_IF_ERROR(audit.Finish());
  }
  if (const toml::array* tables = reader.Tables("device")) {
    for (const toml::node& node : *tables) {
      if (const toml::table* table = node.as_table()) RETURN_IF_ERROR(ReadDevice(*table, file, config));
    }
  }
  return reader.Finish();
}

StoragePolicy OwnStorage() {
  return {.runs_per_uid = 0, .bytes_per_uid = 0};
}

StoragePolicy SharedStorage() {
  return {.runs_per_uid = kSharedRunsPerUid};
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
  if (!config.socket_path.empty()) return OkStatus();
  // A state folder of one's own means a daemon of one's own: it does not take the user's socket.
  bool own = !flags.state_folder.empty();
  config.socket_path = own ? config.state_folder + "/kprofd.sock" : DefaultSocketPath(config.state_folder);
  return OkStatus();
}

Status TakeSystemPlaces(Config& config) {
  if (config.state_folder.empty()) config.state_folder = kSystemStateFolder;
  if (config.socket_path.empty()) config.socket_path = kSystemSocketPath;
  if (config.helper_socket_path.empty()) config.helper_socket_path = kSystemHelperSocketPath;
  ASSIGN_OR_RETURN(config.state_folder, Absolute(config.state_folder));
  return OkStatus();
}

// Beside kprofd in a build, where an installation has it else.
Status FindLauncher(Config& config) {
  std::string places = config.launcher_path;
  if (config.launcher_path.empty()) {
    const std::string beside = ProgramFolder() + "/kprof-launch";
    const std::string installed = ProgramFolder() + "/../libexec/kprof/kprof-launch";
    config.launcher_path = ::access(beside.c_str(), X_OK) == 0 ? beside : installed;
    places = beside + " or " + installed;
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

Result<Config> LoadConfig(const ConfigFlags& flags) {
  Config config;
  config.mode = flags.user ? Mode::kUser : Mode::kSystem;
  config.access = flags.user ? UserAccess(::getuid()) : DefaultSystemAccess(::getuid());
  config.storage = flags.user ? OwnStorage() : SharedStorage();
  if (!flags.user) config.http = HttpAddress{"127.0.0.1", kDefaultHttpPort};
  if (!flags.file.empty()) RETURN_IF_ERROR(ReadFile(flags.file, config));
  if (!flags.state_folder.empty()) config.state_folder = flags.state_folder;
  if (!flags.socket_path.empty()) config.socket_path = flags.socket_path;
  if (!flags.http.empty()) {
    ASSIGN_OR_RETURN(config.http, ParseHttpAddress(flags.http));
  }
  RETURN_IF_ERROR(OverrideListen(flags.listen, config.listen));
  if (flags.user) RETURN_IF_ERROR(CheckUsersAre(::getuid(), config.listen));
  RETURN_IF_ERROR(flags.user ? TakeUserPlaces(flags, config) : TakeSystemPlaces(config));
  ASSIGN_OR_RETURN(config.socket_path, Absolute(config.socket_path));
  if (flags.user) RETURN_IF_ERROR(FindLauncher(config));
  return config;
}

std::string SettingsForNextStart(const Config& now, const Config& wanted) {
  std::string names;
  auto compare = [&](const char* name, bool same) {
    if (!same) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  compare("state_dir", now.state_folder == wanted.state_folder);
  compare("socket", now.socket_path == wanted.socket_path);
  compare("http", now.http == wanted.http);
  compare("launcher", now.launcher_path == wanted.launcher_path);
  compare("helper_socket", now.helper_socket_path == wanted.helper_socket_path);
  compare("[queue]", now.queue == wanted.queue);
  compare("[sessions]", now.sessions == wanted.sessions);
  compare("[output]", now.output == wanted.output);
  compare("[listen] address", now.listen.address == wanted.listen.address);
  compare("[[device]]", now.accelerators == wanted.accelerators);
  return names;
}

}  // namespace kprof
