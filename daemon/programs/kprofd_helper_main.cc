// kprofd-helper: the root half of kprofd in system mode. docs/helper_protocol.md says what it does and for whom.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/capture/ncu_lock.h"
#include "daemon/helper/helper_options.h"
#include "daemon/helper/helper_server.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

constexpr int kFirstInheritedFd = 3;                           // of systemd's protocol
constexpr const char* kSystemdsFolder = "/run/kprofd-helper";  // of the socket that it listens at for us
constexpr mode_t kSocketMode = 0660;                           // who connects is asked for its uid besides

int Complain(const Status& status) {
  std::fprintf(stderr, "kprofd-helper: %s\n", status.ToString().c_str());
  return ExitStatusOf(status.code());
}

// The socket that systemd listens at for us (sd_listen_fds(3)).
Result<UniqueFd> InheritedListener() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof type;
  const bool ours =
      pid != nullptr && count != nullptr && std::to_string(::getpid()) == pid && std::string("1") == count;
  if (!ours || ::getsockopt(kFirstInheritedFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET ||
      ::getsockopt(kFirstInheritedFd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    return Fail(ErrorCode::kUsage, "take the listening socket", "systemd handed no sequential-packet socket over",
                "start kprofd-helper.socket, or name a path with --socket");
  }
  UniqueFd listener(kFirstInheritedFd);
  ::fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(listener.get(), F_SETFL, O_NONBLOCK);
  return listener;
}

// Whoever may ask must be able to reach the socket.
Result<UniqueFd> OwnListener(const std::string& path, uint32_t kprofd_uid) {
  ASSIGN_OR_RETURN(UniqueFd listener, ListenWhenFree(path, [&] { return ListenForPackets(path, kSocketMode); }));
  if (::chown(path.c_str(), kprofd_uid, static_cast<gid_t>(-1)) != 0) return FailErrno(errno, "give away " + path);
  return listener;
}

Result<UniqueFd> BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as whoever started us may have it, the ends of our children would be lost
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return FailErrno(errno, "watch for signals");
  return fd;
}

Status Serve(const HelperOptions& options) {
  if (::geteuid() != 0) {
    return Fail(ErrorCode::kNotPermitted, "start kprofd-helper", "it must be root",
                "let systemd start it; without it kprofd runs captures in the foreground");
  }
  ::umask(077);
  ASSIGN_OR_RETURN(const uint32_t kprofd_uid, FindUid(options.kprofd_user));
  if (kprofd_uid == 0) {
    return Fail(ErrorCode::kUsage, "start kprofd-helper", "kprofd must not be root",
                "name its user with --kprofd-user");
  }
  ASSIGN_OR_RETURN(UniqueFd signals, BlockSignals());
  std::unique_ptr<Files> files = MakePosixFiles();
  const RealClock clock;
  ASSIGN_OR_RETURN(const std::string boot_id, ReadBootId(*files));
  ASSIGN_OR_RETURN(GrantStore grants, GrantStore::Open(*files, clock, options.grants, boot_id));
  ASSIGN_OR_RETURN(UniqueFd listener,
                   options.socket.empty() ? InheritedListener() : OwnListener(options.socket, kprofd_uid));
  // Root's, so that callers may trust it. Without it an ncu that finds another user's lock in /tmp fails.
  const std::string beside = options.socket.empty() ? kSystemdsFolder : FolderOf(options.socket);
  const Status ncu_folder = PrepareNcuFolder(beside + "/ncu");
  if (!ncu_folder.ok()) LogWarning("ncu has no lock of ours to fall back to", {{"error", ncu_folder.ToString()}});
  // As it is now: an upgrade that puts another into its place changes nothing for a kprofd that lives. Where it is
  // missing, each start says so.
  const UniqueFd launch_file(::open(options.launch.c_str(), O_PATH | O_CLOEXEC));
  // What a killed guard leaves comes to us.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return FailErrno(errno, "become a subreaper");
  Helper::Settings settings;
  settings.callers = {options.kprofd_socket, kprofd_uid, options.least_uid, options.allow_root, options.need_account};
  settings.remote_users = options.remote_users;
  settings.programs.launch = options.launch;
  settings.programs.launch_file = launch_file.get();
  settings.programs.systemctl = options.systemctl;
  settings.keepers = {options.clocks, options.nvml_library, options.held, boot_id, {}};
  if (options.units.value_or(SystemdRuns())) {
    settings.keepers.systemd_run = options.systemd_run;
    settings.programs.systemd_run = options.systemd_run;
    if (SystemdRuns()) settings.callers.home = "/proc/1";  // units are where systemd is, the helper is in a sandbox
  }
  LogInfo("kprofd-helper is ready", {{"kprofd_uid", std::to_string(kprofd_uid)},
                                     {"grants", std::to_string(grants.size())},
                                     {"units", settings.programs.systemd_run ? "yes" : "no"}});
  Helper helper(clock, *files, grants, std::move(settings));
  HelperServer server(clock, helper, kprofd_uid, std::move(listener), std::move(signals));
  server.Run();
  LogInfo("kprofd-helper has stopped");
  return OkStatus();
}

int Main(int argc, char** argv) {
  if (!OccupyClosedDescriptors()) return ExitStatusOf(ErrorCode::kInternal);
  Result<HelperOptions> options = ParseHelperOptions({argv + 1, argv + argc});
  if (!options.ok()) return Complain(options.status());
  if (options->help) {
    std::fputs(HelperUsage().c_str(), stdout);
    return 0;
  }
  if (options->version) {
    std::puts("kprofd-helper " KPROF_VERSION);
    return 0;
  }
  Status served = Serve(*options);
  return served.ok() ? 0 : Complain(served);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}
