// A supervisor's LaunchFailure in the words of the person who typed the command.
#pragma once

#include <string>

#include "daemon/launch/launch_protocol.h"
#include "storage/base/status.h"

namespace kprof {

// The facts of a request that an error message needs. The request itself may hold megabytes.
struct LaunchSubject {
  std::string program;  // argv[0]
  std::string cwd;
  std::string path;               // PATH
  size_t arguments_bytes = 0;     // with the environment
  bool has_steps_before = false;  // something runs before the lease
  int64_t most_outputs = 0;
};

LaunchSubject SubjectOf(const LaunchRequest& request);

// kSpawnFailed; for a plan that could not be made kToolMissing, kNotPermitted or kToolFailed. Valid UTF-8, whatever the
// bytes of the request.
Status LaunchError(const LaunchFailure& failure, const LaunchSubject& subject);

}  // namespace kprof
