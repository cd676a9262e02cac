// Starts a keeper of one device's clocks (daemon/clocks/keeper) for kprofd, which has no right to set any: in a unit of
// systemd, as the helper's own sandbox has neither devices nor that right; without systemd as a child. It is kprofd's
// from then on, by its socket: when that closes it gives back what it holds, and ends, whatever becomes of us.
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
  std::string held_folder;   // of what is held; root's alone
  std::string boot_id;
  std::optional<std::string> systemd_run;  // nothing: as a child
};

// The pid of the keeper, or of what asks systemd for its unit and stays as long: a child, to be reaped. Fails with
// kNotPermitted for files that are not a socket of packets and a sealed page (call_page.h), else as StartWorker.
Result<pid_t> StartKeeper(const std::string& device_uuid, const KeeperPrograms& programs, const UniqueFd& channel,
                          const UniqueFd& page);

// What systemd-run is called with.
std::vector<std::string> KeeperUnitArguments(const std::string& device_uuid, const KeeperPrograms& programs,
                                             const std::string& unit);

// Of which devices something is held; at most kMostHeldDevices.
Result<std::vector<std::string>> ListHeldDevices(Files& files, const std::string& held_folder);

}  // namespace kprof
