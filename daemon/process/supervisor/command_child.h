// The process that becomes the command: forked, set up as the request says, held before exec until Go, then exec'ed.
// Each step before and after the command is started the same way. Knows nothing of the control channel, nor of what
// becomes of the process later.
//
// One at a time. A failure on the way is found in the report once `report_fd` says end of file.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/launch/launch_protocol.h"
#include "storage/base/descriptors.h"

namespace kprof {

// Written by the child into shared memory before exec: no message to read while the command is about to start.
struct ChildReport {
  char step[16] = "";  // where it failed; empty: exec worked
  int32_t error = 0;
  int64_t unix_ns = 0;  // just before exec; 0: it never got there
  int64_t mono_ns = 0;
};

struct CommandChild {
  pid_t pid = -1;
  UniqueFd go_fd;                       // a byte lets it exec; closing it ends it
  UniqueFd report_fd;                   // a byte: ready for Go; end of file: exec has happened, or never will
  const ChildReport* report = nullptr;  // shared page, never unmapped: there are a few per supervisor

  void Go();
};

// A pipe to the supervisor that all processes of a run write into: one for each stream, and one for metrics.
struct OutputPipe {
  UniqueFd read;  // non-blocking
  UniqueFd write;
};
// Invalid, with errno, where none can be made.
OutputPipe MakeOutputPipe();
// The pipe behind $KPROF_METRICS, of the usual size. Fails in the same way.
OutputPipe MakeMetricPipe();

// The ends that the child writes to, borrowed; -1: it has none.
struct ChildOutput {
  int stdout_fd = -1;
  int stderr_fd = -1;
  int metrics_fd = -1;
  int event_fd = -1;
};

struct StartedChild {
  CommandChild child;
  LaunchFailure failure;  // step empty: none
};
// Forks the child. `own_nofile` is the limit that the supervisor itself was started with; the command gets it back.
// Fails with the step that failed here, in the parent ("pipe", "fork").
StartedChild StartCommandChild(const LaunchRequest& request, const ResourceLimit& own_nofile,
                               const ChildOutput& output);

}  // namespace kprof
