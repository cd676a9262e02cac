#include "daemon/runs/run_place.h"

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

Result<RunPlace> PlaceByItself(const RunRequest& request, const DeviceList& devices) {
  RunPlace place;
  ASSIGN_OR_RETURN(place.devices, devices.Select(request.device, request.environment));
  return place;
}

Result<RunPlace> PlaceInSession(const RunRequest& request, const SessionRow* session, const DeviceList& devices) {
  if (session == nullptr) {
    return Fail(ErrorCode::kLeaseLost, "submit run to session " + request.session_id, "the session has ended",
                "open another with kprofctl session open");
  }
  KPROF_CHECK(session->uid == request.uid);
  RunPlace place;
  ASSIGN_OR_RETURN(place.devices, SelectWithin(*session, devices, request.device));
  place.trust = session->trust;
  return place;
}

}  // namespace kprof
