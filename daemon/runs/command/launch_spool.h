// Keeps what a queued run needs to start, with its whole environment, in a private file until it starts: so a queue
// survives its daemon. Never in the catalog, whose backups are handed around (docs/adr/004).
//
// A file is "kprofspool2\n", 64 hex digits of the payload's SHA-256, "\n", the payload (EncodeLaunchRequest). A file
// that begins with "kprofspool1\n" has a payload of the first form, and is still read.
//
// Blocking, but for RemoveSpoolSoon: from a worker.
#pragma once

#include <string>

#include "daemon/launch/launch_protocol.h"
#include "daemon/runs/run_context.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/db/layout.h"

namespace kprof {

// Durable, name and all, when it returns. Leaves nothing behind when it fails.
Status WriteSpool(Files& files, const Layout& layout, const std::string& run_id, const LaunchRequest& request);

// The request passes CheckLaunchRequest. kStorageBroken when the file is damaged or gone: every run that has not
// started yet has one.
Result<LaunchRequest> ReadSpool(Files& files, const Layout& layout, const std::string& run_id);

Status RemoveSpool(Files& files, const Layout& layout, const std::string& run_id);

// Removes it on a worker; nobody waits. A file that cannot be removed is swept at the next start.
void RemoveSpoolSoon(const RunContext& context, const std::string& run_id);

}  // namespace kprof
