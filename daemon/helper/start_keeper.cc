#include "daemon/helper/start_keeper.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/process/helper_client/helper_protocol.h"
#include "daemon/process/worker/call_page.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/files.h"

namespace kprof {
namespace {

constexpr std::string_view kHeld = ".held";
constexpr mode_t kRootAlone = 0700;
constexpr int kStandardFiles = 0;
// Nobody but itself can end it when a call hangs.
constexpr const char* kUnwatched = "--unwatched";
constexpr const char* kUnwatchedAndPiped = "--pipe";

bool IsOfPackets(int socket) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

std::vector<std::string> KeeperArguments(const std::string& device_uuid, const KeeperPrograms& programs,
                                         const char* way) {
  return {programs.nvml_library, programs.held_folder, device_uuid, programs.boot_id, way};
}

// What a unit may write must be there before it.
Status MakeHeldFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), kRootAlone) == 0 || errno == EEXIST) return OkStatus();
  return FailErrno(errno, "make " + folder);
}

}  // namespace

std::vector<std::string> KeeperUnitArguments(const std::string& device_uuid, const KeeperPrograms& programs,
                                             const std::string& unit) {
  std::vector<std::string> arguments = {
      "--quiet",
      "--collect",
      "--pipe",  // our standard input and output, which are its socket and its page, become the unit's
      "--service-type=exec",
      "--unit=" + unit,
      "--description=kprof holds the clocks of " + device_uuid,
      "--working-directory=/",
      // The driver asks whoever sets clocks for CAP_SYS_ADMIN. What else that is good for is taken away below.
      "--property=CapabilityBoundingSet=CAP_SYS_ADMIN",
      "--property=DevicePolicy=closed",
      "--property=DeviceAllow=char-nvidia* rw",
      "--property=NoNewPrivileges=yes",
      "--property=ProtectSystem=strict",
      "--property=ReadWritePaths=" + programs.held_folder,
      "--property=ProtectHome=yes",
      "--property=PrivateTmp=yes",
      "--property=ProtectKernelTunables=yes",
      "--property=ProtectKernelModules=yes",
      "--property=ProtectKernelLogs=yes",
      "--property=ProtectControlGroups=yes",
      "--property=ProtectClock=yes",
      "--property=ProtectHostname=yes",
      "--property=LockPersonality=yes",
      "--property=RestrictNamespaces=yes",
      "--property=RestrictRealtime=yes",
      "--property=RestrictSUIDSGID=yes",
      "--property=SystemCallArchitectures=native",
      "--property=SystemCallFilter=~@mount @module @raw-io @reboot @swap @clock @debug @obsolete @cpu-emulation",
      "--property=SystemCallErrorNumber=EPERM",
      "--property=RestrictAddressFamilies=AF_UNIX AF_NETLINK",
      "--property=IPAddressDeny=any",
      "--property=UMask=0077",
      "--property=TasksMax=32",
      "--property=TimeoutStopSec=60s",  // a driver takes its time, and what is noted is to be given back
      "--",
      programs.keeper,
  };
  for (std::string& argument : KeeperArguments(device_uuid, programs, kUnwatchedAndPiped)) {
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<pid_t> StartKeeper(const std::string& device_uuid, const KeeperPrograms& programs, const UniqueFd& channel,
                          const UniqueFd& page) {
  const std::string act = "hold the clocks of " + device_uuid;
  if (!IsOfPackets(channel.get()) || !CallPage::IsSealed(page.get())) {
    return Fail(ErrorCode::kNotPermitted, act, "what came with it is no channel and no page of calls");
  }
  RETURN_IF_ERROR(MakeHeldFolder(programs.held_folder));
  const std::vector<int> files = {channel.get(), page.get()};
  Result<WorkerProcess> started =
      programs.systemd_run
          ? StartWorker(*programs.systemd_run,
                        KeeperUnitArguments(device_uuid, programs, "kprof-clocks-" + RandomName() + ".service"), files,
                        nullptr, kStandardFiles)
          : StartWorker(programs.keeper, KeeperArguments(device_uuid, programs, kUnwatched), files, nullptr);
  if (!started.ok()) return started.status().In(act);
  return started->pid;
}

Result<std::vector<std::string>> ListHeldDevices(Files& files, const std::string& held_folder) {
  Result<std::vector<FolderEntry>> entries = files.List(held_folder);
  if (!entries.ok() && entries.status().code() == ErrorCode::kNotFound) return std::vector<std::string>();
  if (!entries.ok()) return entries.status();
  std::vector<std::string> uuids;
  for (const FolderEntry& entry : *entries) {
    if (!entry.name.ends_with(kHeld)) continue;
    std::string uuid = entry.name.substr(0, entry.name.size() - kHeld.size());
    if (IsDeviceUuid(uuid) && uuids.size() < kMostHeldDevices) uuids.push_back(std::move(uuid));
  }
  std::sort(uuids.begin(), uuids.end());
  return uuids;
}

}  // namespace kprof
