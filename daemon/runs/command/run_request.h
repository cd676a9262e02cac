// A client's request to submit a run, as typed values. CheckRunRequest is where bytes from outside end: behind it
// everything is within its limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "daemon/process/helper_client/caller_place.h"
#include "storage/base/status.h"

namespace kprof {

// Limits and checks that requests for runs and for sessions share. A check fails with kUsage, names the field, its size
// and the limit; `act` begins the message. Pure functions; any thread.
constexpr int64_t kTimeoutLimitMs = 30LL * 24 * 3600 * 1000;
constexpr int64_t kPriorityLimit = 100;

// At most 64; a key of 1 to 64 letters, digits and . _ - /, a value of at most 1024 bytes of UTF-8.
Status CheckLabels(const std::map<std::string, std::string>& labels, const std::string& act);

// 0 to kTimeoutLimitMs. `field`: "the timeout".
Status CheckTimeout(const std::string& field, int64_t timeout_ms, const std::string& act);

// 0 to kPriorityLimit. permissions.h says who may ask for more than 0.
Status CheckPriority(int64_t priority, const std::string& act);

struct RunRequest {
  uint32_t uid = 0;
  std::string caller = "local";               // as in Actor: how the user is known
  std::string certificate_id;                 // the same
  bool is_remote = false;                     // it came with a certificate
  std::vector<uint32_t> groups;               // of a local caller's connection; as in Asker
  CallerPlace place = CallerPlace::kUnasked;  // of a local caller, in system mode
  std::string tool;
  std::vector<std::string> options;  // of the tool, "name=value"
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<std::string> environment;  // "NAME=value", complete
  uint32_t umask = 022;
  std::vector<ResourceLimit> limits;
  std::map<std::string, std::string> labels;
  std::string device;  // a selector
  int64_t timeout_ms = 0;
  int64_t queue_timeout_ms = 0;
  bool shared = false;
  bool attached = false;
  std::string idempotency_key;
  std::string session_id;  // empty: none
  int64_t priority = 0;
  std::string clocks;  // a policy; empty: the tool's, or the session's
  int64_t cool_down_ms = 0;
  bool exclusive = false;
  std::vector<std::string> collect;  // globs of files to be kept
  std::string prepare;               // commands for sh -c; empty: none
  std::string check;
};

struct RunRequestLimits {
  size_t command_bytes = 2 << 20;  // argv and environment together; the kernel's own limit is near
  size_t arguments = 16384;
  size_t variables = 16384;
  size_t path_bytes = 4096;  // of the working folder
  size_t name_bytes = 1024;  // of tool and device selector
  size_t resource_limits = 64;
  size_t options = 256;
  size_t globs = 256;
  size_t idempotency_key_bytes = 64;
};

// Fails with kUsage and names the field, its size and the limit.
Status CheckRunRequest(const RunRequest& request, const RunRequestLimits& limits = {});

// Fails with kUsage, and the limit, if this node lets no run last so long; `longest_ms` of 0: any run may.
Status CheckLongestRun(int64_t timeout_ms, int64_t longest_ms);

}  // namespace kprof
