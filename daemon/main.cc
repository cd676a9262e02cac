// kprofd: reads the command line, builds the Daemon, waits for a signal, stops it.

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/clocks/release_clocks.h"
#include "daemon/config/config.h"
#include "daemon/daemon.h"
#include "daemon/room_settings.h"
#include "daemon/systemd/service_manager.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/catalog/catalog_restore.h"
#include "storage/db/state_lock.h"

namespace kprof {
namespace {

// kprofd's command line.
struct Flags {
  bool check_config = false;
  std::optional<std::string> restore;  // a backup's path
  bool release_clocks = false;
  ConfigFlags config;
};

// Nothing when the program is to exit at once with *exit_status: --help and --version (0), or what does not parse or
// is not part of this version (2, after a line on standard error).
std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_status);

// What an unset variable of a shell leaves of "$STATE" is no wish for the default.
std::string NotEmpty(const std::string& value) {
  return value.empty() ? "is given, but empty" : "";
}

std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_status) {
  Flags flags;
  CLI::App app("kprofd: the one owner of measurement on a node", "kprofd");
  app.set_version_flag("--version", std::string("kprofd ") + DaemonVersion());
  app.add_flag("--user", flags.config.user, "run as yourself, with state and socket of your own");
  app.add_option("--config", flags.config.file, "read settings from this file")->check(NotEmpty)->type_name("FILE");
  app.add_flag("--check-config", flags.check_config, "say what is wrong with the settings, and exit");
  app.add_option("--restore", flags.restore, "put this backup in the catalog's place, and exit")
      ->check(NotEmpty)
      ->type_name("FILE");
  app.add_flag("--release-clocks", flags.release_clocks, "undo what a killed kprofd may have left locked, and exit");
  app.add_option("--state-dir", flags.config.state_folder, "keep everything here")->check(NotEmpty)->type_name("DIR");
  app.add_option("--socket", flags.config.socket_path, "listen at this path")->check(NotEmpty)->type_name("PATH");
  app.add_option("--http", flags.config.http, "serve /metrics and /healthz here: 127.0.0.1:7977, or off")
      ->check(NotEmpty)
      ->type_name("ADDRESS:PORT|off");
  app.add_option("--listen", flags.config.listen, "listen for clients on other nodes, over TLS")
      ->check(NotEmpty)
      ->type_name("ADDR:PORT|off");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;
    *exit_status = asked ? app.exit(error) : 2;
    if (!asked) std::cerr << "kprofd: read the command line: " << error.what() << "; see kprofd --help\n";
    return std::nullopt;
  }
  return flags;
}

// Together within what systemd gives an ExecStopPost (TimeoutStopSec in kprofd.service).
constexpr int64_t kReleaseLimitMs = 30'000;
constexpr int64_t kResumeLimitMs = 12'000;

int Complain(const Status& status) {
  std::fprintf(stderr, "kprofd: %s\n", status.ToString().c_str());
  return ExitStatusOf(status.code());
}

// Returns the code of the first.
int Complain(const std::vector<Status>& complaints) {
  for (const Status& complaint : complaints) Complain(complaint);
  return ExitStatusOf(complaints.front().code());
}

struct Signals {
  sigset_t heard;
  bool hang_up_ends = false;  // else it asks for the settings to be read again
};

bool IsIgnored(int number) {
  struct sigaction now {};
  return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// A hang-up says that the terminal is gone, where there was one; to a service it says that its settings have changed.
bool HasTerminal() {
  return UniqueFd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)).valid();
}

// What whoever started us ignored: SIGINT (a script's `&`) stays ignored, for Ctrl-C is the script's; SIGHUP (nohup)
// does not end us. SIGTERM always does: nothing else ends us in good order. SIGCHLD, ignored, would take our children's
// ends from us.
Signals PrepareSignals() {
  Signals signals;
  signals.hang_up_ends = HasTerminal() && !IsIgnored(SIGHUP);
  sigemptyset(&signals.heard);
  for (int number : {SIGTERM, SIGHUP}) sigaddset(&signals.heard, number);
  if (!IsIgnored(SIGINT)) sigaddset(&signals.heard, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals.heard, nullptr);
  for (int number : {SIGTERM, SIGHUP, SIGCHLD}) signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Of the process as a whole, before there is a second thread.
Signals PrepareProcess() {
  umask(0077);
  const Signals signals = PrepareSignals();
  // Every client is a descriptor; the commands get the limits of their callers.
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  // Many threads, little to allocate: one arena each would only cost memory.
  mallopt(M_ARENA_MAX, 2);
  return signals;
}

// Whoever asks for the end twice wants it now. A hang-up meanwhile asks for nothing: there are no settings to read any
// more.
void WatchForSecondSignal(Daemon& daemon, const std::stop_token& stopped) {
  sigset_t ends;
  sigemptyset(&ends);
  for (int end : {SIGTERM, SIGINT}) sigaddset(&ends, end);
  const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!stopped.stop_requested()) {
    if (sigtimedwait(&ends, nullptr, &pause) <= 0) continue;
    LogInfo("kprofd ends its runs at once");
    daemon.KillRuns();
  }
}

// A service manager that does not hear us makes of a good start a failed one; that is for its log.
void LogUntold(const Status& told) {
  if (!told.ok()) LogWarning("the service manager was not told", {{"error", told.ToString()}});
}

std::string ServingAt(const Config& config) {
  return "serving at " + config.socket_path;
}

// The credentials of remote clients; what is wrong with their files is complained of with the rest.
std::shared_ptr<const TlsCredentials> LoadCredentials(LoadedConfig& loaded) {
  if (!loaded.knows_remote_clients) return nullptr;
  Result<std::shared_ptr<const TlsCredentials>> credentials = LoadListen(loaded.config.listen);
  if (credentials.ok()) return *credentials;
  loaded.complaints.push_back(credentials.status());
  return nullptr;
}

void Reload(const ConfigFlags& flags, Daemon& daemon, ServiceNotifier& notifier) {
  LogUntold(notifier.Reloading());
  LoadedConfig loaded = LoadConfig(flags);
  // These very ones are taken over: the files may be others in a moment.
  const std::shared_ptr<const TlsCredentials> credentials = LoadCredentials(loaded);
  if (loaded.ok()) {
    daemon.Reload(loaded.config, credentials);
    LogUntold(notifier.Ready(ServingAt(loaded.config)));
  } else {
    daemon.RecordFailedReload(loaded.complaints.front());
    for (const Status& complaint : loaded.complaints) {
      LogError("the settings stay as they are", {{"error", complaint.ToString()}});
    }
    LogUntold(notifier.Ready("serving with its old settings: the new ones make no sense"));
  }
}

// Returns the signal that ends it.
int WaitForEnd(const ConfigFlags& flags, const Signals& signals, Daemon& daemon, ServiceNotifier& notifier) {
  while (true) {
    int signal_number = 0;
    sigwait(&signals.heard, &signal_number);
    if (signal_number != SIGHUP || signals.hang_up_ends) return signal_number;
    Reload(flags, daemon, notifier);
  }
}

int Serve(const Config& config, const ConfigFlags& flags, const Signals& signals) {
  const RealClock clock;
  Result<ServiceManager> manager = MeetServiceManager(clock);
  if (!manager.ok()) return Complain(manager.status());
  Result<std::unique_ptr<Daemon>> daemon = Daemon::Start(config, *manager);
  if (!daemon.ok()) return Complain(daemon.status().In("start kprofd"));
  LogInfo("kprofd is ready", {{"version", DaemonVersion()},
                              {"pid", std::to_string(getpid())},
                              {"state", config.state_folder},
                              {"socket", config.socket_path}});
  LogUntold(manager->notifier.Ready(ServingAt(config)));
  malloc_trim(0);
  const int signal_number = WaitForEnd(flags, signals, **daemon, manager->notifier);
  LogUntold(manager->notifier.Stopping("ending what is under way"));
  LogInfo("kprofd is stopping", {{"signal", std::to_string(signal_number)}});
  {
    std::jthread impatience([&](const std::stop_token& stopped) { WatchForSecondSignal(**daemon, stopped); });
    (*daemon)->Stop();
  }
  daemon->reset();
  LogInfo("kprofd has stopped");
  return 0;
}

int Restore(const Config& config, const std::string& backup) {
  umask(0077);
  Result<RestoredCatalog> restored = RestoreCatalog(Layout{config.state_folder}, backup, *MakePosixFiles());
  if (!restored.ok()) return Complain(restored.status());
  std::printf("kprofd: the catalog of %s is now that of %s\n", config.state_folder.c_str(), backup.c_str());
  if (!restored->replaced.empty()) std::printf("kprofd: the one before it is %s\n", restored->replaced.c_str());
  return 0;
}

// What was given back, each device in a line. Complains of what was not, and then is not 0.
int SayReleased(const Result<std::vector<ReleasedDevice>>& released, const Config& config) {
  if (!released.ok()) return Complain(released.status().In("release clocks"));
  int exit_status = 0;
  for (const ReleasedDevice& device : *released) {
    if (device.status.ok()) {
      std::printf("kprofd: the clocks of %s are given back (state %s)\n", device.uuid.c_str(),
                  config.state_folder.c_str());
    } else {
      exit_status = Complain(device.status);
    }
  }
  return exit_status;
}

int SayResumed(const Result<std::optional<Status>>& resumed, const Config& config) {
  if (!resumed.ok()) return Complain(resumed.status().In("resume DCGM's profiling"));
  if (!*resumed) return 0;
  if (!(*resumed)->ok()) return Complain(**resumed);
  std::printf("kprofd: DCGM's profiling is resumed (state %s)\n", config.state_folder.c_str());
  return 0;
}

// For whoever cleans up after a kprofd, a unit's ExecStopPost say. A living one knows better what it holds, and is left
// alone.
int ReleaseClocks(const Config& config) {
  umask(0077);
  std::unique_ptr<Files> files = MakePosixFiles();
  Result<std::unique_ptr<File>> lock = TakeStateLock({.state_folder = config.state_folder}, *files);
  const bool never_used = !lock.ok() && lock.status().code() == ErrorCode::kNotFound;
  if (!lock.ok() && !never_used) return Complain(lock.status().In("release clocks"));
  Result<std::string> boot_id = ReadBootId(*files);
  if (!boot_id.ok()) return Complain(boot_id.status().In("release clocks"));
  Result<std::vector<ReleasedDevice>> released =
      config.mode == Mode::kSystem ? ReleaseByHelper(config.helper_socket_path, kReleaseLimitMs)
                                   : ReleaseHeldClocks(ClockSettingsOf(config, *boot_id), *files, kReleaseLimitMs);
  Result<std::optional<Status>> resumed = ReleaseHeldPause(PauseSettingsOf(config, *boot_id), *files, kResumeLimitMs);
  if (released.ok() && released->empty() && resumed.ok() && !*resumed) {
    std::printf("kprofd: no clocks are held (state %s)\n", config.state_folder.c_str());
  }
  const int resumed_status = SayResumed(resumed, config);
  const int released_status = SayReleased(released, config);
  return released_status != 0 ? released_status : resumed_status;
}

// What talks to everybody is nobody of consequence.
Status CheckIdentity(const Config& config, bool releases_clocks) {
  if (config.mode == Mode::kUser || ::getuid() != 0) return OkStatus();
  if (releases_clocks) {
    return Fail(ErrorCode::kUsage, "release clocks", "kprofd-helper talks to kprofd's user alone, and this is root",
                "runuser -u kprof -- kprofd --release-clocks");
  }
  return Fail(ErrorCode::kUsage, "start kprofd", "in system mode it does not run as root",
              "let systemd start kprofd.service, run it as the user kprof, or as yourself with kprofd --user");
}

// Which settings were looked at.
std::string NameOf(const ConfigFlags& flags) {
  if (flags.file.empty()) return "the defaults of kprofd --user";
  return flags.file + (flags.user ? ", for kprofd --user" : ", for all users of this node");
}

int CheckConfig(const ConfigFlags& flags) {
  LoadedConfig loaded = LoadConfig(flags);
  const Config& config = loaded.config;
  const std::shared_ptr<const TlsCredentials> credentials = LoadCredentials(loaded);
  if (!loaded.ok()) {
    Complain(loaded.complaints);
    return 1;
  }
  // What has expired keeps kprofd neither from starting nor from a reload, which may be what ends somebody's access.
  const Status in_force = credentials == nullptr ? OkStatus() : credentials->CheckInForce(std::time(nullptr));
  if (!in_force.ok()) std::fprintf(stderr, "kprofd: warning: %s\n", in_force.ToString().c_str());
  std::printf("kprofd: the settings are good: %s (state %s, socket %s, %zu [[device]] entries)\n",
              NameOf(flags).c_str(), config.state_folder.c_str(), config.socket_path.c_str(),
              config.accelerators.size());
  return 0;
}

int Main(int argc, char** argv) {
  int exit_status = 0;
  std::optional<Flags> flags = ParseFlags(argc, argv, &exit_status);
  if (!flags) return exit_status;
  if (flags->check_config) return CheckConfig(FlagsForCheck(flags->config));
  const bool starts = !flags->release_clocks && !flags->restore;
  if (flags->config.file.empty() && !flags->config.user) {
    if (starts) {
      return Complain(Fail(ErrorCode::kUsage, "start kprofd", "it was not said for whom",
                           "start it as yourself with kprofd --user, or for all with kprofd --config FILE"));
    }
    flags->config.user = true;
  }
  const LoadedConfig loaded = LoadConfig(flags->config);
  const Config& config = loaded.config;
  if (!loaded.ok()) return Complain(loaded.complaints);
  if (Status allowed = CheckIdentity(config, flags->release_clocks); !allowed.ok()) return Complain(allowed);
  if (flags->restore) return Restore(config, *flags->restore);
  if (flags->release_clocks) return ReleaseClocks(config);
  const Signals signals = PrepareProcess();
  SetLogLevel(config.log_level);
  return Serve(config, flags->config, signals);
}

// Before main(), and before the constructors of the libraries that we are linked with: gRPC opens a descriptor in one.
void BeforeAllElse(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  if (!OccupyClosedDescriptors()) ::_exit(ExitStatusOf(ErrorCode::kInternal));
}
__attribute__((section(".preinit_array"), used)) void (*const before_all_else)(int, char**, char**) = BeforeAllElse;

}  // namespace

}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}
