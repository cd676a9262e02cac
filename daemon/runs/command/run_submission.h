// Makes a submitted run durable: its spool file, then its row. Queueing it is runs.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/tool.h"
#include "daemon/devices/device_book.h"
#include "daemon/runs/command/run_request.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// The place of a run: the devices that its request means, by itself or within its session, and what else is decided
// before it is stored.
struct RunPlace {
  std::string id;
  std::vector<std::string> devices;
  std::string clocks;              // its policy
  std::vector<TrustReason> trust;  // known before it starts
};

// The place of a run outside a session, but for its id. A request that names no device, for a tool that needs one of a
// kind, has the first of that kind, unless the caller's environment names others of it; without any, or where nothing
// runs on a device, it has none, and no clocks to lock. Fails with kUsage for a selector of no devices. Pure.
Result<RunPlace> PlaceByItself(const RunRequest& request, const Tool& tool, const DeviceList& devices);
// The same within a session. Fails with kUsage for devices and clocks that are not the session's. `session`: the one
// that the request names, if it takes runs; null: kLeaseLost. REQUIRES: permissions.h lets the caller use it. Pure.
Result<RunPlace> PlaceInSession(const RunRequest& request, const SessionRow* session, const DeviceList& devices);

struct SubmittedRun {
  RunRow row;
  bool is_new = true;  // false: the same caller submitted it before, with the same idempotency key
};

// Io loop only; `done` is called from it. A run that fails leaves nothing. A run of a session becomes its next round;
// kLeaseLost when the session ends meanwhile. `account`: the user that its caller counts as.
void StoreSubmittedRun(const RunContext& context, RunRequest request, uint32_t account, RunPlace place,
                       std::function<void(Result<SubmittedRun>)> done);

}  // namespace kprof
