// The options of kprofd-helper. There is no file of settings: its unit says all of it, and root parses no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct HelperOptions {
  std::string socket;                 // empty: systemd hands the listening socket over
  std::string kprofd_user = "kprof";  // a name or a number
  std::string kprofd_socket = "/run/kprofd/kprofd.sock";
  std::string grants = "/var/lib/kprofd-helper/grants";
  std::string remote_users = "/etc/kprofd/remote-users";
  std::string launch = "/usr/libexec/kprof/kprof-launch";
  std::string clocks = "/usr/libexec/kprof/kprof-clocks";
  std::string nvml_library;  // empty: the usual one
  std::string held = "/var/lib/kprofd-helper/clocks";
  std::string systemd_run = "/usr/bin/systemd-run";
  std::string systemctl = "/usr/bin/systemctl";
  uint32_t least_uid = 1000;
  bool allow_root = false;
  bool need_account = true;
  std::optional<bool> units;  // absent: where systemd runs
  bool help = false;
  bool version = false;
};

// Fails with kUsage, and names the word.
Result<HelperOptions> ParseHelperOptions(const std::vector<std::string>& words);

std::string HelperUsage();

// The uid of a user's name or number; kUsage when there is none.
Result<uint32_t> FindUid(const std::string& user);

}  // namespace kprof
