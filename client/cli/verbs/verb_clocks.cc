#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/paged_list.h"
#include "client/cli/verbs/verb_session.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/device_table.h"
#include "client/cli/views/session_text.h"

namespace kprof::cli {
namespace {

// By which the sessions that lock clocks by hand are found again.
constexpr const char* kLabel = "kprof.clocks";
constexpr const char* kLabelValue = "locked";
constexpr int64_t kUsualTtlMs = 3600LL * 1000;
constexpr int64_t kMostSessions = 10'000;

v1::OpenSessionRequest RequestOf(const LockClocksArgs& args) {
  v1::OpenSessionRequest request;
  request.set_device(args.device);
  std::string policy = args.sm_mhz > 0 ? "lock=" + std::to_string(args.sm_mhz) : "lock";
  if (args.memory_mhz > 0) policy += ",mem=" + std::to_string(args.memory_mhz);
  request.set_clocks(policy + "!");
  (*request.mutable_labels())[kLabel] = kLabelValue;
  request.set_detached(true);
  request.set_ttl_ms(args.ttl_ms > 0 ? args.ttl_ms : kUsualTtlMs);
  request.set_idle_timeout_ms(request.ttl_ms());  // that nothing is captured in it is no reason to end it
  request.set_queue_timeout_ms(args.queue_timeout_ms);
  return request;
}

// The ids of the devices that a selector names.
Result<std::set<std::string>> DevicesBy(const std::string& selector, const v1::ListDevicesResponse& devices) {
  std::set<std::string> ids;
  std::istringstream words(selector);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t before = ids.size();
    for (const v1::Device& device : devices.devices()) {
      if (word == "all" || word == device.id() || word == device.uuid()) ids.insert(device.id());
    }
    if (ids.size() == before && !ids.contains(word)) {
      return Fail(ErrorCode::kNotFound, "release clocks", "this node has no device '" + word + "'",
                  "see kprofctl devices");
    }
  }
  return ids;
}

Result<std::vector<v1::Session>> LockedByHand(KprofClient& client) {
  v1::ListSessionsRequest request;
  (*request.mutable_labels())[kLabel] = kLabelValue;
  request.add_states(v1::SESSION_STATE_QUEUED);
  request.add_states(v1::SESSION_STATE_OPEN);
  std::vector<v1::Session> sessions;
  RETURN_IF_ERROR(ForEachListed(
      request, kMostSessions, [&](const auto& page) { return client.ListSessions(page); },
      [](const v1::ListSessionsResponse& page) -> const auto& { return page.sessions(); },
      [&](const v1::Session& session) {
        sessions.push_back(session);
        return true;
      }));
  return sessions;
}

bool HasOneOf(const v1::Session& session, const std::set<std::string>& ids) {
  return std::any_of(session.devices().begin(), session.devices().end(),
                     [&](const std::string& device) { return ids.contains(device); });
}

// Why there is nothing to release: who holds what else is locked there.
Status NothingLocked(const std::set<std::string>& ids, const v1::ListDevicesResponse& devices) {
  std::string others;
  for (const v1::Device& device : devices.devices()) {
    if (!device.clocks().locked() || (!ids.empty() && !ids.contains(device.id()))) continue;
    std::string holder = "somebody else";
    if (!device.run_id().empty()) holder = "run " + device.run_id();
    if (!device.session_id().empty()) holder = "session " + device.session_id();
    others += (others.empty() ? "; " : ", ") + ("device " + device.id() + " is locked for " + holder);
  }
  return Fail(ErrorCode::kNotFound, "release clocks", "nothing there is locked by 'kprofctl clocks lock'" + others,
              others.empty() ? "see kprofctl clocks status"
                             : "end that with kprofctl session close or kprofctl cancel, or wait for it");
}

}  // namespace

Status RunVerb(const ClocksStatusArgs&, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  if (context.global.json) {
    context.output.Write(ClocksJsonLine(devices));
  } else {
    WriteClocksTable(devices, context.output);
  }
  return OkStatus();
}

Status RunVerb(const LockClocksArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::Session session, OpenDetachedSession(RequestOf(args), context));
  context.output.Write(context.global.json ? SessionJsonLine(session) : TerminalText(session.id()) + "\n");
  if (context.global.json) return OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  for (const v1::Device& device : devices.devices()) {
    if (device.session_id() != session.id() || !device.clocks().locked()) continue;
    context.output.Note(TerminalText("device " + device.id() + " is locked at " + LockText(device.clocks()) +
                                     " until " + FormatTime(session.expires_unix_ns()) +
                                     ", or kprofctl clocks release --device " + device.id()));
  }
  return OkStatus();
}

Status RunVerb(const ReleaseClocksArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  std::set<std::string> ids;
  uint32_t own_uid = 0;
  if (args.device.empty()) {
    ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
    own_uid = status.caller_uid();
  } else {
    ASSIGN_OR_RETURN(ids, DevicesBy(args.device, devices));
  }
  ASSIGN_OR_RETURN(const std::vector<v1::Session> sessions, LockedByHand(*client));
  std::vector<v1::Session> closed;
  for (const v1::Session& session : sessions) {
    if (args.device.empty() ? session.uid() != own_uid : !HasOneOf(session, ids)) continue;
    ASSIGN_OR_RETURN(v1::Session ended, client->CloseSession(session.id()));
    closed.push_back(std::move(ended));
  }
  if (closed.empty()) return NothingLocked(ids, devices);
  if (context.global.json) {
    return WriteJsonList(
        context.output, "kprof.sessions.v1", "sessions",
        [&](const auto& take) {
          for (const v1::Session& session : closed) take(session);
          return OkStatus();
        },
        [](JsonWriter& json, const v1::Session& session) { WriteSession(json, session); });
  }
  for (const v1::Session& session : closed) {
    const bool are_many = session.devices_size() > 1;
    context.output.Write(TerminalText("device" + std::string(are_many ? "s " : " ") + DevicesOf(session) +
                                      (are_many ? " are" : " is") + " given back, session " + session.id() +
                                      " is closed") +
                         "\n");
  }
  return OkStatus();
}

}  // namespace kprof::cli
