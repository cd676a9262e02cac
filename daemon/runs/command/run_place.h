// Where a run is to be: the devices that its request means, by itself or within its session. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/device_list.h"
#include "daemon/runs/command/run_request.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

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

}  // namespace kprof
