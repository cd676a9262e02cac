// Makes a submitted run durable: its spool file, then its row. Queueing it is runs.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/device_book.h"
#include "daemon/runs/command/run_request.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// Where a run is to be: the devices that its request means, by itself or within its session. Pure functions.

// What a run is given that its request does not say.
struct RunPlace {
  std::string id;
  std::vector<std::string> devices;
  std::string clocks;              // its policy
  std::vector<TrustReason> trust;  // known before it starts
};

// All but its id. Fails with kUsage for devices that are none, or not the session's, and for clocks that are not the
// session's. `usual_clocks`: what a tool wants of them that are not spoken of.
Result<RunPlace> PlaceByItself(const RunRequest& request, std::string_view usual_clocks, const DeviceList& devices);
// `session`: the one that the request names, if it takes runs; null: kLeaseLost. REQUIRES: it is of whoever asks, as
// the rules want it (access_rules.h), before a request gets here.
Result<RunPlace> PlaceInSession(const RunRequest& request, const SessionRow* session, const DeviceList& devices);

struct SubmittedRun {
  RunRow row;
  bool is_new = true;  // false: the same caller submitted it before, with the same idempotency key
};

// Io loop only; `done` is called from it. Nothing of a run that fails is left. A run of a session becomes its next
// round; kLeaseLost when that ends meanwhile. `account`: the user whom its caller counts as.
void StoreSubmittedRun(const RunContext& context, RunRequest request, uint32_t account, RunPlace place,
                       std::function<void(Result<SubmittedRun>)> done);

}  // namespace kprof
