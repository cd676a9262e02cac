// What the daemon is told: a TOML file, then the flags that override it. Checked once, here; behind it everything is
// typed and in range. The file's settings are described in docs/configuration.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/devices/device.h"
#include "daemon/process/output_progress.h"
#include "daemon/runs/run_queue.h"
#include "storage/base/status.h"
#include "storage/catalog/retention.h"

namespace kprof {

struct Config {
  std::string state_folder;
  std::string socket_path;
  std::string launcher_path;  // kprof-launch
  LogLevel log_level = LogLevel::kInfo;
  RunQueue::Limits queue;
  OutputLimits output;
  RetentionPolicy retention;
  std::vector<Device> accelerators;
};

// What stands on the command line; empty: not given.
struct ConfigFlags {
  std::string file;
  std::string state_folder;
  std::string socket_path;
};

// The configuration of a daemon that runs as its user: the file if one was named, the flags, the defaults of the
// environment (XDG_STATE_HOME, XDG_RUNTIME_DIR, HOME). Fails with kUsage: "kprofd.toml:12: ...".
Result<Config> LoadUserConfig(const ConfigFlags& flags);

}  // namespace kprof
