// Starts a keeper of one device's clocks (kprof-clocks) for kprofd, which has no right to set any. It runs in a unit of
// systemd, as the helper's own sandbox has neither devices nor that right; without systemd as a child. From then on
// kprofd has it by its socket. When that closes, the keeper gives back what it holds and ends, whatever becomes of the
// helper.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

struct KeeperPrograms {
  std::string keeper;        // kprof-clocks
  std::string nvml_library;  // empty: the usual one
  std::string held_folder;   // for the notes of what is held; root's alone
  std::string boot_id;
  std::optional<std::string> systemd_run;  // absent: as a child
};

// Returns the pid of the keeper, or of the systemd-run that waits for its unit: a child, to be reaped. Fails with
// kNotPermitted for files that are not a socket of packets and a sealed page (call_page.h), else as StartWorker.
Result<pid_t> StartKeeper(const std::string& device_uuid, const KeeperPrograms& programs, const UniqueFd& channel,
                          const UniqueFd& page);

// The arguments of systemd-run.
std::vector<std::string> KeeperUnitArguments(const std::string& device_uuid, const KeeperPrograms& programs,
                                             const std::string& unit);

// The devices whose clocks are held; at most kMostHeldDevices.
Result<std::vector<std::string>> ListHeldDevices(Files& files, const std::string& held_folder);

}  // namespace kprof
