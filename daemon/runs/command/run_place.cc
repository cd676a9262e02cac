#include "daemon/runs/command/run_place.h"

#include <algorithm>

namespace kprof {
namespace {

// The devices of a session that a selector names: all of them, unless it says otherwise.
Result<std::vector<std::string>> SelectWithin(const SessionRow& session, const DeviceList& devices,
                                              const std::string& selector) {
  if (selector.empty() || selector == "all") return session.devices;
  ASSIGN_OR_RETURN(std::vector<std::string> selected, devices.Select(selector, {}));
  if (selected.empty()) {
    return Fail(ErrorCode::kUsage, "submit run", "a run without a device needs no session",
                "leave out --session, or --device none");
  }
  for (const std::string& device : selected) {
    if (std::find(session.devices.begin(), session.devices.end(), device) != session.devices.end()) continue;
    return Fail(ErrorCode::kUsage, "submit run", "device " + device + " is not among those of session " + session.id,
                "see kprofctl session show " + session.id);
  }
  return selected;
}

}  // namespace

Result<RunPlace> PlaceByItself(const RunRequest& request, std::string_view usual_clocks, const DeviceList& devices) {
  RunPlace place;
  place.clocks = request.clocks.empty() ? usual_clocks : request.clocks;
  ASSIGN_OR_RETURN(place.devices, devices.Select(request.device, request.environment));
  return place;
}

Result<RunPlace> PlaceInSession(const RunRequest& request, const SessionRow* session, const DeviceList& devices) {
  if (session == nullptr) {
    return Fail(ErrorCode::kLeaseLost, "submit run to session " + request.session_id, "the session has ended",
                "open another with kprofctl session open");
  }
  KPROF_CHECK(session->uid == request.uid);
  if (!request.clocks.empty() && request.clocks != session->clocks) {
    return Fail(ErrorCode::kUsage, "submit run",
                "clocks '" + request.clocks + "' are asked for, and session " + session->id + " has '" +
                    session->clocks + "' for all of its runs",
                "leave out --clocks, or --session");
  }
  RunPlace place;
  place.clocks = session->clocks;
  ASSIGN_OR_RETURN(place.devices, SelectWithin(*session, devices, request.device));
  place.trust = session->trust;
  return place;
}

}  // namespace kprof
